package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func keepsOverrides(t *testing.T, location string) {
	s := applied(t, open(t, location))
	least, most := 2, 5
	by := fleet.Attribution{By: "ada", At: now, Reason: "it's \x00 \"odd\""}
	hour := now.Add(time.Hour)
	want := fleet.Overrides{
		ScaleOverrides: []fleet.FleetScaleOverride{{Fleet: "f1", Min: &least, Max: &most, Until: hour, Attribution: by}},
		Pins:           []fleet.RunnerPin{{Instance: "i1", Fleet: "f1", Until: hour, Attribution: by}},
		Freezes: []fleet.Freeze{
			{Fleet: "f1", ScaleUpOnly: true, Attribution: by},
			{Provider: "local.here", Attribution: by},
		},
		Quarantines: []fleet.Quarantine{
			{Fleet: "f1", Attribution: by},
			{Image: "sha256:x", Attribution: by},
			{Instance: "i1", Attribution: by},
		},
		Reservations: []fleet.CapacityReservation{
			{ID: "r1", Quantity: 4, Start: now, End: hour, Dedicated: true, Scope: fleet.FleetScope{Tenant: "acme"}, Made: by},
		},
		CostOverrides: []fleet.CostOverride{
			{Fleet: "f1", MaxHourly: fleet.Money{Micros: 5, Currency: "USD"}, Until: hour, Attribution: by},
		},
		Rollouts: []fleet.RolloutOrder{{Fleet: "f1", Action: fleet.PauseRollout, Attribution: by}},
	}
	n := 0
	set := func(order any) {
		t.Helper()
		n++
		must(t, s.SetOverride(t.Context(), order, AuditRecord{ID: id("audit", n), At: now, By: "ada", Action: "test"}))
	}
	set(fleet.FleetScaleOverride{Fleet: "f1", Min: &most, Until: hour, Attribution: by}) // the next one takes its place
	set(want.ScaleOverrides[0])
	set(want.Pins[0])
	for _, f := range want.Freezes {
		set(f)
	}
	for _, q := range want.Quarantines {
		set(q)
	}
	set(want.Reservations[0])
	set(fleet.CostOverride{Fleet: "f1", Until: hour, Attribution: by})
	set(want.CostOverrides[0])
	set(want.Rollouts[0])
	must(t, s.Close())

	s = claim(t, open(t, location), "another")
	state, err := s.Load(t.Context())
	must(t, err)
	if diff := cmp.Diff(want, state.Overrides); diff != "" {
		t.Error(diff)
	}
	// An apply is none of their business.
	_, err = s.ApplyDefinition(
		t.Context(),
		Apply{
			Expect:     1,
			Definition: fleet.Definition{Installation: "lab", RequiredVersion: "1"},
			At:         now,
			By:         "ada",
			Fleets:     []fleet.ManagedFleet{managed(1)},
		},
	)
	must(t, err)
	if orders, err := s.Overrides(t.Context()); err != nil || !cmp.Equal(want, orders) {
		t.Errorf("after an apply: %v, %s", err, cmp.Diff(want, orders))
	}
}

func clearsOverrides(t *testing.T, location string) {
	s := applied(t, open(t, location))
	freeze := fleet.Freeze{Provider: "local.here"}
	must(t, s.SetOverride(t.Context(), freeze, AuditRecord{ID: "a1", At: now}))
	for n, want := range []bool{true, false} {
		ended, err := s.ClearOverride(t.Context(), freeze, AuditRecord{ID: id("end", n), At: now})
		must(t, err)
		if ended != want {
			t.Errorf("attempt %d: ended %t", n+1, ended)
		}
	}
	records, err := s.Audit(t.Context(), 0)
	must(t, err)
	if len(records) != 2 { // the one that ended nothing has no record
		t.Errorf("audit records: %v", records)
	}
	must(t, s.SetOverride(t.Context(), fleet.RunnerPin{Instance: "i1", Until: now}, AuditRecord{ID: "a2", At: now}))
	must(
		t,
		s.SetOverride(
			t.Context(),
			fleet.RunnerPin{Instance: "i2", Until: now.Add(time.Hour)},
			AuditRecord{ID: "a3", At: now},
		),
	)
	must(t, s.SetOverride(t.Context(), freeze, AuditRecord{ID: "a4", At: now}))
	pruned, err := s.Prune(t.Context(), now.Add(time.Minute))
	must(t, err)
	orders, err := s.Overrides(t.Context())
	must(t, err)
	if pruned.Overrides != 1 || len(orders.Pins) != 1 || orders.Pins[0].Instance != "i2" || len(orders.Freezes) != 1 {
		t.Errorf("pruned %d, left %+v", pruned.Overrides, orders)
	}
}

func forgetsOverridesAboutNothing(t *testing.T, location string) {
	s := applied(t, open(t, location))
	c := change(1, 2)
	c.Instances[0].State, c.Instances[0].Since = fleet.Terminated, now.Add(-time.Hour)
	must(t, s.Commit(t.Context(), c))
	left := fleet.Overrides{
		Freezes:     []fleet.Freeze{{Fleet: managed(1).ID}, {Provider: "gone.away"}},
		Quarantines: []fleet.Quarantine{{Image: "sha256:x"}, {Instance: c.Instances[1].ID}},
	}
	for n, order := range []any{
		left.Freezes[0], left.Freezes[1], left.Quarantines[0], left.Quarantines[1],
		fleet.Quarantine{Instance: c.Instances[0].ID}, fleet.Quarantine{Fleet: "retired"}, fleet.Freeze{Fleet: "retired"},
	} {
		must(t, s.SetOverride(t.Context(), order, AuditRecord{ID: id("audit", n), At: now}))
	}
	pruned, err := s.Prune(t.Context(), now.Add(-time.Minute))
	must(t, err)
	got, err := s.Overrides(t.Context())
	must(t, err)
	if diff := cmp.Diff(left, got); diff != "" || pruned.Overrides != 3 {
		t.Errorf("%d pruned\n%s", pruned.Overrides, diff)
	}
}
