package daemon

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

// What was decided is of use to no one while no command shows it.
func TestTheNewestDecisionsAboutAFleetAreShown(t *testing.T) {
	o := workspacetest.Options(t)
	m := open(t, o)
	defer m.Close()
	f := fleet.ManagedFleet{ID: "f1", RunnerFleet: fleet.RunnerFleet{Address: "fleet.a"}, Operational: fleet.FleetActive}
	if _, err := m.store.ApplyDefinition(
		t.Context(),
		store.Apply{Definition: fleet.Definition{Installation: "demo"}, Fleets: []fleet.ManagedFleet{f}, By: "a test"},
	); err != nil {
		t.Fatal(err)
	}
	var change store.Change
	for n := range 4 {
		change.Decisions = append(change.Decisions, fleet.Decision{
			ID: fmt.Sprint(
				"d",
				n,
			),
			Fleet:  f.ID,
			At:     time.Unix(int64(n), 0).UTC(),
			Kind:   fleet.ScaleUp,
			Reason: reason.Plain(fmt.Sprint("reason ", n)),
		})
	}
	if err := m.store.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	look, err := OpenReadOnly(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	got, err := look.Decisions(access.WithCaller(t.Context(), access.LocalUser("ada")), f.Address, 2)
	if err != nil || len(got) != 2 || got[0].Reason.Text() != "reason 3" || got[1].Reason.Text() != "reason 2" ||
		!got[0].At.Equal(time.Unix(3, 0)) {
		t.Errorf("decisions %+v, error %v", got, err)
	}
	if err := look.store.SetSetting(t.Context(), "x", "y"); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a reader may write: %v", err)
	}
}
