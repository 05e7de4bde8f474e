package progress

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func TestLimitedCallerSeesNoJobsNearestToOtherFleets(t *testing.T) {
	p := Progress{
		Schedulers: map[fleet.SchedulerAddress]reason.Reason{
			"forgeyard.ci": reason.Of(reason.SchedulerError{Message: "refused"}),
		},
		Unplaced: unplacedNearest("fleet.a", "fleet.b", "fleet.b", "fleet.a"),
	}
	seen := p.VisibleTo(access.Caller{Fleets: []fleet.FleetAddress{"fleet.b"}})
	if len(seen.Unplaced) != 1 || len(seen.Unplaced[0].Nearest) != 1 || seen.Unplaced[0].Nearest[0].Fleet != "fleet.b" ||
		len(seen.Schedulers) > 0 ||
		len(p.Unplaced[1].Nearest) != 2 {
		t.Errorf("it sees %+v and %v; %+v is left", seen.Unplaced, seen.Schedulers, p.Unplaced)
	}
	if all := p.VisibleTo(access.Caller{}); len(all.Unplaced) != 2 || len(all.Schedulers) != 1 {
		t.Errorf("who isn't limited sees %+v", all)
	}
}

// unplacedNearest is unplaced demand with pairs of fleets that came near.
func unplacedNearest(fleets ...fleet.FleetAddress) (all []planner.UnplacedDemand) {
	for n := 0; n < len(fleets); n += 2 {
		all = append(all, planner.UnplacedDemand{Nearest: []planner.NearMiss{{Fleet: fleets[n]}, {Fleet: fleets[n+1]}}})
	}
	return all
}

func TestALimitedWatcherSeesNoHoldNorSilenceOfOtherFleets(t *testing.T) {
	p := Progress{
		Holds:  nil,
		Silent: map[fleet.CapacityInstanceID]fleet.FleetAddress{"a1": "fleet.a", "b1": "fleet.b"},
	}
	seen := p.VisibleTo(access.Caller{Fleets: []fleet.FleetAddress{"fleet.b"}})
	if len(seen.Silent) != 1 || seen.Silent["b1"] != "fleet.b" || len(p.Silent) != 2 {
		t.Errorf("it sees %v, and %v is left", seen.Silent, p.Silent)
	}
	if !slices.Equal(seen.Transitions, nil) {
		t.Errorf("it sees %v", seen.Transitions)
	}
}

func TestLimitedWatcherSeesOnlyTheirFleets(t *testing.T) {
	orphans := fleet.Unrecorded{
		Orphans:   2,
		Resources: []fleet.UnrecordedResource{{ID: "vm-a", Fleet: "fleet.a"}, {ID: "vm-b", Fleet: "fleet.b"}},
	}
	p := Progress{
		Transitions: []loop.Transition{{Instance: "a1", Fleet: "fleet.a"}, {Instance: "b1", Fleet: "fleet.b"}},
		Fleets:      map[fleet.RunnerFleetID]fleet.FleetAddress{"fa": "fleet.a", "fb": "fleet.b"},
		Holds:       map[fleet.RunnerFleetID]snapshot.Hold{"fa": {}, "fb": {}},
		Rollouts:    map[fleet.FleetAddress]planner.RolloutPlan{"fleet.a": {}, "fleet.b": {}},
		Waits:       map[fleet.FleetAddress][]reason.Reason{"fleet.a": nil, "fleet.b": nil},
		Unrecorded: map[fleet.ProviderAddress]fleet.Unrecorded{
			"local.here":  orphans,
			"local.there": {Foreign: 1, Resources: []fleet.UnrecordedResource{{ID: "vm-c"}}},
		},
	}
	want := Progress{
		Transitions: p.Transitions[1:],
		Fleets:      map[fleet.RunnerFleetID]fleet.FleetAddress{"fb": "fleet.b"},
		Holds:       map[fleet.RunnerFleetID]snapshot.Hold{"fb": {}},
		Rollouts:    map[fleet.FleetAddress]planner.RolloutPlan{"fleet.b": {}},
		Waits:       map[fleet.FleetAddress][]reason.Reason{"fleet.b": nil},
		Unrecorded:  map[fleet.ProviderAddress]fleet.Unrecorded{"local.here": {Orphans: 1, Resources: orphans.Resources[1:]}},
	}
	got := p.VisibleTo(access.Caller{Fleets: []fleet.FleetAddress{"fleet.b"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(p.Fleets) != 2 || len(p.Holds) != 2 || len(p.Rollouts) != 2 || len(p.Waits) != 2 || len(p.Unrecorded) != 2 {
		t.Errorf("what others see became less: %+v", p)
	}
}
