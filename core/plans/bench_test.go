package plans

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// noSchema is a plugin whose blocks have no attributes.
type noSchema struct{}

func (noSchema) Schemas(plugin string) (fleet.PluginSchemas, error) {
	return fleet.PluginSchemas{Name: plugin, Version: "0.1.0"}, nil
}

// bigFile declares fleets like those of the quickstart.
func bigFile(fleets int) []config.Source {
	var text strings.Builder
	text.WriteString(`
forgeyard {
  installation = "demo"
  required_plugins {
    local = { version = "~> 0.1" }
  }
}
provider "local" "here" {
}
capacity_class "small" {
  capabilities = ["git"]
  trust        = "standard"
  platform {
    os   = "linux"
    arch = "x86_64"
  }
  resources {
    cpu    = 1
    memory = "512MiB"
  }
}
`)
	for n := range fleets {
		fmt.Fprintf(&text, `
fleet "f%04d" {
  capacity_class = capacity_class.small
  provider       = provider.local.here
  instance {
  }
  scaling {
    min = 10
    max = 12
  }
  runner {
    command = ["sh", "-c", "echo working; sleep 1"]
  }
  admission {
    job_isolation = "none"
  }
}
`, n)
	}
	return []config.Source{{Name: "fleet.hcl", Bytes: []byte(text.String())}}
}

// planOf reads files and plans them as a command does beside a state directory.
// It starts no plugin: what a plugin says about its blocks is its own time.
func planOf(ctx context.Context, b *testing.B, o workspace.Options, sources []config.Source) Plan {
	b.Helper()
	read, err := store.OpenReadOnly(ctx, o.Place.Database())
	if err != nil {
		b.Fatal(err)
	}
	present := query.Present{
		Clock:        o.Clock,
		AgentVersion: o.Version,
		Observed:     func() snapshot.Observations { return snapshot.Observations{} },
	}
	now := Present{Present: present, Listening: func() *Listening { return nil }}
	p, err := NewPlanner(
		read,
		o,
		now,
	).planOf(ctx, access.LocalUser("ada"), false, func(context.Context) (*workspace.Loaded, workspace.Bundle, error) {
		loaded, found := config.Load(sources, config.Variables{}, noSchema{})
		if found.HasErrors() {
			return nil, workspace.Bundle{}, found
		}
		return &workspace.Loaded{Loaded: loaded}, workspace.Bundle{}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := read.Close(); err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkPlanOf1000FleetsAnd10000Instances is a whole plan of a big
// installation: the files are read, the store is opened and loaded, and every
// fleet is compared and planned. Goal: under 1 s and 300 MiB.
func BenchmarkPlanOf1000FleetsAnd10000Instances(b *testing.B) {
	const fleets, each = 1000, 10
	o, sources := workspacetest.Options(b), bigFile(fleets)
	m := open(b, o)
	first := planOf(b.Context(), b, o, sources)
	if _, err := m.Store.ApplyDefinition(
		b.Context(),
		store.Apply{Definition: first.definition, Fleets: first.rows, By: "a test", At: time.Now()},
	); err != nil {
		b.Fatal(err)
	}
	fill(b, m.Store, first.rows, each)
	if err := m.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p := planOf(b.Context(), b, o, sources)
		if p.HasChanges() || len(p.Preview.Fleets) != fleets || p.Preview.Fleets[7].Counts.Ready != each {
			b.Fatalf("changes %v, %d fleets, the eighth with %+v", p.Changes, len(p.Preview.Fleets), p.Preview.Fleets[7].Counts)
		}
	}
}

// BenchmarkStatusOf1000FleetsAnd10000Instances is what status does after the
// store was loaded.
func BenchmarkStatusOf1000FleetsAnd10000Instances(b *testing.B) {
	o, sources := workspacetest.Options(b), bigFile(1000)
	m := open(b, o)
	first := planOf(b.Context(), b, o, sources)
	if _, err := m.Store.ApplyDefinition(
		b.Context(),
		store.Apply{Definition: first.definition, Fleets: first.rows, By: "a test", At: time.Now()},
	); err != nil {
		b.Fatal(err)
	}
	fill(b, m.Store, first.rows, 10)
	ctx := access.WithCaller(b.Context(), access.LocalUser("ada"))
	present := query.Present{
		Clock:        o.Clock,
		AgentVersion: o.Version,
		Observed:     func() snapshot.Observations { return snapshot.Observations{} },
	}
	status := query.New(m.Store, present, nil)
	b.ReportAllocs()
	for b.Loop() {
		if all, err := status.Fleets(ctx); err != nil || len(all) != 1000 {
			b.Fatal(len(all), err)
		}
	}
	if err := m.Close(); err != nil {
		b.Fatal(err)
	}
}

// fill stores healthy instances with their operations and runners.
func fill(b *testing.B, s *store.Store, rows []fleet.ManagedFleet, each int) {
	b.Helper()
	at := time.Now().Add(-time.Hour).UTC()
	var change store.Change
	var runners []fleet.Runner
	for n, f := range rows {
		for k := range each {
			id := fmt.Sprintf("%06d", n*each+k)
			instance := fleet.CapacityInstance{
				ID: fleet.CapacityInstanceID(
					"i" + id,
				),
				Key:              fleet.OperationID("o" + id),
				Fleet:            f.ID,
				Provider:         f.Provider,
				Runner:           fleet.RunnerID("r" + id),
				State:            fleet.Healthy,
				Since:            at,
				Created:          at,
				SeenAt:           at,
				Seen:             fleet.ResourceRunning,
				ProviderInstance: fleet.ProviderInstanceRef("o" + id),
				Class:            f.Class.ID(),
				Image:            f.Image.ID("0.1.0"),
				InstanceDigest:   f.InstanceDigest(),
				Reason:           reason.Plain("Every check of admission passed."),
			}
			instance.Admission.State, instance.Admission.Policy = fleet.AdmissionVerified, f.Admission
			for _, check := range []string{"identity", "class", "provider", "platform", "capabilities", "version", "time",
				"health", "job_isolation"} {
				instance.Admission.Checks = append(
					instance.Admission.Checks,
					fleet.AdmissionCheck{
						Name:     check,
						Result:   fleet.Passed,
						Evidence: reason.Of(reason.JobsIsolated{Message: "what was seen of " + check}),
					},
				)
			}
			change.Instances = append(change.Instances, instance)
			change.Operations = append(change.Operations, fleet.Operation{
				ID:       instance.Key,
				Instance: instance.ID,
				Fleet:    f.ID,
				Kind:     fleet.ProvisionOperation,
				State:    fleet.OperationSucceeded,
				Created:  at,
				Attempts: 1,
				Request:  fmt.Appendf(nil, `{"fleet":%q,"pad":%q}`, f.Address, strings.Repeat("x", 800)),
			})
			runners = append(
				runners,
				fleet.Runner{
					ID:           instance.Runner,
					Operation:    instance.Key,
					Instance:     instance.ID,
					Enrolled:     at,
					LastBeat:     at,
					AgentVersion: "0.1.0",
				},
			)
		}
	}
	if err := s.Commit(b.Context(), change); err != nil {
		b.Fatal(err)
	}
	for _, r := range runners {
		if err := s.Enroll(b.Context(), r, ""); err != nil {
			b.Fatal(err)
		}
	}
}
