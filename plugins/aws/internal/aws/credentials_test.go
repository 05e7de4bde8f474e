package aws

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// startAs starts the plugin with a role to assume; nil: none.
func (l *lab) startAs(t *testing.T, role *settings.AssumeRole) (*cloud, error) {
	t.Helper()
	config := settings.Config{Region: "us-east-1", CallTimeout: time.Minute, AssumeRole: role}
	made, err := l.surroundings().newCloud(t.Context(), config,
		provider.Environment{Installation: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return made.(*cloud), nil
}

// Every way to credentials ends in ones that the calls are signed with: a machine is
// made with them.
func TestARoleIsAssumedByKeysAndByWebIdentity(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("a.web.token"), 0o600); err != nil {
		t.Fatal(err)
	}
	const arn = "arn:aws:iam::111122223333:role/fleet"
	for name, c := range map[string]struct {
		environment map[string]string
		role        *settings.AssumeRole
		calls       map[string]int
	}{
		"keys": {calls: map[string]int{}},
		"keys, and then a role": {
			role:  &settings.AssumeRole{RoleARN: arn, SessionName: "fleet", ExternalID: "ext"},
			calls: map[string]int{"AssumeRole": 1}},
		"web identity": {
			environment: map[string]string{"AWS_ROLE_ARN": arn, "AWS_WEB_IDENTITY_TOKEN_FILE": token,
				"AWS_ROLE_SESSION_NAME": "pod"},
			calls: map[string]int{"AssumeRoleWithWebIdentity": 1}},
		"web identity, and then another role": {
			environment: map[string]string{"AWS_ROLE_ARN": arn, "AWS_WEB_IDENTITY_TOKEN_FILE": token,
				"AWS_ROLE_SESSION_NAME": "pod"},
			role:  &settings.AssumeRole{RoleARN: arn + "-2", SessionName: "fleet"},
			calls: map[string]int{"AssumeRoleWithWebIdentity": 1, "AssumeRole": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, ec2sim.Options{})
			if c.environment != nil {
				for _, keys := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
					t.Setenv(keys, "")
				}
			}
			for variable, value := range c.environment {
				t.Setenv(variable, value)
			}
			p, err := l.startAs(t, c.role)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []string{"AssumeRole", "AssumeRoleWithWebIdentity"} {
				if got := l.Calls(call); got != c.calls[call] {
					t.Errorf("%d calls of %s, want %d", got, call, c.calls[call])
				}
			}
			made, err := p.Provision(t.Context(), asked())
			if err != nil {
				t.Fatal(err)
			}
			l.end(t, p, made.ID)
		})
	}
}

func TestARoleThatMayNotBeAssumedIsSaidAtTheStart(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	_, err := l.startAs(t, &settings.AssumeRole{RoleARN: "arn:aws:iam::999922223333:role/fleet", SessionName: "fleet"})
	if err == nil || !strings.Contains(err.Error(), "AssumeRole") || !strings.Contains(err.Error(), "AccessDenied") {
		t.Fatalf("wanted a refusal that names the call, got %v", err)
	}
	if calls := l.Calls("RunInstances"); calls != 0 {
		t.Errorf("%d launches", calls)
	}
}
