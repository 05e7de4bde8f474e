package planner

import (
	"cmp"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// shrink takes the excess away, the cheapest first: what was never sent, then
// what was never admitted, then idle runners, and busy ones last and only where
// the file itself asks for fewer. Nothing here ends a job: a drain waits for it.
func (p *FleetPlan) shrink(in Input, f fleet.ManagedFleet, instances []Instance, excess int) {
	outdated := map[fleet.CapacityInstanceID]bool{}
	for _, d := range p.Drifted {
		outdated[d.Instance] = true
	}
	candidates := slices.DeleteFunc(slices.Clone(instances), func(i Instance) bool {
		return !lifecycle.Capacity(i.State, i.Silent) || !mayChoose(f, i) || insideMinimum(in, f, i)
	})
	slices.SortFunc(candidates, func(a, b Instance) int {
		return cmp.Or(
			cmp.Compare(leaveRank(a), leaveRank(b)),
			compareBool(outdated[b.ID], outdated[a.ID]), // outdated ones leave first
			comparePaid(in, a, b),
			b.Created.Compare(a.Created), // the oldest has the warmest caches
			cmp.Compare(a.ID, b.ID),
		)
	})
	cause, reason := lifecycle.ForScaleDown, sentence("%d wanted, %d there: %s.", p.Desired, p.Counts.Capacity, p.why())
	if f.Operational == fleet.FleetDraining {
		cause, reason = lifecycle.ForOperator, "The fleet is being removed."
	}
	waiting, unseen, blindness := 0, 0, ""
	for _, i := range candidates[:min(excess, len(candidates))] {
		if why, blind := in.Unobserved[i.Provider]; blind && i.State != fleet.Requested {
			unseen, blindness = unseen+1, sentence("%s can't be seen (%s)", i.Provider, why)
			continue
		}
		switch i.State {
		case fleet.Requested:
			p.act(Cancel, i, lifecycle.Cancelled, reason)
		case fleet.Bootstrapping, fleet.Enrolling:
			p.act(Withdraw, i, lifecycle.Withdrawn, reason)
		case fleet.Provisioning:
			waiting++
		default:
			if i.Busy {
				// Without a scheduler the size is the operator's word, and a
				// runner that repeats its command is never idle for long.
				p.act(Drain, i, lifecycle.ForOperator, reason)
				continue
			}
			p.act(Drain, i, cause, reason)
		}
	}
	if unseen > 0 {
		p.wait(CannotSee, sentence("%s above the desired %d, but %s: nothing is taken away.", instancesAre(unseen), p.Desired, blindness))
	}
	if waiting > 0 {
		p.wait(WaitsForProvider, sentence("%s under way and no longer wanted: %s taken back once the provider has answered.",
			requestsAre(waiting), itOrThey(waiting)))
	}
}

// leaveRank orders instances by how little is lost when they leave.
func leaveRank(i Instance) int {
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
func (p *FleetPlan) refresh(in Input, instances []Instance) {
	for _, d := range p.Drifted {
		n := slices.IndexFunc(instances, func(i Instance) bool { return i.ID == d.Instance })
		i := instances[n]
		_, blind := in.Unobserved[i.Provider]
		switch {
		case i.State == fleet.Requested:
			p.act(Cancel, i, lifecycle.Cancelled, d.Reason+".")
		case (i.State == fleet.Bootstrapping || i.State == fleet.Enrolling) && !blind:
			p.act(Withdraw, i, lifecycle.Withdrawn, d.Reason+".")
		}
	}
}

// replace drains one outdated runner at a time, and only while nothing else of
// the fleet is on its way in or out, so that at most one is missing.
func (p *FleetPlan) replace(in Input, f fleet.ManagedFleet, instances []Instance) {
	if len(p.Drifted) == 0 || p.Create > 0 || len(p.Actions) > 0 || p.Counts.Capacity < p.Desired {
		return
	}
	for _, i := range instances {
		if !lifecycle.Settled(i.State) {
			return
		}
	}
	for _, i := range instances {
		if why, blind := in.Unobserved[i.Provider]; blind {
			p.wait(CannotSee, sentence("%s outdated, but %s can't be seen (%s): nothing is replaced.", instancesAre(len(p.Drifted)), i.Provider, why))
			return
		}
	}
	if hold, held := in.Holds[f.ID]; held && (hold.Until.IsZero() || hold.Until.After(in.Now)) {
		p.wait(HeldBack, sentence("%s outdated, but new ones can't start: %s", instancesAre(len(p.Drifted)), hold.Sentence(in.Now)))
		return
	}
	reasons := map[fleet.CapacityInstanceID]string{}
	for _, d := range p.Drifted {
		reasons[d.Instance] = d.Reason
	}
	ready := slices.DeleteFunc(slices.Clone(instances), func(i Instance) bool {
		return reasons[i.ID] == "" || i.State != fleet.Healthy
	})
	if len(ready) == 0 {
		return
	}
	slices.SortFunc(ready, func(a, b Instance) int {
		return cmp.Or(compareBool(a.Busy, b.Busy), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	first := ready[0]
	p.act(Drain, first, lifecycle.ForRollout, sentence("%s; %d of %d left to replace, one at a time.", reasons[first.ID], len(p.Drifted), p.Counts.Ready))
}

func (p *FleetPlan) act(kind ActionKind, i Instance, cause lifecycle.Cause, reason string) {
	p.Actions = append(p.Actions, Action{Kind: kind, Instance: i.ID, Cause: cause, Reason: reason})
}

// drifted lists the live, not yet leaving instances that the definition would
// make otherwise today [67].
func drifted(f fleet.ManagedFleet, instances []Instance, agentVersion string) []Drift {
	class, image, digest := f.Class.ID(), f.Image.ID(agentVersion), f.InstanceDigest()
	var out []Drift
	for _, i := range instances {
		if !lifecycle.Capacity(i.State, false) {
			continue
		}
		switch {
		case i.Class != class:
			out = append(out, Drift{i.ID, "It was made for another capacity class"})
		case i.InstanceDigest != digest:
			out = append(out, Drift{i.ID, "It was made from an older instance block"})
		case i.Image != image && !f.Joined:
			// Nobody would join such a host again just for a newer agent.
			out = append(out, Drift{i.ID, "It runs another image or agent version"})
		case i.Scheduling.Told() && i.Scheduling.Scheduler != f.Scheduler:
			out = append(out, Drift{i.ID, "Its scheduler is another one now"})
		case i.Provider != f.Provider:
			out = append(out, Drift{i.ID, "It was made by another provider block"})
		case i.State == fleet.Healthy && f.Admission.Asks(i.Admission.Policy):
			out = append(out, Drift{i.ID, "It was admitted under a policy that asked for less"})
		}
	}
	return out
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

func requestsAre(n int) string {
	if n == 1 {
		return "1 request is"
	}
	return sentence("%d requests are", n)
}

func itOrThey(n int) string {
	if n == 1 {
		return "it is"
	}
	return "they are"
}
