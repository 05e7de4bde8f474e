package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

// withFleets is a manager at a time of the test's own whose store has fleets of
// the given addresses.
func withFleets(t *testing.T, now *time.Time, addresses ...fleet.FleetAddress) *Daemon {
	t.Helper()
	o := workspacetest.Options(t)
	if now != nil {
		o.Clock = func() time.Time { return *now }
	}
	m := open(t, o)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	apply := store.Apply{Definition: fleet.Definition{Installation: "demo"}, At: o.Clock()}
	for _, a := range addresses {
		apply.Fleets = append(
			apply.Fleets,
			fleet.ManagedFleet{ID: fleet.RunnerFleetID(a), RunnerFleet: fleet.RunnerFleet{Address: a}},
		)
	}
	if _, err := m.store.ApplyDefinition(t.Context(), apply); err != nil {
		t.Fatal(err)
	}
	return m
}

func as(t *testing.T, c access.Caller) context.Context {
	t.Helper()
	return access.WithCaller(t.Context(), c)
}
