package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
)

func keepsNeeded(t *testing.T, location string) {
	s := applied(t, open(t, location))
	one, other := managed(1).ID, managed(2).ID
	commit := func(runs ...NeededRun) {
		t.Helper()
		must(t, s.Commit(t.Context(), Change{Needed: runs}))
	}
	commit(
		NeededRun{one, forecast.Run{First: 10, Last: 10, Needed: 3}},
		NeededRun{other, forecast.Run{First: 10, Last: 12, Needed: 1}},
	)
	commit(
		NeededRun{one, forecast.Run{First: 10, Last: 14, Needed: 3}},
		NeededRun{one, forecast.Run{First: 20, Last: 20, Needed: 5}},
	)
	must(t, s.Close())

	s = claim(t, open(t, location), "another")
	got, err := s.Needed(t.Context(), []fleet.RunnerFleetID{one, "unknown", other})
	must(t, err)
	want := map[fleet.RunnerFleetID][]forecast.Run{
		one:   {{First: 10, Last: 14, Needed: 3}, {First: 20, Last: 20, Needed: 5}},
		other: {{First: 10, Last: 12, Needed: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err = s.Needed(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("of no fleet: %v, %v", got, err)
	}
	many := make([]fleet.RunnerFleetID, 3*batch)
	many[len(many)-1] = one
	if got, err = s.Needed(t.Context(), many); err != nil || len(got[one]) != 2 {
		t.Errorf("of many fleets: %v, %v", got, err)
	}
}

func prunesNeeded(t *testing.T, location string) {
	s := applied(t, open(t, location))
	today := forecast.SlotOf(now)
	long := forecast.SlotOf(now.Add(-forecast.Retention))
	run := func(id fleet.RunnerFleetID, first, last forecast.Slot) NeededRun {
		return NeededRun{id, forecast.Run{First: first, Last: last, Needed: 1}}
	}
	one := managed(1).ID
	must(t, s.Commit(t.Context(), Change{Needed: []NeededRun{
		run(
			one,
			long-9,
			long-1,
		),
		run(one, long-5, long),
		run(one, today-1, today),
		run(one, today+1000, today+1000),
		run("forgotten", today-1, today),
	}}))
	removed, err := s.PruneNeeded(t.Context(), now)
	must(t, err)
	got, err := s.Needed(t.Context(), []fleet.RunnerFleetID{one, "forgotten"})
	must(t, err)
	want := map[fleet.RunnerFleetID][]forecast.Run{
		one: {{First: long - 5, Last: long, Needed: 1}, {First: today - 1, Last: today, Needed: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" || removed != 3 {
		t.Errorf("%d are removed (-want +got):\n%s", removed, diff)
	}
	must(t, s.Commit(t.Context(), Change{RetireFleets: []fleet.RunnerFleetID{one}, Serial: 1}))
	if removed, err = s.PruneNeeded(t.Context(), now.Add(time.Hour)); err != nil || removed != 2 {
		t.Errorf("of a retired fleet %d are removed, %v", removed, err)
	}
}
