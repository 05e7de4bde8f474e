package planner

import (
	"cmp"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// Demand is what one scheduler says, or why it can't be seen.
type Demand struct {
	Snapshot fleet.CapacityDemandSnapshot
	// Blind is why nothing may be concluded now; "": the snapshot holds. Can't see
	// is not zero: the scheduler's fleets keep what they have.
	Blind string
	// Uncordons says that the scheduler gives a cordoned runner new leases when
	// it is asked to, so that a drain can be taken back.
	Uncordons bool
}

// Unmet is waiting work that no capacity covers, there or on its way.
type Unmet struct {
	Scheduler   fleet.SchedulerAddress         `json:"scheduler"`
	Requirement fleet.SchedulingRequirementSet `json:"requirement"`
	Code        UnmetCode                      `json:"code"`
	Count       int                            `json:"count"`
	// Sentence says why for a person, with the nearest fleets.
	Sentence string `json:"sentence"`
	// Nearest are the fleets that came closest, best first.
	Nearest []NearMiss `json:"nearest,omitempty"`
}

// UnmetCode names a kind of unmet demand.
type UnmetCode string

// NoEligibleFleet: no fleet of the file could ever run the jobs [29].
// NoCapacityNow: fleets could, and something keeps them from growing.
const (
	NoEligibleFleet UnmetCode = "no_eligible_fleet"
	NoCapacityNow   UnmetCode = "no_capacity_now"
)

// NearMiss is a fleet and the first requirement that it fails.
type NearMiss struct {
	Fleet  fleet.FleetAddress `json:"fleet"`
	Reason string             `json:"reason"`
}

// nearestShown is how many near misses a person is told.
const nearestShown = 3

// supply is one fleet as a source of capacity, with what of the demand is on it
// already.
type supply struct {
	fleet fleet.ManagedFleet
	// there are the instances that are capacity, and then the draining ones that
	// can be had back.
	there []bin
	// fresh are instances to be made, up to budget; limit says what the budget
	// comes from.
	fresh  []bin
	budget int
	limit  limit
	// hourly is what a host costs.
	hourly fleet.Money
	// short is how many more would be made if the budget allowed.
	short int
	// jobs is how many waiting jobs the fleet was given.
	jobs int
}

// bin is one instance with the room that it has left.
type bin struct {
	instance fleet.CapacityInstanceID // "": to be made
	room     room
	// used says that jobs run on it or are meant for it.
	used bool
	// returns says that it is draining and would have to be taken back.
	returns bool
}

// assignment is what the demand of one scheduler comes to.
type assignment struct {
	supplies map[fleet.RunnerFleetID]*supply
	unmet    []Unmet
	// jobs is how many jobs wait that no quota blocks.
	jobs int
}

// assign gives the waiting jobs of a scheduler to capacity: first to what is
// there or booting, then to draining hosts that can come back, then to new ones,
// by the same packer. It is an estimate that makes numbers; the scheduler places
// jobs [125, 126].
func assign(address fleet.SchedulerAddress, d Demand, supplies []*supply) assignment {
	a := assignment{supplies: make(map[fleet.RunnerFleetID]*supply, len(supplies))}
	for _, s := range supplies {
		a.supplies[s.fleet.ID] = s
	}
	groups := slices.Clone(d.Snapshot.Queued)
	slices.SortStableFunc(groups, func(a, b fleet.UnmetDemand) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(b.OldestWait, a.OldestWait), cmp.Compare(fleet.Digest(a), fleet.Digest(b)))
	})
	for _, group := range groups {
		if group.Admissible == 0 {
			continue
		}
		a.jobs += group.Admissible
		if unmet, all := a.cover(group, supplies); !all {
			unmet.Scheduler, unmet.Requirement = address, group.Requirement
			a.unmet = append(a.unmet, unmet)
		}
	}
	return a
}

// cover gives one group of jobs to the fleets that can run it, in their order of
// preference.
func (a *assignment) cover(group fleet.UnmetDemand, supplies []*supply) (Unmet, bool) {
	var can []*supply
	var misses []nearMiss
	for _, s := range supplies {
		if m := eligible(group, s.fleet); m.ok() {
			can = append(can, s)
		} else {
			misses = append(misses, nearMiss{m, s.fleet.Address})
		}
	}
	if len(can) == 0 {
		return noEligibleFleet(group, misses), false
	}
	left := group.Admissible
	for _, s := range can {
		left -= s.fill(s.there, group.Resources, left)
	}
	for _, s := range can {
		left -= s.fill(s.fresh, group.Resources, left)
		left -= s.open(group.Resources, left)
	}
	if left == 0 {
		return Unmet{}, true
	}
	// The fleet that would have been next carries what is missing, so that its
	// chain of bounds shows what binds.
	each := roomOf(can[0].fleet.Class).fits(group.Resources)
	can[0].short += (left + each - 1) / each
	return noCapacityNow(left, can), false
}

// fill puts jobs into bins in order and returns how many found room.
func (s *supply) fill(bins []bin, job fleet.ResourceCapacity, jobs int) int {
	placed := 0
	for n := range bins {
		if placed == jobs {
			break
		}
		if k := min(bins[n].room.fits(job), jobs-placed); k > 0 {
			bins[n].room.take(job, k)
			bins[n].used = true
			placed += k
		}
	}
	s.jobs += placed
	return placed
}

// open makes new instances for jobs as far as the budget goes, and returns how
// many jobs found room.
func (s *supply) open(job fleet.ResourceCapacity, jobs int) int {
	placed := 0
	for placed < jobs && len(s.fresh) < s.budget {
		b := bin{room: roomOf(s.fleet.Class), used: true}
		k := min(b.room.fits(job), jobs-placed)
		b.room.take(job, k)
		s.fresh = append(s.fresh, b)
		placed += k
	}
	s.jobs += placed
	return placed
}

type nearMiss struct {
	miss
	address fleet.FleetAddress
}

func noEligibleFleet(group fleet.UnmetDemand, misses []nearMiss) Unmet {
	slices.SortFunc(misses, func(a, b nearMiss) int {
		return cmp.Or(cmp.Compare(b.check, a.check), cmp.Compare(a.address, b.address))
	})
	u := Unmet{Code: NoEligibleFleet, Count: group.Admissible}
	for _, m := range misses[:min(len(misses), nearestShown)] {
		u.Nearest = append(u.Nearest, NearMiss{Fleet: m.address, Reason: m.reason})
	}
	if len(u.Nearest) == 0 {
		u.Sentence = sentence("%s that no fleet can run: no fleet has this scheduler.", jobsWait(u.Count))
		return u
	}
	u.Sentence = sentence("%s that no fleet can run. The nearest is %s: %s.", jobsWait(u.Count), u.Nearest[0].Fleet, u.Nearest[0].Reason)
	return u
}

func noCapacityNow(left int, can []*supply) Unmet {
	u := Unmet{Code: NoCapacityNow, Count: left}
	for _, s := range can {
		if len(u.Nearest) < nearestShown {
			u.Nearest = append(u.Nearest, NearMiss{Fleet: s.fleet.Address, Reason: s.limit.brief})
		}
	}
	u.Sentence = sentence("%s for a host: %s can't grow now: %s.", jobsWait(left), u.Nearest[0].Fleet, u.Nearest[0].Reason)
	return u
}

func jobsWait(n int) string {
	if n == 1 {
		return "1 job waits"
	}
	return sentence("%d jobs wait", n)
}

// used counts the instances that jobs run on or are meant for, new ones
// included.
func (s *supply) used() int {
	n := len(s.fresh)
	for _, b := range s.there {
		if b.used {
			n++
		}
	}
	return n
}

// supplyOf is a fleet with its capacity: the fullest hosts first, so that the
// emptiest can leave, then booting ones, then draining ones that can come back.
func supplyOf(in Input, f fleet.ManagedFleet, instances []Instance, d Demand) *supply {
	s := &supply{fleet: f}
	s.budget, s.limit = budget(in, f, instances)
	s.hourly = in.markets[f.ID].hourly()
	ordered := slices.Clone(instances)
	slices.SortFunc(ordered, func(a, b Instance) int {
		return cmp.Or(cmp.Compare(takeRank(a), takeRank(b)), cmp.Compare(b.Leases, a.Leases), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	for _, i := range ordered {
		if at := i.Scheduling; at.Told() && at.Scheduler != f.Scheduler {
			continue // it still works for another scheduler, and leaves
		}
		returns := d.Uncordons && canReturn(i)
		if !returns && !lifecycle.Capacity(i.State, i.Silent) {
			continue
		}
		s.there = append(s.there, bin{instance: i.ID, room: roomOf(f.Class).without(i.Leases), used: i.Leases > 0 && !returns, returns: returns})
	}
	return s
}

// canReturn says that a drain can be taken back: it is a scale-down, the agent
// hasn't been told to stop, and nothing else takes the host away meanwhile.
func canReturn(i Instance) bool {
	leaves := i.Left || i.Interruption.Stands()
	return i.State == fleet.Draining && i.Drain == fleet.Cordoned && lifecycle.Cause(i.Cause) == lifecycle.ForScaleDown && !i.Silent && !leaves
}

// takeRank orders hosts by how soon a job could start on them.
func takeRank(i Instance) int {
	switch i.State {
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

// preferred orders fleets by what an hour of one host costs [109]: those that don't
// say come first, as the file meant it. The address decides among equals, so that
// the order never changes by itself.
func preferred(a, b *supply) int {
	x, y := a.hourly, b.hourly
	return cmp.Or(cmp.Compare(x.Currency, y.Currency), cmp.Compare(x.Micros, y.Micros), cmp.Compare(a.fleet.Address, b.fleet.Address))
}
