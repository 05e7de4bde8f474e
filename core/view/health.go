package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Health is a fleet's condition [167]. It is derived, never set by hand.
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
		if u.Scheduler == f.Scheduler && slices.ContainsFunc(u.Nearest, func(m planner.NearMiss) bool { return m.Fleet == f.Address }) {
			near = append(near, u)
		}
	}
	return near
}

// concernsOf are a scheduler's concerns about hosts of the fleet's class.
func concernsOf(d snapshot.Demand, f fleet.ManagedFleet) (own []fleet.DemandConcern) {
	if d.Unobserved != "" {
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
	reasons []string
}

// say is a reason for a condition, which is the fleet's if none came before.
func (d *diagnosis) say(h Health, format string, args ...any) {
	if d.worst == Healthy {
		d.worst = h
	}
	d.note(format, args...)
}

// note is what is no fault of the fleet's, but a person wants to know.
func (d *diagnosis) note(format string, args ...any) {
	d.reasons = append(d.reasons, fmt.Sprintf(format, args...))
}

// health derives the condition from the worst thing that is true, and gives all
// reasons, the worst first.
func health(members []member, s snapshot.Snapshot, f fleet.ManagedFleet, p planner.FleetPlan, v Fleet) (Health, []string) {
	d := &diagnosis{worst: Healthy}
	d.ofRunners(members, p.Counts)
	d.ofProvider(s, f.Provider, v.Unresolved)
	if p.Counts.Failed+p.Counts.Quarantined > 0 {
		d.say(BootstrapDegraded, "%d failed, %d quarantined.", p.Counts.Failed, p.Counts.Quarantined)
	}
	d.ofPlan(s, f, p)
	d.ofScheduler(f, v)
	for _, i := range members {
		if i.State != fleet.Draining && i.State != fleet.Terminating {
			continue
		}
		if most := lifecycle.Deadline(i.State, f.Timeouts); s.Now.Sub(i.Since) > most {
			why := "."
			if i.State == fleet.Terminating && i.terminate != nil && i.terminate.Message != "" {
				why = ": " + i.terminate.Message
			}
			d.say(CapacityConstrained, "%s has been %s for longer than %s%s", i.ID, i.State, most, why)
		}
	}
	return d.worst, append(d.reasons, v.Interruptions...) // what providers take is no fault of the fleet's
}

func (d *diagnosis) ofRunners(members []member, counts planner.Counts) {
	for _, i := range members {
		if i.Conflict != "" {
			d.say(Unhealthy, "%s: %s", i.ID, i.Conflict)
		}
	}
	if counts.Silent > 0 {
		d.say(Unhealthy, "No heartbeat from %d of its runners.", counts.Silent)
	}
	if failed := lastJobsFailed(members); failed > 0 {
		d.note("On %d of %d runners the last job failed; see forgeyard-fleet instance show.", failed, counts.Ready)
	}
}

func (d *diagnosis) ofProvider(s snapshot.Snapshot, address fleet.ProviderAddress, unresolved int) {
	if why, unobserved := s.Unobserved[address]; unobserved {
		d.say(ProviderDegraded, "%s can't be seen: %s.", address, why)
	}
	if u := s.Unrecorded[address]; u.Orphans+u.Foreign > 0 {
		d.note("%s has %s; see forgeyard-fleet instance list --unrecorded.", address, UnrecordedWords(u))
	}
	if unresolved > 0 {
		d.say(ProviderDegraded, "%s", unknownOutcomes(unresolved))
	}
}

// ofPlan is what keeps the fleet from what it should have.
func (d *diagnosis) ofPlan(s snapshot.Snapshot, f fleet.ManagedFleet, p planner.FleetPlan) {
	why, unobserved := s.Unobserved[f.Provider]
	if p.Constrained != nil && !(unobserved && strings.Contains(p.Constrained.Reason, why)) { // else it was said of the provider
		condition := CapacityConstrained
		if o := p.Offers; o != nil && o.Failure != "" && len(o.Considered) == 0 {
			condition = ProviderDegraded // nobody knows whether there is room
		}
		d.say(condition, "%s", planner.HoldSentence(*p.Constrained, s.Now))
	}
	if missing := p.Desired - p.Counts.Capacity; missing > 0 {
		how := "none of them is on its way"
		if p.Joined {
			how = "a person has to join them"
		}
		d.say(CapacityConstrained, "%d of %d wanted are missing, and %s.", missing, p.Desired, how)
	}
	for _, w := range p.Waiting {
		switch {
		case w.Repeats(p.Constrained): // said above
		case w.Code.Calm():
		case w.Code == planner.RolloutStopped:
			d.say(BootstrapDegraded, "%s", w.Sentence)
		default:
			d.say(CapacityConstrained, "%s", w.Sentence)
		}
	}
}

// ofScheduler is what its scheduler says, and what it is asked for in vain.
func (d *diagnosis) ofScheduler(f fleet.ManagedFleet, v Fleet) {
	if v.Unseen != "" {
		d.say(CapacityConstrained, "scheduler.%s can't be seen (%s): the fleet keeps what it has.", f.Scheduler, v.Unseen)
	}
	for _, c := range v.Concerns {
		switch c.Kind {
		case fleet.RunnersLost:
			d.say(Unhealthy, "%s", c.Sentence)
		case fleet.RunnersNeverSeen:
			d.say(BootstrapDegraded, "%s", c.Sentence)
		default:
			d.note("%s", c.Sentence)
		}
	}
	for _, u := range v.Unplaced {
		at := slices.IndexFunc(u.Nearest, func(m planner.NearMiss) bool { return m.Fleet == f.Address })
		switch {
		case u.Code == planner.NoCapacityNow:
			d.say(CapacityConstrained, "%s for a host, and it can't grow now: %s.", jobsWait(u.Count), u.Nearest[at].Reason)
		case at == 0:
			d.note("%s", u.Sentence) // jobs that nothing could ever run are the file's matter, or the jobs'
		}
	}
}

// lastJobsFailed counts the healthy runners whose last job didn't end well.
func lastJobsFailed(members []member) (failed int) {
	for _, i := range members {
		if i.State == fleet.Healthy && i.runner != nil && i.runner.Report.LastExit != "" && i.runner.Report.LastExit != "exit status 0" {
			failed++
		}
	}
	return failed
}

// UnrecordedWords count what a provider has without a live record.
func UnrecordedWords(u fleet.Unrecorded) string {
	var parts []string
	if u.Orphans > 0 {
		parts = append(parts, counted(u.Orphans, "orphan")+" of ours")
	}
	if u.Foreign > 0 {
		parts = append(parts, counted(u.Foreign, "foreign resource")+", left alone")
	}
	return strings.Join(parts, " and ")
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func jobsWait(n int) string {
	if n == 1 {
		return "1 job waits"
	}
	return fmt.Sprintf("%d jobs wait", n)
}

func unknownOutcomes(n int) string {
	if n == 1 {
		return "1 outcome is unknown until an inspection shows it."
	}
	return fmt.Sprintf("%d outcomes are unknown until an inspection shows them.", n)
}
