package planner

import (
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Plan gives the demand of each scheduler to its fleets, and then decides for
// every fleet by itself. It doesn't write to the snapshot.
func Plan(s snapshot.Snapshot) Output {
	return newPlanning(s, s.ObservedInstances(), DefaultImprovementSteps).plan()
}

func (in *planning) plan() Output {
	supplies, unplaced := distribute(in)
	out := Output{Fleets: make([]FleetPlan, len(in.fleets)), Unplaced: unplaced, Reservations: in.allotted.plans}
	for n, f := range in.fleets {
		out.Fleets[n] = beginFleet(in, f, in.byFleet[f.ID], supplies[f.ID])
	}
	in.spreads.settle(in, supplies, out.Fleets)
	for n, f := range in.fleets {
		if p := &out.Fleets[n]; f.Operational != fleet.FleetFrozen && len(p.Actions) == 0 {
			p.size(in, f, in.byFleet[f.ID], supplies[f.ID])
		} // else the numbers are checked once the actions are on their way
	}
	return out
}

// distribute gives the demand of every scheduler that can be seen to its fleets.
// A fleet whose scheduler can't be seen has no supply.
func distribute(in *planning) (map[fleet.RunnerFleetID]*supply, []UnplacedDemand) {
	byScheduler := map[fleet.SchedulerAddress][]*supply{}
	for _, f := range in.fleets {
		if d, asked := in.Demand[f.Scheduler]; f.Scheduler != "" && asked && d.Unobserved.IsZero() {
			_, there := unjoined(f, in.byFleet[f.ID])
			byScheduler[f.Scheduler] = append(byScheduler[f.Scheduler], supplyOf(in, f, there, d))
		}
	}
	supplies := map[fleet.RunnerFleetID]*supply{}
	var unplaced []UnplacedDemand
	for _, address := range slices.Sorted(maps.Keys(in.Demand)) {
		if !in.Demand[address].Unobserved.IsZero() {
			continue
		}
		slices.SortFunc(byScheduler[address], preferred)
		a := assign(
			address,
			in.Demand[address],
			eligibility{policy: &in.Policy, supplies: byScheduler[address]},
			in.improvementSteps,
		)
		unplaced = append(unplaced, a.unplaced...)
		maps.Copy(supplies, a.supplies)
	}
	return supplies, unplaced
}

// beginFleet is what a fleet should have, and what is to happen whatever its number.
func beginFleet(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance, s *supply) FleetPlan {
	p := FleetPlan{
		Fleet:   f.ID,
		Address: f.Address,
		Joined:  f.Joined,
		Follows: f.Scheduler != "" && f.Operational == fleet.FleetActive,
	}
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
	p.reportRollout(in, f, r)
	p.Next = nextChange(in, f, instances)
	p.scheduled(in, f)
	p.noteForecast(in, f, s)
	p.Offers = in.markets[f.ID].report(in.Now)
	if hold, held := in.holds[f.ID]; held && hold.Constrained {
		p.Constrained = &hold
	}

	p.Overrides = inForce(in, f, instances)
	if f.Operational == fleet.FleetFrozen {
		p.Halted = true
		p.wait(frozen(in, f, 0))
		return p
	}
	_, barred := in.Overrides.FleetQuarantine(f)
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
func (p *FleetPlan) size(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance, s *supply) {
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
func (p *FleetPlan) grow(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance, missing, more int) {
	allowed, limit := budget(in, f, instances)
	create := min(missing+more, allowed)
	switch {
	case create < missing:
		p.waitOnce(limit(missing - create))
	case create < missing+more:
		p.wait(reason.RolloutWaits{Instances: missing + more - create, Because: reason.Of(limit(0))})
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
		p.waitOnce(reason.OneRequestFirst{Missing: create})
		return
	}
	in.entitled.note(f, p.Create)
	in.spreads.note(f, p.Create)
	why := reason.ScaleUp{From: p.Counts.Capacity, To: p.Desired, Surge: max(0, p.Create-missing)}
	why.Because, why.Limit = p.because()
	in.rollouts[f.ID].explain(&why, p.Requests)
	p.CreateReason = reason.Of(why)
}

func (p *FleetPlan) wait(d reason.Detail) { p.Waiting = append(p.Waiting, reason.Of(d)) }

// because is what asks for the desired number, and what keeps it from being more.
func (p *FleetPlan) because() (why, limit reason.Reason) {
	last := -1
	for _, b := range p.Bounds {
		switch {
		case b.After > last:
			why, limit = b.Reason, reason.Reason{}
		case b.After < last:
			limit = b.Reason
		}
		last = b.After
	}
	return why, limit
}

// scaleDown is why an instance leaves that isn't needed, and was idle for that long; 0:
// that doesn't count.
func (p *FleetPlan) scaleDown(idle time.Duration) reason.Reason {
	why := reason.ScaleDown{From: p.Counts.Capacity, To: p.Desired, Idle: reason.Duration(idle)}
	why.Because, why.Limit = p.because()
	return reason.Of(why)
}

func (p *FleetPlan) neededAgain() reason.Reason {
	why, _ := p.because()
	return reason.Of(reason.NeededAgain{Desired: p.Desired, Because: why})
}
