package planner

import (
	"cmp"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// planning is one run of Plan: what it plans from, and what it works out on the way.
type planning struct {
	// Snapshot is what Plan was given. It is never written to.
	snapshot.Snapshot
	// improvementSteps bounds the search for cheaper hosts.
	improvementSteps int

	// fleets are the snapshot's under what people decided, sorted by address: the
	// first that needs a probe gets it. Use these in place of Fleets.
	fleets []fleet.ManagedFleet
	// instances are the snapshot's ObservedInstances, and byFleet the live ones of
	// each fleet by id. Use these in place of Instances.
	instances []snapshot.Instance
	byFleet   map[fleet.RunnerFleetID][]snapshot.Instance
	// assets are the inventories by provider.
	assets map[fleet.ProviderAddress][]fleet.Asset

	// holds are those of the snapshot, and of the fleets none of whose offers can be
	// used.
	holds map[fleet.RunnerFleetID]snapshot.Hold
	// markets are the offers of each fleet, and probes those that this plan sends.
	markets map[fleet.RunnerFleetID]*fleetOffers
	probes  probes
	// entitled counts who may have more of the classes that are limited, and spreads
	// what fleets that are spread over providers have where.
	entitled entitledRoom
	spreads  providerSpreads
	// waits is what the schedulers' demand waits for hosts to show.
	waits map[fleet.SchedulerAddress]waitsFor
	// allotted is what the reservations come to.
	allotted allotted
	// warm is how many idle runners fleets keep now.
	warm map[fleet.RunnerFleetID]warmth
	// budgets are what the cost guardrails leave to each fleet.
	budgets map[fleet.RunnerFleetID]*costBudget
	// rollouts are how far those of the fleets are.
	rollouts map[fleet.RunnerFleetID]*rollout
}

// newPlanning works out what all fleets need to know.
func newPlanning(s snapshot.Snapshot, instances []snapshot.Instance, improvementSteps int) *planning {
	in := &planning{Snapshot: s, instances: instances, improvementSteps: improvementSteps, assets: s.Assets()}
	in.allotted = allotments(in)
	in.fleets = governed(in)
	in.byFleet = membersOf(instances, len(in.fleets))
	in.constrain()
	in.rollouts = rolloutsOf(in)
	in.warm = warmths(in)
	in.waits = waitsOf(in.Demand)
	in.entitled = entitledRoomOf(in)
	in.spreads = providerSpreadsOf(in)
	in.openBudgets()
	return in
}

// governed are the fleets under what people decided beside the file, by address.
func governed(in *planning) []fleet.ManagedFleet {
	fleets := make([]fleet.ManagedFleet, 0, len(in.Fleets))
	for _, f := range in.Fleets {
		f = in.Overrides.Apply(f)
		f.Scaling.Min, f.Scaling.Max = limitsAt(in, f, in.Now)
		fleets = append(fleets, f)
	}
	slices.SortFunc(fleets, func(a, b fleet.ManagedFleet) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.ID, b.ID))
	})
	return fleets
}

// membersOf are the live instances of each fleet, by id: parts of the list, which
// has them by fleet and id, and those that have ended last.
func membersOf(instances []snapshot.Instance, fleets int) map[fleet.RunnerFleetID][]snapshot.Instance {
	byFleet := make(map[fleet.RunnerFleetID][]snapshot.Instance, fleets)
	for rest := instances; len(rest) > 0 && rest[0].Live(); {
		n := slices.IndexFunc(rest, func(i snapshot.Instance) bool { return i.Fleet != rest[0].Fleet || !i.Live() })
		if n < 0 {
			n = len(rest)
		}
		byFleet[rest[0].Fleet] = rest[:n:n]
		rest = rest[n:]
	}
	return byFleet
}
