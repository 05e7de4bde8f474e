package planner

import (
	"cmp"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// latitude is by how many a fleet may differ from its desired number while it is
// replaced: surge more, unavailable fewer. Where there may not be one more, or nothing
// but the file changes the fleet's size, it is one fewer. Those that leave after
// their job count for neither, and are no more than both together.
func (in *planning) latitude(f fleet.ManagedFleet, desired, capacity int) (surge, unavailable int) {
	surge = max(0, min(f.Rollout.Surge, f.Scaling.Max-desired, capacity-desired+in.lastingRoom(f)))
	if f.Protected || f.Joined {
		surge = 0
	}
	unavailable = f.Rollout.Unavailable
	if surge == 0 {
		unavailable = max(1, unavailable)
	}
	return surge, unavailable
}

// lastingRoom is how many more of a fleet there may be by what doesn't pass by itself:
// what they cost, who is entitled to them, and where they are.
func (in *planning) lastingRoom(f fleet.ManagedFleet) int {
	paid, _ := in.budgets[f.ID].room()
	entitled, _ := in.entitled.of(f)
	spread, _ := in.spreads.of(f)
	return min(paid, entitled, spread)
}

// gap is how many instances are missing, how many more the rollout wants beyond
// the desired number, and how many are too many. there is what the plan leaves.
func (p *FleetPlan) gap(in *planning, f fleet.ManagedFleet, r *rollout, there int) (missing, more, excess int) {
	if !r.active() || f.Joined {
		return max(0, p.Desired-there), 0, max(0, there-p.Desired)
	}
	surge, unavailable := in.latitude(f, p.Desired, p.Counts.Capacity)
	room := max(0, p.Desired+surge-there+min(0, unavailable-r.leaving))
	missing = max(0, p.Desired-there) // jobs don't wait for those that leave
	slack := 0
	if p.Desired > 0 {
		slack = min(surge, r.fresh)
		if !r.halted() && f.Operational == fleet.FleetActive {
			more = min(max(0, r.wants()-r.share(missing)), max(0, room-missing))
		}
	}
	return missing, more, max(0, there-p.Desired-slack)
}

// wants is how many of the new make the rollout would start now if there were room.
func (r *rollout) wants() int {
	if r.limited() {
		return max(0, min(r.canary, r.old+r.fresh)-r.fresh)
	}
	return r.old
}

// replace drains outdated runners, idle ones first; busy ones leave after their
// job. No fewer run than the fleet may do without, and none leaves while something
// can't be seen or no new one could come.
func (p *FleetPlan) replace(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance, r *rollout) {
	if len(p.Drifted) == 0 || len(p.Actions) > 0 || r.halted() && r.guarded {
		return
	}
	if f.Joined && !allSettled(instances) {
		return
	}
	if why := in.unseenFor(f, instances); !why.IsZero() {
		p.waitOnce(reason.Unobservable{Outdated: len(p.Drifted), Because: why})
		return
	}
	if hold, held := in.holds[f.ID]; held && hold.InForce(in.Now) {
		p.waitOnce(reason.HeldBack{Outdated: len(p.Drifted), Because: hold.Reason, NextTry: reason.At(hold.Until)})
		return
	}
	reasons := map[fleet.CapacityInstanceID]reason.Reason{}
	for _, d := range p.Drifted {
		reasons[d.Instance] = d.Reason
	}
	ready := slices.DeleteFunc(slices.Clone(instances), func(i snapshot.Instance) bool {
		return reasons[i.ID].IsZero() || i.State != fleet.Healthy
	})
	slices.SortFunc(ready, func(a, b snapshot.Instance) int {
		return cmp.Or(compareBool(a.Busy, b.Busy), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	surge, unavailable := in.latitude(f, p.Desired, p.Counts.Capacity)
	n := min(len(ready), p.spareable(f, ready, unavailable, surge, r))
	for _, i := range ready[:max(0, n)] {
		p.act(
			Drain,
			i,
			lifecycle.ForRollout,
			reason.Of(reason.ReplaceOutdated{Because: reasons[i.ID], Outdated: len(p.Drifted), Ready: p.Counts.Ready,
				Pace: reason.Pace{Surge: surge, Unavailable: unavailable}}),
		)
	}
}

// spareable is how many runners may leave for the rollout now.
func (p *FleetPlan) spareable(f fleet.ManagedFleet, ready []snapshot.Instance, unavailable, surge int, r *rollout) int {
	n := min(p.Counts.Ready-(p.Desired-unavailable), surge+unavailable-r.leaving)
	if f.Joined {
		return min(n, 1)
	}
	if r.limited() {
		if p.Desired+surge-p.Counts.Capacity-p.Create > 0 {
			return 0 // there is room for a canary as it is
		}
		n = min(n, r.wants()-r.leaving-r.share(p.Create))
	}
	return n
}

// unseenFor is what can't be seen of a fleet that a replacement would rest on.
func (in *planning) unseenFor(f fleet.ManagedFleet, instances []snapshot.Instance) reason.Reason {
	for _, i := range instances {
		if why, unobserved := in.Unobserved[i.Provider]; unobserved {
			return unobservable(i.Provider, why)
		}
	}
	if why := in.Demand[f.Scheduler].Unobserved; f.Scheduler != "" && !why.IsZero() {
		return reason.Of(reason.SchedulerUnreachable{Scheduler: string(f.Scheduler), Because: why})
	}
	return reason.Reason{}
}

func allSettled(instances []snapshot.Instance) bool {
	return !slices.ContainsFunc(instances, func(i snapshot.Instance) bool { return !lifecycle.Settled(i.State) })
}

// reportRollout says what the rollout is about to people and to the store.
func (p *FleetPlan) reportRollout(in *planning, f fleet.ManagedFleet, r *rollout) {
	if r.changed {
		p.Remember, p.Turn = &r.record, r.turn
	}
	if p.Rollout = r.report(in, f); p.Rollout != nil && r.halted() && r.guarded {
		p.Waiting = append(p.Waiting, p.Rollout.Reason)
	}
}

// divide gives the first of the requests to the new make, as many as it may have,
// and the others to the base.
func (p *FleetPlan) divide(r *rollout) {
	for n := r.share(len(p.Requests)); n < len(p.Requests); n++ {
		p.Requests[n].Make = r.base
	}
}

// explain says what is special about the instances that start.
func (r *rollout) explain(why *reason.ScaleUp, requests []Request) {
	for _, one := range requests {
		if one.Make != nil {
			why.Base++
		}
	}
	if why.Base > 0 {
		why.BaseMake = imageOf(r.base.Image)
	}
}

// leaveFirst finds the instances that leave before others of their rank: outdated
// ones, but where a rollout is halted the new ones that no one trusts.
func (r *rollout) leaveFirst(in *planning, f fleet.ManagedFleet, drifted []Drift, instances []snapshot.Instance) {
	r.first = map[fleet.CapacityInstanceID]bool{}
	if !r.halted() || !r.limited() {
		for _, d := range drifted {
			r.first[d.Instance] = true
		}
		return
	}
	is := today(f, in.AgentVersion)
	for _, i := range instances {
		r.first[i.ID] = is.outdated(i) == nil
	}
}
