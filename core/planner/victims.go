package planner

import (
	"cmp"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// shrink takes the excess away, the cheapest first: what was never sent, then
// what was never admitted, then idle runners, and busy ones last and only where
// the file itself asks for fewer. Nothing here ends a job: a drain waits for it.
func (p *FleetPlan) shrink(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance, excess int) {
	candidates := leastLostFirst(in, f.ID, instances, func(i *snapshot.Instance) bool {
		return lifecycle.Capacity(i.State, i.Silent) && mayChoose(f, *i) && !insideMinimum(in, f, *i)
	})
	cause, why := lifecycle.ForScaleDown, p.scaleDown(0)
	if f.Operational == fleet.FleetDraining {
		cause, why = lifecycle.ForOperator, reason.Of(reason.FleetRemoved{})
	}
	waiting, unseen, because := 0, 0, reason.Reason{}
	for _, i := range candidates[:min(excess, len(candidates))] {
		if why, unobserved := in.Unobserved[i.Provider]; unobserved && i.State != fleet.Requested {
			unseen, because = unseen+1, unobservable(i.Provider, why)
			continue
		}
		switch i.State {
		case fleet.Requested:
			p.act(Cancel, *i, lifecycle.Cancelled, why)
		case fleet.Bootstrapping, fleet.Enrolling:
			p.act(Withdraw, *i, lifecycle.Withdrawn, why)
		case fleet.Provisioning:
			waiting++
		default:
			if i.Busy {
				// Without a scheduler the size is the operator's word, and a
				// runner that repeats its command is never idle for long.
				p.act(Drain, *i, lifecycle.ForOperator, why)
				continue
			}
			p.act(Drain, *i, cause, why)
		}
	}
	if unseen > 0 {
		p.wait(reason.Unobservable{Excess: unseen, Desired: p.Desired, Because: because})
	}
	if waiting > 0 {
		p.wait(reason.RequestPending{Requests: waiting})
	}
}

// leastLostFirst are those of a fleet's instances that may leave, the cheapest to lose
// first.
func leastLostFirst(
	in *planning,
	f fleet.RunnerFleetID,
	instances []snapshot.Instance,
	may func(*snapshot.Instance) bool,
) []*snapshot.Instance {
	var out []*snapshot.Instance
	for n := range instances {
		if may(&instances[n]) {
			out = append(out, &instances[n])
		}
	}
	first := in.rollouts[f].first
	slices.SortFunc(out, func(a, b *snapshot.Instance) int {
		return cmp.Or(
			cmp.Compare(leaveRank(a), leaveRank(b)),
			compareBool(first[b.ID], first[a.ID]),
			comparePaid(in, a, b),
			b.Created.Compare(a.Created), // the oldest has the warmest caches
			cmp.Compare(a.ID, b.ID),
		)
	})
	return out
}

// leaveRank orders instances by how little is lost when they leave.
func leaveRank(i *snapshot.Instance) int {
	switch i.State {
	case fleet.Requested:
		return 0
	case fleet.Provisioning:
		return 1
	case fleet.Bootstrapping:
		return 2
	case fleet.Enrolling:
		return 3
	}
	if i.Busy {
		return 5
	}
	return 4
}

// refresh takes back what is outdated before it was admitted: nothing is lost
// with it, and to go on would mean to boot it only to replace it.
func (p *FleetPlan) refresh(in *planning, instances []snapshot.Instance, r *rollout) {
	if r.limited() {
		return // what would come in its place is no better, or may not be made yet
	}
	for _, d := range p.Drifted {
		n := slices.IndexFunc(instances, func(i snapshot.Instance) bool { return i.ID == d.Instance })
		i := instances[n]
		_, unobserved := in.Unobserved[i.Provider]
		switch {
		case i.State == fleet.Requested:
			p.act(Cancel, i, lifecycle.Cancelled, d.Reason)
		case (i.State == fleet.Bootstrapping || i.State == fleet.Enrolling) && !unobserved:
			p.act(Withdraw, i, lifecycle.Withdrawn, d.Reason)
		}
	}
}

func (p *FleetPlan) act(kind ActionKind, i snapshot.Instance, cause lifecycle.Cause, why reason.Reason) {
	p.Actions = append(p.Actions, Action{Kind: kind, Instance: i.ID, Cause: cause, Reason: why})
}

// drifted lists the live, not yet leaving instances that the definition would
// make otherwise today (spec §67).
func drifted(f fleet.ManagedFleet, instances []snapshot.Instance, agentVersion string) []Drift {
	is := today(f, agentVersion)
	var out []Drift
	for _, i := range instances {
		if !lifecycle.Capacity(i.State, false) {
			continue
		}
		if why := is.outdated(i); why != nil {
			out = append(out, Drift{i.ID, reason.Of(why)})
		}
	}
	return out
}

// definition is what a fleet's instances are held against.
type definition struct {
	fleet  fleet.ManagedFleet
	class  fleet.CapacityClassID
	image  fleet.RunnerImageID
	digest string
}

// today is what the fleet's instances would be made from now.
func today(f fleet.ManagedFleet, agentVersion string) definition {
	return definition{f, f.Class.ID(), f.Image.ID(agentVersion), f.InstanceDigest()}
}

// outdated says in what an instance is otherwise; nil: in nothing.
func (d definition) outdated(i snapshot.Instance) reason.Detail {
	f := d.fleet
	switch {
	case i.Class != d.class:
		return reason.OtherClass{}
	case i.InstanceDigest != d.digest:
		return reason.OtherInstanceBlock{}
	case i.Image != d.image && !f.Joined:
		// No one would join such a host again just for a newer agent.
		return reason.OtherImage{}
	case i.Scheduling.Told() && i.Scheduling.Scheduler != f.Scheduler:
		return reason.OtherScheduler{}
	case i.Provider != f.Provider:
		return reason.OtherProvider{}
	case i.State == fleet.Healthy && f.Admission.Asks(i.Admission.Policy):
		return reason.WeakerAdmission{}
	}
	return nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
