package planner

import (
	"cmp"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// UnplacedDemand is waiting work that no capacity covers, there or on its way.
type UnplacedDemand struct {
	Scheduler   fleet.SchedulerAddress         `json:"scheduler"`
	Requirement fleet.SchedulingRequirementSet `json:"requirement"`
	Count       int                            `json:"count"`
	// Reason is why, with the nearest fleet: NoEligibleFleet (spec §29) or NoCapacityNow.
	Reason reason.Reason `json:"reason"`
	// Nearest are the fleets that came closest, best first.
	Nearest []NearMiss `json:"nearest,omitempty"`
}

// NearMiss is a fleet and the first requirement that it fails.
type NearMiss struct {
	Fleet  fleet.FleetAddress `json:"fleet"`
	Reason reason.Reason      `json:"reason"`
}

// nearestShown is how many near misses a person is told.
const nearestShown = 3

// supply is one fleet as a source of capacity, with what of the demand is on it
// already.
type supply struct {
	fleet fleet.ManagedFleet
	// number tells it from others while jobs are packed.
	number int
	// there are the instances that are capacity, and then the draining ones that
	// can be had back.
	there []bin
	// fresh is how many instances are to be made, up to budget; limit says what the
	// budget comes from.
	fresh  int
	budget int
	limit  limit
	// hourly is what a host costs.
	hourly fleet.Money
	// short is how many more would be made if the budget allowed, for the unplaced jobs.
	short, unplaced int
	// jobs is how many waiting jobs the fleet was given, occupied how many running
	// ones of which no one says where they are.
	jobs, occupied int
	// over is what the fleet spreads over providers with; nil: it doesn't. spread
	// says what that changed.
	over   *providerSpread
	spread reason.Detail
}

// bin is one instance with how many leases it has.
type bin struct {
	instance fleet.CapacityInstanceID
	leases   int
	// used says that jobs run on it or are meant for it.
	used bool
	// returns says that it is draining and would have to be taken back.
	returns bool
	// known says that its scheduler has had the time to count it among its runners,
	// useless that it doesn't count it among those that take jobs.
	known, useless bool
	// settled says that it has taken jobs for so long that those which wait don't
	// just wait for it to begin.
	settled bool
}

// assignment is what the demand of one scheduler comes to.
type assignment struct {
	supplies map[fleet.RunnerFleetID]*supply
	unplaced []UnplacedDemand
}

// assign gives the waiting jobs of a scheduler to capacity. It is an estimate that
// makes numbers; the scheduler places jobs (spec §125, §126).
func assign(address fleet.SchedulerAddress, d snapshot.Demand, fleets eligibility, improvementSteps int) assignment {
	supplies := fleets.supplies
	a := assignment{supplies: make(map[fleet.RunnerFleetID]*supply, len(supplies))}
	for _, s := range supplies {
		a.supplies[s.fleet.ID] = s
	}
	var groups, placed []*group
	fleets.known = map[string][]*supply{}
	for _, running := range unlisted(d.Snapshot.Queued) {
		occupy(&running, fleets.of(&running))
	}
	for _, waiting := range inOrder(d.Snapshot.Queued) {
		g := &group{QueuedDemand: waiting}
		groups = append(groups, g)
		if g.can = fleets.of(&waiting); len(g.can) > 0 {
			placed = append(placed, g)
		}
	}
	if len(placed) > 0 {
		place(placed, supplies, improvementSteps)
	}
	for _, g := range groups {
		var unplaced UnplacedDemand
		switch {
		case len(g.can) == 0:
			unplaced = noEligibleFleet(g.QueuedDemand, fleets.missed(&g.QueuedDemand))
		case g.left > 0:
			unplaced = noCapacityNow(g.left, g.can)
		default:
			continue
		}
		unplaced.Scheduler, unplaced.Requirement = address, g.Requirement
		a.unplaced = append(a.unplaced, unplaced)
	}
	return a
}

// inOrder are the groups of which jobs may run, the more urgent first. How many
// jobs a group has is the last that decides, so that another job changes nothing
// about who is served before whom.
func inOrder(queued []fleet.QueuedDemand) []fleet.QueuedDemand {
	groups := slices.DeleteFunc(slices.Clone(queued), func(g fleet.QueuedDemand) bool { return g.Admissible <= 0 })
	digests := map[int]string{}
	order := make([]int, len(groups))
	digest := func(n int) string {
		if digests[n] == "" {
			digests[n] = digestOfKind(groups[n])
		}
		return digests[n]
	}
	for n := range order {
		order[n] = n
	}
	slices.SortFunc(order, func(n, k int) int {
		a, b := groups[n], groups[k]
		if c := cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(b.OldestWait, a.OldestWait)); c != 0 {
			return c
		}
		return cmp.Or(
			cmp.Compare(digest(n), digest(k)),
			cmp.Compare(a.Admissible, b.Admissible),
			cmp.Compare(a.Count, b.Count),
			cmpUnlisted(a, b),
		)
	})
	out := make([]fleet.QueuedDemand, len(order))
	for at, n := range order {
		out[at] = groups[n]
	}
	return out
}

// digestOfKind is of what the jobs of a group are. How many there are, and how many
// run, isn't in it: it changes while they are the same, and an order that changed with
// it would give the hosts to others for no reason.
func digestOfKind(g fleet.QueuedDemand) string {
	g.Count, g.Admissible, g.OldestWait, g.Unlisted = 0, 0, 0, nil
	return fleet.Digest(g)
}

type nearMiss struct {
	miss
	address fleet.FleetAddress
}

func noEligibleFleet(group fleet.QueuedDemand, misses []nearMiss) UnplacedDemand {
	slices.SortFunc(misses, func(a, b nearMiss) int {
		return cmp.Or(cmp.Compare(b.check, a.check), cmp.Compare(a.address, b.address))
	})
	u := UnplacedDemand{Count: group.Admissible}
	for _, m := range misses[:min(len(misses), nearestShown)] {
		u.Nearest = append(u.Nearest, NearMiss{Fleet: m.address, Reason: reason.Of(m.reason)})
	}
	why := reason.NoEligibleFleet{Jobs: u.Count}
	if len(u.Nearest) > 0 {
		why.Nearest, why.Because = string(u.Nearest[0].Fleet), u.Nearest[0].Reason
	}
	u.Reason = reason.Of(why)
	return u
}

func noCapacityNow(left int, can []*supply) UnplacedDemand {
	u := UnplacedDemand{Count: left}
	for _, s := range can {
		if len(u.Nearest) < nearestShown {
			u.Nearest = append(u.Nearest, NearMiss{Fleet: s.fleet.Address, Reason: reason.Of(s.limit(0))})
		}
	}
	u.Reason = reason.Of(reason.NoCapacityNow{Jobs: left, Fleet: string(u.Nearest[0].Fleet), Because: u.Nearest[0].Reason})
	return u
}

// used counts the instances that jobs run on or are meant for, new ones
// included.
func (s *supply) used() int {
	n := s.fresh
	for _, b := range s.there {
		if b.used || b.useless {
			n++
		}
	}
	return n
}

// supplyOf is a fleet with its capacity: the fullest hosts first, so that the
// emptiest can leave, then booting ones, then draining ones that can come back.
func supplyOf(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance, d snapshot.Demand) *supply {
	s := &supply{fleet: f}
	s.budget, s.limit = budget(in, f, instances)
	s.hourly = in.markets[f.ID].hourly()
	s.over = in.spreads.with(f)
	ordered := make([]*snapshot.Instance, len(instances)) // they are large, and may be many
	for n := range instances {
		ordered[n] = &instances[n]
	}
	slices.SortFunc(ordered, func(a, b *snapshot.Instance) int {
		return cmp.Or(
			cmp.Compare(takeRank(a.State), takeRank(b.State)),
			cmp.Compare(b.Leases, a.Leases),
			a.Created.Compare(b.Created),
			cmp.Compare(a.ID, b.ID),
		)
	})
	for _, i := range ordered {
		if at := i.Scheduling; at.Told() && at.Scheduler != f.Scheduler {
			continue // it still works for another scheduler, and leaves
		}
		returns := d.Uncordons && canReturn(*i)
		if !returns && !lifecycle.Capacity(i.State, i.Silent) {
			continue
		}
		s.there = append(s.there, bin{
			instance: i.ID,
			leases:   i.Leases,
			used:     i.Leases > 0 && !returns,
			returns:  returns,
			known: i.State == fleet.Healthy &&
				in.Now.Sub(i.Since) >= knownAfter,
			settled: i.State == fleet.Healthy && in.Now.Sub(i.Since) >= takenAfter,
		})
	}
	return s
}

// canReturn says that a drain can be taken back: it is a scale-down, the agent
// hasn't been told to stop, and nothing else takes the host away meanwhile.
func canReturn(i snapshot.Instance) bool {
	leaves := i.Left || i.Interruption.Stands()
	return i.State == fleet.Draining && i.Drain == fleet.Cordoned && lifecycle.Cause(i.Cause) == lifecycle.ForScaleDown &&
		!i.Silent &&
		!leaves
}

// takeRank orders hosts by how soon a job could start on them.
func takeRank(state fleet.CapacityInstanceState) int {
	switch state {
	case fleet.Healthy:
		return 0
	case fleet.Enrolling:
		return 1
	case fleet.Bootstrapping:
		return 2
	case fleet.Provisioning:
		return 3
	case fleet.Requested:
		return 4
	}
	return 5
}

// preferred orders fleets by what an hour of one host costs (spec §109): those that don't
// say come first, as the file meant it. The address decides among equals, so that
// the order never changes by itself.
func preferred(a, b *supply) int {
	x, y := a.hourly, b.hourly
	return cmp.Or(
		cmp.Compare(x.Currency, y.Currency),
		cmp.Compare(x.Micros, y.Micros),
		cmp.Compare(a.fleet.Address, b.fleet.Address),
	)
}
