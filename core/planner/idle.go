package planner

import (
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// reactivate takes drains back where instances are missing, and returns how many:
// a host that is there is better than one that has to be made.
func (p *FleetPlan) reactivate(f fleet.ManagedFleet, s *supply, missing int) (taken int) {
	if s == nil || f.Operational != fleet.FleetActive && f.Operational != fleet.FleetScaleUpOnly {
		return 0
	}
	for _, b := range s.there {
		if b.returns && taken < missing {
			taken++
			p.Actions = append(p.Actions, Action{Kind: Reactivate, Instance: b.instance, Cause: lifecycle.DemandBack,
				Reason: p.neededAgain()})
		}
	}
	return taken
}

// shrinkIdle drains what no one has needed for idle_grace, never more than the
// excess and never a runner with a lease (spec §130). A host that still comes up is let
// come up: it is nearly there, and the work that it was made for may be back by
// then.
func (p *FleetPlan) shrinkIdle(
	in *planning,
	f fleet.ManagedFleet,
	instances []snapshot.Instance,
	s *supply,
	excess int,
) {
	policy := f.Scaling.ScaleDown
	if f.Protected {
		p.wait(reason.FleetProtected{Excess: excess, Desired: p.Desired})
		return
	}
	if s == nil {
		return // what is there stays, and the bounds say why
	}
	for _, c := range in.Demand[f.Scheduler].Snapshot.Concerns {
		if c.Kind == fleet.RunnersLost && c.Concerns(f.Class.Name) {
			p.wait(reason.RunnersLost{Excess: excess, Desired: p.Desired, Message: c.Sentence})
			return
		}
	}
	idle, unneeded := p.scaleDown(policy.IdleGrace), p.scaleDown(0)
	leaving, young := 0, 0
	var paid paidFor
	for _, i := range p.leavers(in, instances, s) {
		if leaving == excess {
			break
		}
		why, unobserved := in.Unobserved[i.Provider]
		switch {
		case i.State == fleet.Requested:
			leaving++
			p.act(Cancel, *i, lifecycle.Cancelled, unneeded)
		case i.State != fleet.Healthy:
		case unobserved:
			p.waitOnce(reason.Unobservable{Excess: excess, Desired: p.Desired, Because: unobservable(i.Provider, why)})
		case insideMinimum(in, f, *i):
			paid.add(*i)
		case i.IdleSince.IsZero() || in.Now.Sub(i.IdleSince) < policy.IdleGrace:
			young++
		case in.Now.Sub(in.Scaled[f.ID]) < policy.Cooldown:
			p.waitOnce(reason.Cooldown{Excess: excess, Desired: p.Desired, Cooldown: reason.Duration(policy.Cooldown)})
		case policy.MaxStep > 0 && leaving >= policy.MaxStep:
		default:
			leaving++
			p.act(Drain, *i, lifecycle.ForScaleDown, idle)
		}
	}
	paid.addWait(p, excess-leaving)
	if left := min(young, excess-leaving-paid.hosts); left > 0 {
		p.wait(reason.IdleGrace{Excess: left, Desired: p.Desired, Grace: reason.Duration(policy.IdleGrace)})
	}
}

// leavers are the instances that no job runs on or is meant for, the cheapest to
// lose first.
func (p *FleetPlan) leavers(in *planning, instances []snapshot.Instance, s *supply) []*snapshot.Instance {
	needed := make(map[fleet.CapacityInstanceID]bool, len(s.there))
	for _, b := range s.there {
		needed[b.instance] = b.used || b.useless
	}
	return leastLostFirst(in, p.Fleet, instances, func(i *snapshot.Instance) bool {
		leaves := slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Instance == i.ID })
		return lifecycle.Capacity(i.State, i.Silent) && !i.Pinned && !needed[i.ID] && !i.Busy && i.Leases == 0 && !leaves
	})
}

// waitOnce adds a wait where there is none of its kind. All cost guardrails are one.
func (p *FleetPlan) waitOnce(d reason.Detail) {
	alike := func(w reason.Reason) bool {
		return w.Code() == reason.Of(d).Code() || isGuardrail(w.Params) && isGuardrail(d)
	}
	if !slices.ContainsFunc(p.Waiting, alike) {
		p.wait(d)
	}
}

func isGuardrail(d reason.Detail) bool {
	switch d.(type) {
	case reason.MaxHourlyReached, reason.MaxDailyReached, reason.CostUnknown:
		return true
	}
	return false
}

// unobservable says that a provider can't be inspected, and why.
func unobservable(p fleet.ProviderAddress, why reason.Reason) reason.Reason {
	return reason.Of(reason.ProviderUnobservable{Provider: string(p), Because: why})
}

// nextChange is when the fleet's numbers change by time alone: a grace or a
// window is over. Zero: by time alone nothing changes.
func nextChange(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance) time.Time {
	var next time.Time
	earlier := func(t time.Time) {
		if t.After(in.Now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, i := range instances {
		if !i.IdleSince.IsZero() {
			earlier(i.IdleSince.Add(f.Scaling.ScaleDown.IdleGrace))
		}
		if f.Scaling.ScaleUp.MaxStep > 0 {
			earlier(i.Created.Add(f.Scaling.ScaleUp.Window))
		}
	}
	for _, i := range instances {
		if f.Runner.MaxAge > 0 && f.Scheduler != "" {
			earlier(i.Created.Add(f.Runner.MaxAge))
		}
	}
	for _, at := range slices.Concat(decidedTimes(in, f, instances), costTimes(in, f), paidTimes(instances),
		in.waits[f.Scheduler].times(instances)) {
		earlier(at)
	}
	earlier(in.warm[f.ID].until)
	earlier(in.Forecasts[f.ID].Changes)
	for _, at := range in.rollouts[f.ID].times(f, instances) {
		earlier(at)
	}
	if at := in.Scaled[f.ID]; !at.IsZero() {
		earlier(at.Add(f.Scaling.ScaleDown.Cooldown))
	}
	return next
}

// retire drains the oldest runner that is past max_age where a scheduler's worker
// runs, which has no end of its own. One at a time, so that a fleet that was made
// at once doesn't leave at once. It returns how many leave.
func (p *FleetPlan) retire(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance) int {
	if f.Scheduler == "" || f.Runner.MaxAge == 0 || f.Operational != fleet.FleetActive ||
		!in.Demand[f.Scheduler].Unobserved.IsZero() {
		return 0
	}
	var oldest *snapshot.Instance
	for n, i := range instances {
		if i.State == fleet.Draining && lifecycle.Cause(i.Cause) == lifecycle.ForAge {
			return 0
		}
		_, unobserved := in.Unobserved[i.Provider]
		if i.State != fleet.Healthy || i.Silent || unobserved || i.Pinned || in.Now.Sub(i.Created) < f.Runner.MaxAge {
			continue
		}
		if oldest == nil || i.Created.Before(oldest.Created) {
			oldest = &instances[n]
		}
	}
	if oldest == nil {
		return 0
	}
	p.act(Drain, *oldest, lifecycle.ForAge, reason.Of(reason.MaxAge{MaxAge: reason.Duration(f.Runner.MaxAge)}))
	return 1
}
