package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func endsRollbacks(t *testing.T, location string) {
	s := applied(t, open(t, location))
	back := fleet.RolloutOrder{
		Fleet:  "f1",
		Action: fleet.RollBack,
		From:   fleet.Image{Ref: "new"},
		To:     fleet.Image{Ref: "old"},
	}
	other := fleet.RolloutOrder{
		Fleet:  "f2",
		Action: fleet.RollBack,
		From:   fleet.Image{Ref: "new"},
		To:     fleet.Image{Ref: "old"},
	}
	for n, order := range []fleet.RolloutOrder{back, other} {
		must(t, s.SetOverride(t.Context(), order, AuditRecord{ID: id("audit", n), At: now}))
	}
	apply := func(expect int64, version string, reimaged ...fleet.RunnerFleetID) []fleet.RolloutOrder {
		t.Helper()
		_, err := s.ApplyDefinition(
			t.Context(),
			Apply{
				Expect:     expect,
				Definition: fleet.Definition{Installation: "lab", RequiredVersion: version},
				At:         now,
				By:         "ada",
				Fleets:     []fleet.ManagedFleet{managed(1)},
				Reimaged:   reimaged,
			},
		)
		must(t, err)
		orders, err := s.Overrides(t.Context())
		must(t, err)
		return orders.Rollouts
	}
	if diff := cmp.Diff([]fleet.RolloutOrder{back, other}, apply(1, "1")); diff != "" {
		t.Errorf("after an apply of the same image: %s", diff)
	}
	if diff := cmp.Diff([]fleet.RolloutOrder{other}, apply(2, "2", "f1")); diff != "" {
		t.Errorf("after an apply of another image: %s", diff)
	}
	must(
		t,
		s.SetOverride(
			t.Context(),
			fleet.RolloutOrder{Fleet: "f2", Action: fleet.PauseRollout},
			AuditRecord{ID: "audit-9", At: now},
		),
	)
	if left := apply(3, "3", "f2"); len(left) != 1 || left[0].Action != fleet.PauseRollout {
		t.Errorf("a pause ended with an apply: %+v", left)
	}
}
