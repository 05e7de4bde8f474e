package simulation

import (
	"slices"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func TestEntitlementsThatAreNotMindedAreSeen(t *testing.T) {
	caught(t, 4, planning(func(in snapshot.Snapshot) planner.Output {
		in.Policy = fleet.InstallationPolicy{}
		return planner.Plan(in)
	}), "entitlements hold")
}

func TestARequiredSpreadThatIsNotMindedIsSeen(t *testing.T) {
	caught(t, 3, planning(func(in snapshot.Snapshot) planner.Output {
		in.Fleets = slices.Clone(in.Fleets)
		for n := range in.Fleets {
			in.Fleets[n].Placement.Spread = fleet.SpreadNone
		}
		return planner.Plan(in)
	}), "a required spread stays even")
}
