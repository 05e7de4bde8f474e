package plans

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// installation is a store with who plans and applies, of which no loop runs.
type installation struct {
	*Applier
	*store.Store
}

func open(t testing.TB, o workspace.Options) *installation {
	t.Helper()
	if err := os.MkdirAll(o.Place.State, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), o.Place.Database())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Claim(t.Context(), "the test", o.Clock()); err != nil {
		t.Fatal(err)
	}
	if err := keys.New(s, o, nil).Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := query.Present{
		Clock:        o.Clock,
		AgentVersion: o.Version,
		Observed:     func() snapshot.Observations { return snapshot.Observations{} },
	}
	present := Present{Present: now, Listening: func() *Listening { return nil }}
	return &installation{
		NewApplier(NewPlanner(s, o, present), new(sync.Mutex), func(fleet.Definition) error { return nil }),
		s,
	}
}

func (i *installation) Settings(ctx context.Context) (fleet.ManagerSettings, error) {
	applied, _, err := i.Definition(ctx)
	return applied.Definition.Manager, err
}

func (i *installation) Audit(ctx context.Context, limit int) ([]access.AuditRecord, error) {
	return access.NewAuditLog(i.Store).Audit(ctx, limit)
}

func as(t *testing.T, c access.Caller) context.Context {
	t.Helper()
	return access.WithCaller(t.Context(), c)
}
