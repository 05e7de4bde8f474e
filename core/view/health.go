package view

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Health is a fleet's condition (spec §167). It is derived, never set by hand.
type Health string

// The conditions of section 167.
const (
	Healthy             Health = "healthy"
	CapacityConstrained Health = "capacity_constrained"
	ProviderDegraded    Health = "provider_degraded"
	BootstrapDegraded   Health = "bootstrap_degraded"
	Unhealthy           Health = "unhealthy"
)

// unplacedNear is the waiting work that a fleet nearly could run, or could and
// can't grow for.
func unplacedNear(all []planner.UnplacedDemand, f fleet.ManagedFleet) (near []planner.UnplacedDemand) {
	for _, u := range all {
		if u.Scheduler == f.Scheduler &&
			slices.ContainsFunc(u.Nearest, func(m planner.NearMiss) bool { return m.Fleet == f.Address }) {
			near = append(near, u)
		}
	}
	return near
}

// concernsOf are a scheduler's concerns about hosts of the fleet's class.
func concernsOf(d snapshot.Demand, f fleet.ManagedFleet) (own []fleet.DemandConcern) {
	if !d.Unobserved.IsZero() {
		return nil
	}
	for _, c := range d.Snapshot.Concerns {
		if c.Concerns(f.Class.Name) {
			own = append(own, c)
		}
	}
	return own
}

// diagnosis is a fleet's condition in the making: the worst comes first.
type diagnosis struct {
	worst   Health
	reasons []reason.Reason
}

// say is a reason for a condition, which is the fleet's if none came before.
func (d *diagnosis) say(h Health, why reason.Detail) {
	if d.worst == Healthy {
		d.worst = h
	}
	d.note(why)
}

// note is what is not a fault of the fleet's, but a person wants to know.
func (d *diagnosis) note(why reason.Detail) { d.reasons = append(d.reasons, reason.Of(why)) }

// health derives the condition from the worst thing that is true, and gives all
// reasons, the worst first.
func health(
	members []member,
	s snapshot.Snapshot,
	f fleet.ManagedFleet,
	p planner.FleetPlan,
	v Fleet,
) (Health, []reason.Reason) {
	d := &diagnosis{worst: Healthy}
	d.ofRunners(members, p.Counts)
	d.ofProvider(s, f.Provider, v.Unresolved)
	if p.Counts.Failed+p.Counts.Quarantined > 0 {
		d.say(BootstrapDegraded, reason.InstancesFailed{Failed: p.Counts.Failed, Quarantined: p.Counts.Quarantined})
	}
	d.ofPlan(s, f, p)
	d.ofScheduler(f, v)
	for _, i := range members {
		if i.State != fleet.Draining && i.State != fleet.Terminating {
			continue
		}
		if most := lifecycle.Deadline(i.State, f.Timeouts); s.Now.Sub(i.Since) > most {
			why := reason.InstanceOverdue{Instance: string(i.ID), State: string(i.State), Limit: reason.Duration(most)}
			if i.State == fleet.Terminating && i.terminate != nil {
				why.Because = i.terminate.Reason
			}
			d.say(CapacityConstrained, why)
		}
	}
	return d.worst, append(d.reasons, v.Interruptions...) // what providers take is not a fault of the fleet's
}

func (d *diagnosis) ofRunners(members []member, counts planner.Counts) {
	for _, i := range members {
		if !i.Conflict.IsZero() {
			d.say(Unhealthy, reason.InstanceConflict{Instance: string(i.ID), Because: i.Conflict})
		}
	}
	if counts.Silent > 0 {
		d.say(Unhealthy, reason.RunnersSilent{Runners: counts.Silent})
	}
	if failed := lastJobsFailed(members); failed > 0 {
		d.note(reason.LastJobsFailed{Runners: failed, Ready: counts.Ready})
	}
}

func (d *diagnosis) ofProvider(s snapshot.Snapshot, address fleet.ProviderAddress, unresolved int) {
	if why, unobserved := s.Unobserved[address]; unobserved {
		d.say(ProviderDegraded, reason.ProviderUnobservable{Provider: string(address), Because: why})
	}
	if u := s.Unrecorded[address]; u.Orphans+u.Foreign > 0 {
		d.note(reason.ResourcesUnrecorded{Provider: string(address), Orphans: u.Orphans, Foreign: u.Foreign})
	}
	if unresolved > 0 {
		d.say(ProviderDegraded, reason.OutcomesUnknown{Operations: unresolved})
	}
}

// ofPlan is what keeps the fleet from what it should have.
func (d *diagnosis) ofPlan(s snapshot.Snapshot, f fleet.ManagedFleet, p planner.FleetPlan) {
	if hold := p.Constrained; hold != nil && !followsFrom(hold.Reason, s.Unobserved[f.Provider]) {
		condition := CapacityConstrained
		if o := p.Offers; o != nil && o.Failure != "" && len(o.Considered) == 0 {
			condition = ProviderDegraded // no one knows whether there is room
		}
		d.say(condition, reason.NoOffer{Because: hold.Reason, NextTry: reason.At(hold.Until)})
	}
	if missing := p.Desired - p.Counts.Capacity; missing > 0 {
		d.say(CapacityConstrained, reason.InstancesMissing{Missing: missing, Desired: p.Desired, ByHand: p.Joined})
	}
	for _, w := range p.Waiting {
		switch {
		case planner.Repeats(w, p.Constrained): // said above
		case planner.Expected(w):
		case planner.StandsStill(w):
			d.say(BootstrapDegraded, w.Params)
		default:
			d.say(CapacityConstrained, w.Params)
		}
	}
}

// followsFrom says that a fleet's offers aren't known for the reason for which its provider
// can't be inspected, which was said of the provider.
func followsFrom(hold, unobserved reason.Reason) bool {
	return reason.Is[reason.OffersUnknown](hold) && reason.SameCause(hold, unobserved)
}

// ofScheduler is what its scheduler says, and the jobs that it has no capacity for.
func (d *diagnosis) ofScheduler(f fleet.ManagedFleet, v Fleet) {
	if !v.Unseen.IsZero() {
		d.say(CapacityConstrained, reason.DemandUnknown{Because: v.Unseen})
	}
	for _, c := range v.Concerns {
		why := reason.SchedulerConcern{Kind: string(c.Kind), Message: c.Sentence}
		switch c.Kind {
		case fleet.RunnersLost:
			d.say(Unhealthy, why)
		case fleet.RunnersNeverSeen:
			d.say(BootstrapDegraded, why)
		default:
			d.note(why)
		}
	}
	for _, u := range v.Unplaced {
		at := slices.IndexFunc(u.Nearest, func(m planner.NearMiss) bool { return m.Fleet == f.Address })
		switch {
		case reason.Is[reason.NoCapacityNow](u.Reason):
			d.say(CapacityConstrained, reason.DemandUnmet{Jobs: u.Count, Because: u.Nearest[at].Reason})
		case at == 0:
			d.note(u.Reason.Params) // jobs that nothing could ever run are the file's matter, or the jobs'
		}
	}
}

// lastJobsFailed counts the healthy runners whose last job didn't end well.
func lastJobsFailed(members []member) (failed int) {
	for _, i := range members {
		if i.State == fleet.Healthy && i.runner != nil && i.runner.Report.LastExit != "" &&
			i.runner.Report.LastExit != fleet.JobSucceeded {
			failed++
		}
	}
	return failed
}
