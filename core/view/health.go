package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
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

// unmetNear is the waiting work that a fleet nearly could run, or could and
// can't grow for.
func unmetNear(all []planner.Unmet, f fleet.ManagedFleet) (near []planner.Unmet) {
	for _, u := range all {
		if u.Scheduler == f.Scheduler && slices.ContainsFunc(u.Nearest, func(m planner.NearMiss) bool { return m.Fleet == f.Address }) {
			near = append(near, u)
		}
	}
	return near
}

// concernsOf are a scheduler's concerns about hosts of the fleet's class.
func concernsOf(d planner.Demand, f fleet.ManagedFleet) (own []fleet.DemandConcern) {
	if d.Blind != "" {
		return nil
	}
	for _, c := range d.Snapshot.Concerns {
		if c.Concerns(f.Class.Name) {
			own = append(own, c)
		}
	}
	return own
}

// health derives the condition from the worst thing that is true, and gives all
// reasons, the worst first.
func health(members []member, m Moment, f fleet.ManagedFleet, p planner.FleetPlan, v Fleet) (Health, []string) {
	worst, reasons := Healthy, []string(nil)
	say := func(h Health, format string, args ...any) {
		if worst == Healthy {
			worst = h
		}
		reasons = append(reasons, fmt.Sprintf(format, args...))
	}
	for _, i := range members {
		if i.Conflict != "" {
			say(Unhealthy, "%s: %s", i.ID, i.Conflict)
		}
	}
	if p.Counts.Silent > 0 {
		say(Unhealthy, "No heartbeat from %d of its runners.", p.Counts.Silent)
	}
	if failed := lastJobsFailed(members); failed > 0 {
		// Whether jobs succeed is not the fleet's health, but a person wants to know.
		reasons = append(reasons, fmt.Sprintf("On %d of %d runners the last job failed; see forgeyard-fleet instance show.", failed, p.Counts.Ready))
	}
	if why, blind := m.Unobserved[f.Provider]; blind {
		say(ProviderDegraded, "%s can't be seen: %s.", f.Provider, why)
	}
	if u := m.Unrecorded[f.Provider]; u.Orphans+u.Foreign > 0 {
		// What others have there is not the fleet's health, but a person wants to know.
		reasons = append(reasons, fmt.Sprintf("%s has %s; see forgeyard-fleet instance list --unrecorded.", f.Provider, UnrecordedWords(u)))
	}
	if v.Unresolved > 0 {
		say(ProviderDegraded, "%s", unknownOutcomes(v.Unresolved))
	}
	if p.Counts.Failed+p.Counts.Quarantined > 0 {
		say(BootstrapDegraded, "%d failed, %d quarantined.", p.Counts.Failed, p.Counts.Quarantined)
	}
	if missing := p.Desired - p.Counts.Capacity; missing > 0 {
		how := "none of them is on its way"
		if p.Joined {
			how = "a person has to join them"
		}
		say(CapacityConstrained, "%d of %d wanted are missing, and %s.", missing, p.Desired, how)
	}
	if p.Constrained != nil {
		say(CapacityConstrained, "%s", p.Constrained.Sentence(m.Now))
	}
	for _, w := range p.Waiting {
		if w.Code == planner.NoOffer && p.Constrained != nil {
			continue // said above
		}
		switch {
		case w.Code.Calm():
		case w.Code == planner.RolloutStopped:
			say(BootstrapDegraded, "%s", w.Sentence)
		default:
			say(CapacityConstrained, "%s", w.Sentence)
		}
	}
	if v.Unseen != "" {
		say(CapacityConstrained, "scheduler.%s can't be seen (%s): the fleet keeps what it has.", f.Scheduler, v.Unseen)
	}
	for _, c := range v.Concerns {
		switch c.Kind {
		case fleet.RunnersLost:
			say(Unhealthy, "%s", c.Sentence)
		case fleet.RunnersNeverSeen:
			say(BootstrapDegraded, "%s", c.Sentence)
		default: // no fault of the fleet's, but a person wants to know
			reasons = append(reasons, c.Sentence)
		}
	}
	for _, u := range v.Unmet {
		at := slices.IndexFunc(u.Nearest, func(m planner.NearMiss) bool { return m.Fleet == f.Address })
		switch {
		case u.Code == planner.NoCapacityNow:
			say(CapacityConstrained, "%s for a host, and it can't grow now: %s.", jobsWait(u.Count), u.Nearest[at].Reason)
		case at == 0:
			// Jobs that nothing could ever run are the file's matter, or the jobs'.
			reasons = append(reasons, u.Sentence)
		}
	}
	for _, i := range members {
		if i.State != fleet.Draining && i.State != fleet.Terminating {
			continue
		}
		if d := lifecycle.Deadline(i.State, f.Timeouts); m.Now.Sub(i.Since) > d {
			why := "."
			if i.State == fleet.Terminating && i.terminate != nil && i.terminate.Message != "" {
				why = ": " + i.terminate.Message
			}
			say(CapacityConstrained, "%s has been %s for longer than %s%s", i.ID, i.State, d, why)
		}
	}
	// What providers take is no fault of the fleet's, but a person wants to know.
	return worst, append(reasons, v.Interruptions...)
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
