package aws

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// What a fresh simulated account has.
const (
	image  = "ami-0a000000000000001"
	subnet = "subnet-0a000000000000001"
	group  = "sg-0a000000000000001"
	key    = "01jx0000000000000000000001"
)

// whole says that also what takes long is tried, so that the everyday run stays short.
var whole = flag.Bool("whole", false, "also try moto, and a thousand machines at the published rates")

// lab is a simulated account with the plugin in front of it.
type lab struct {
	*ec2sim.Simulator
	down atomic.Bool
}

// RoundTrip reaches the account, but in an outage.
func (l *lab) RoundTrip(request *http.Request) (*http.Response, error) {
	if l.down.Load() {
		return nil, errors.New("the network is unreachable")
	}
	return l.Transport().RoundTrip(request)
}

// isolate keeps the SDK from what this machine has of credentials and settings.
func isolate(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "no-secret")
	t.Setenv("AWS_CA_BUNDLE", "")
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
}

func newLab(t *testing.T, options ec2sim.Options) *lab {
	t.Helper()
	isolate(t)
	l := &lab{Simulator: ec2sim.New(options)}
	labs.Lock()
	defer labs.Unlock()
	labs.all = append(labs.all, l.Simulator)
	return l
}

func (l *lab) surroundings() surroundings { return surroundings{transport: l, now: l.Now} }

func block() settings.Instance {
	return settings.Instance{Types: []string{"c7i.large"}, Subnets: []string{subnet}, Groups: []string{group},
		Tenancy: "default"}
}

// start gives the plugin as a manager that starts it has it.
func (l *lab) start(t *testing.T) *cloud {
	t.Helper()
	return l.startWith(t, settings.Config{}, slog.New(slog.DiscardHandler))
}

// startWith gives it with more in its block than it must have.
func (l *lab) startWith(t *testing.T, config settings.Config, logger *slog.Logger) *cloud {
	t.Helper()
	config.Region, config.CallTimeout = "us-east-1", time.Minute
	made, err := l.surroundings().newCloud(t.Context(), config, provider.Environment{Installation: "test", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	return made.(*cloud)
}

func asked() request {
	return request{
		Key: key, Name: "linux-1", Fleet: "fleet.linux", Image: image, InstanceDigest: "d1",
		Tags: map[string]string{"forgeyard-key": key, "forgeyard-proof": "v1-k1-proof"},
		Bootstrap: bootstrap.Document{Kind: bootstrap.KindCloudInit, ManagerURL: "https://127.0.0.1:1", ServerName: "manager",
			CAFingerprint: "sha256:" + strings.Repeat("a", 64), Token: "token"},
		Instance: block(),
	}
}

// list is a whole inspection.
func list(ctx context.Context, t *testing.T, p *cloud) (instances, parts []provider.Resource) {
	t.Helper()
	for one, err := range p.Inspect(ctx, provider.Query{}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case one.Kind != "":
			parts = append(parts, one)
		case one.State != provider.Deleted:
			instances = append(instances, one)
		}
	}
	return instances, parts
}

// end terminates the key until it is gone, and wants nothing left.
func (l *lab) end(t *testing.T, p *cloud, id string) {
	t.Helper()
	for range 10 {
		state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if state == provider.Gone {
			instances, parts := list(t.Context(), t, p)
			if len(instances)+len(parts) > 0 {
				t.Fatalf("left behind: %v %v", instances, parts)
			}
			return
		}
		l.Advance(time.Minute)
	}
	t.Fatal("it is never gone")
}
