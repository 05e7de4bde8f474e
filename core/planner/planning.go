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
	// instances are the snapshot's with what is known of each, and byFleet the live
	// ones of each fleet by id. Use these in place of Instances.
	instances []snapshot.Instance
	byFleet   map[fleet.RunnerFleetID][]snapshot.Instance
	// assets are the inventories by provider.
	assets map[fleet.ProviderAddress][]fleet.Asset

	// holds are those of the snapshot, and of the fleets none of whose offers can be
	// used.
	holds map[fleet.RunnerFleetID]snapshot.Hold
	// markets are the offers of each fleet, and probes those that this plan sends.
	markets map[fleet.RunnerFleetID]*market
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
		f = in.Standing.Governed(f)
		f.Scaling.Min, f.Scaling.Max = limitsAt(in, f, in.Now)
		fleets = append(fleets, f)
	}
	slices.SortFunc(fleets, func(a, b fleet.ManagedFleet) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.ID, b.ID))
	})
	return fleets
}

// membersOf are the live instances of each fleet, by id: parts of one list, since
// there may be ten thousand.
func membersOf(instances []snapshot.Instance, fleets int) map[fleet.RunnerFleetID][]snapshot.Instance {
	live := make([]*snapshot.Instance, 0, len(instances))
	for n := range instances {
		if instances[n].Live() {
			live = append(live, &instances[n])
		}
	}
	slices.SortFunc(live, func(a, b *snapshot.Instance) int {
		return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(a.ID, b.ID))
	})
	all := make([]snapshot.Instance, len(live))
	for n, i := range live {
		all[n] = *i
	}
	byFleet := make(map[fleet.RunnerFleetID][]snapshot.Instance, fleets)
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(i snapshot.Instance) bool { return i.Fleet != all[0].Fleet })
		if n < 0 {
			n = len(all)
		}
		byFleet[all[0].Fleet] = all[:n:n]
		all = all[n:]
	}
	return byFleet
}
