package planner

import (
	"cmp"
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Plan gives the demand of each scheduler to its fleets, and then decides for
// every fleet by itself.
func Plan(in Input) Output {
	in = governed(in)
	byFleet := membersOf(in)
	// In a fixed order, since the first that needs a probe gets it.
	in.Fleets = slices.SortedFunc(slices.Values(in.Fleets), func(a, b fleet.ManagedFleet) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.ID, b.ID))
	})
	in.constrain(byFleet)
	in.rollouts = rolloutsOf(in, byFleet)
	in.warm = warmths(in)
	in.waits = waitsOf(in.Demand)
	in.entitled = entitledRoomOf(in, byFleet)
	in.spreads = providerSpreadsOf(in, byFleet)
	in.openPurses(byFleet)
	supplies, unmet := distribute(in, byFleet)
	out := Output{Fleets: make([]FleetPlan, len(in.Fleets)), Unmet: unmet, Reservations: in.allotted.plans}
	for n, f := range in.Fleets {
		out.Fleets[n] = beginFleet(in, f, byFleet[f.ID], supplies[f.ID])
	}
	in.spreads.settle(in, byFleet, supplies, out.Fleets)
	for n, f := range in.Fleets {
		if p := &out.Fleets[n]; f.Operational != fleet.FleetFrozen && len(p.Actions) == 0 {
			p.size(in, f, byFleet[f.ID], supplies[f.ID])
		} // else the numbers are judged once the actions are on their way
	}
	return out
}

// membersOf are the live instances of each fleet, by id: parts of one list, since
// there may be ten thousand.
func membersOf(in Input) map[fleet.RunnerFleetID][]Instance {
	live := make([]*Instance, 0, len(in.Instances))
	for n := range in.Instances {
		if in.Instances[n].Live() {
			live = append(live, &in.Instances[n])
		}
	}
	slices.SortFunc(live, func(a, b *Instance) int {
		return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(a.ID, b.ID))
	})
	all := make([]Instance, len(live))
	for n, i := range live {
		all[n] = *i
	}
	byFleet := make(map[fleet.RunnerFleetID][]Instance, len(in.Fleets))
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(i Instance) bool { return i.Fleet != all[0].Fleet })
		if n < 0 {
			n = len(all)
		}
		byFleet[all[0].Fleet] = all[:n:n]
		all = all[n:]
	}
	return byFleet
}

// distribute gives the demand of every scheduler that can be seen to its fleets.
// A fleet whose scheduler can't be seen has no supply.
func distribute(in Input, byFleet map[fleet.RunnerFleetID][]Instance) (map[fleet.RunnerFleetID]*supply, []Unmet) {
	byScheduler := map[fleet.SchedulerAddress][]*supply{}
	for _, f := range in.Fleets {
		if d, asked := in.Demand[f.Scheduler]; f.Scheduler != "" && asked && d.Blind == "" {
			_, there := unjoined(f, byFleet[f.ID])
			byScheduler[f.Scheduler] = append(byScheduler[f.Scheduler], supplyOf(in, f, there, d))
		}
	}
	supplies := map[fleet.RunnerFleetID]*supply{}
	var unmet []Unmet
	for _, address := range slices.Sorted(maps.Keys(in.Demand)) {
		if in.Demand[address].Blind != "" {
			continue
		}
		slices.SortFunc(byScheduler[address], preferred)
		a := assign(address, in.Demand[address], eligibility{policy: &in.Policy, supplies: byScheduler[address]}, in.ImprovementSteps)
		unmet = append(unmet, a.unmet...)
		maps.Copy(supplies, a.supplies)
	}
	return supplies, unmet
}

// beginFleet is what a fleet should have, and what is to happen whatever its number.
func beginFleet(in Input, f fleet.ManagedFleet, instances []Instance, s *supply) FleetPlan {
	p := FleetPlan{Fleet: f.ID, Address: f.Address, Joined: f.Joined, Follows: f.Scheduler != "" && f.Operational == fleet.FleetActive}
	waiting, instances := unjoined(f, instances)
	p.Counts = count(instances)
	p.Desired, p.Bounds = desired(in, f, p.Counts, s)
	if f.Joined {
		p.Desired, p.Bounds = joinedDesired(in, f, p.Counts.Capacity)
		p.joining(in, f, waiting, instances)
	}
	p.Unseen = in.unseen(f)
	p.guardCost(in, f, s)
	p.Drifted = drifted(f, instances, in.AgentVersion)
	p.Drifted = append(p.Drifted, misplaced(in, f, instances, p.Drifted)...)
	p.Drifted = append(p.Drifted, disallowed(in, f, instances, p.Drifted)...)
	r := in.rollouts[f.ID]
	p.tell(in, f, r)
	p.Next = nextChange(in, f, instances)
	p.scheduled(in, f)
	p.foreseen(in, f, s)
	p.Offers = in.markets[f.ID].report(in.Now)
	if hold, held := in.Holds[f.ID]; held && hold.Constrained {
		p.Constrained = &hold
	}

	p.Standing = stands(in, f, instances)
	if f.Operational == fleet.FleetFrozen {
		p.Halted = true
		p.wait(IsFrozen, frozenWords(in, f, "The fleet", "Its provider")+" is frozen: nothing starts, drains or ends.")
		return p
	}
	_, barred := in.Standing.Bars(f)
	p.Halted = barred || f.Operational == fleet.FleetScaleUpOnly && p.Counts.Capacity >= p.Desired
	p.spare(f, instances)
	r.leaveFirst(in, f, p.Drifted, instances)
	p.withdrawClaims(in, f, waiting)
	p.release(in, f, instances)
	if f.Operational != fleet.FleetScaleUpOnly {
		p.refresh(in, instances, r)
	}
	return p
}

// size is what happens for the fleet's number, and for its definition.
func (p *FleetPlan) size(in Input, f fleet.ManagedFleet, instances []Instance, s *supply) {
	_, instances = unjoined(f, instances)
	r := in.rollouts[f.ID]
	there := p.Counts.Capacity - p.retire(in, f, instances)
	there += p.reactivate(f, s, p.Desired-there)
	switch missing, more, excess := p.gap(in, f, r, there); {
	case missing > 0 && f.Joined: // a person makes it up
	case missing+more > 0:
		p.grow(in, f, instances, missing, more)
	case excess > 0 && f.Operational != fleet.FleetScaleUpOnly:
		p.keepPinned(f, instances, excess)
		p.keepPaid(in, f, instances, excess)
		if f.Scheduler != "" && f.Operational == fleet.FleetActive {
			p.shrinkIdle(in, f, instances, s, excess)
		} else {
			p.shrink(in, f, instances, excess)
		}
	}
	if f.Operational == fleet.FleetActive {
		p.replace(in, f, instances, r)
	}
}

// grow starts missing instances as far as the fleet's budget allows, and more for
// its rollout.
func (p *FleetPlan) grow(in Input, f fleet.ManagedFleet, instances []Instance, missing, more int) {
	allowed, limit := budget(in, f, instances)
	create := min(missing+more, allowed)
	switch {
	case create < missing:
		p.waitOnce(limit.code, sentence(limit.format, instancesAre(missing-create)))
	case create < missing+more:
		p.wait(RolloutWaits, sentence("The rollout would start %s now, but %s.", plural(missing+more-create, "instance"), limit.brief))
	}
	if create == 0 {
		return
	}
	p.Requests = in.requests(f, create)
	bound := p.payFor(in, f, create)
	p.divide(in.rollouts[f.ID])
	if p.Create = len(p.Requests); p.Create == 0 && bound {
		return
	}
	if p.Create == 0 {
		p.waitOnce(NoOffer, sentence("%s missing, and a request of another fleet tries first whether there is room again.", instancesAre(create)))
		return
	}
	in.entitled.note(f, p.Create)
	in.spreads.note(f, p.Create)
	p.CreateReason = sentence("%d wanted, %d there or on the way: %s.%s", p.Desired, p.Counts.Capacity, p.why(), in.rollouts[f.ID].creates(p.Requests, p.Create-missing))
}

func (p *FleetPlan) wait(code WaitCode, text string) {
	p.Waiting = append(p.Waiting, Wait{Code: code, Sentence: text})
}

// why is the bound that made the desired number.
func (p *FleetPlan) why() string {
	why := "nothing asks for capacity"
	last := -1
	for _, b := range p.Bounds {
		if b.After != last {
			why, last = b.Name, b.After
		}
	}
	return why
}
