//go:build unix

package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// testLawyer writes what the installation's name says.
type testLawyer struct {
	providerpb.UnimplementedPermissionsServer
}

func (testLawyer) Policy(_ context.Context, r *providerpb.PolicyRequest) (*providerpb.PolicyResponse, error) {
	switch r.GetInstallation() {
	case "empty":
		return &providerpb.PolicyResponse{}, nil
	case "endless":
		return &providerpb.PolicyResponse{Document: strings.Repeat("x", providerpb.MaxPolicyBytes+1)}, nil
	case "refused":
		return nil, withDetail(
			codes.InvalidArgument,
			&providerpb.Error{Class: providerpb.Error_CLASS_INVALID, Message: "no such region"},
		)
	}
	return &providerpb.PolicyResponse{
		Document: fmt.Sprintf("%s\n%s \x1b[2J %d\n", r.GetInstallation(), r.GetProviderJson(), len(r.GetInstanceJson())),
	}, nil
}

func TestAPolicyKeepsItsLinesAndHidesSecrets(t *testing.T) {
	p := started(t, launch(t, ""))
	body := secret.Resolved{Body: json.RawMessage(`{"password":"correct horse"}`), Secrets: []string{"correct horse"}}
	got, err := p.Policy(t.Context(), "inst", body, map[string][]byte{"a": []byte(`{}`)})
	if err != nil || strings.Contains(got, "correct horse") || strings.Contains(got, "\x1b") {
		t.Fatalf("got %q, %v", got, err)
	}
	if !strings.HasPrefix(got, "inst\n{") || !strings.HasSuffix(got, " 1\n") {
		t.Errorf("got %q", got)
	}
}

func TestAPolicyThatIsNoneIsAFaultOfThePlugin(t *testing.T) {
	p := started(t, launch(t, ""))
	for installation, says := range map[string]string{"empty": "0 bytes", "endless": "262145 bytes",
		"refused": "no such region"} {
		_, err := p.Policy(t.Context(), installation, secret.Resolved{}, nil)
		wantError(t, err, says)
	}
}
