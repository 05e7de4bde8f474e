package loop

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// applyAgentFacts takes in what agents did and said since the last step. The rows were
// written by agentserver as facts; what follows from them is decided here.
func (l *Loop) applyAgentFacts(w *step) {
	for _, r := range w.rows {
		if r.runner == nil || !r.Live() {
			continue
		}
		if r.Runner != r.runner.ID {
			r.Runner, r.dirty = r.runner.ID, true
		}
		if r.State == fleet.Bootstrapping {
			w.move(
				r,
				fleet.Enrolling,
				lifecycle.AgentContact,
				reason.AgentEnrolled{Address: r.runner.Address, Runner: string(r.runner.ID)},
			)
		}
		switch {
		case !r.runner.Left.IsZero():
			l.acceptLeave(w, r)
		case r.State == fleet.Quarantined && r.Cause == string(lifecycle.RunnerLost) && r.runner.LastBeat.After(r.Since):
			w.move(r, fleet.Healthy, lifecycle.RunnerBack, reason.AgentReturned{})
			if at := r.Scheduling; at.Cordoned && at.Scheduler.StopsForGood() {
				w.move(r, fleet.Draining, lifecycle.StoppedForGood, reason.StoppedWhileSilent{})
			}
		case r.State == fleet.Healthy:
			l.checkFitness(w, r)
		}
	}
}

// acceptLeave takes an agent's word that it ended by itself and has no job. A
// scheduler may know better, since a worker can outlive its agent and an agent can
// be wrong: the runner gets no new lease, and goes once its scheduler shows none.
func (l *Loop) acceptLeave(w *step, r *row) {
	why := reason.AgentLeft{Message: r.runner.LeftReason}
	leases, free := l.leaseFree(r)
	switch {
	case free && lifecycle.Allowed(r.State, fleet.Terminating, lifecycle.RunnerLeft):
		why.Leases = leases
		w.move(r, fleet.Terminating, lifecycle.RunnerLeft, why)
	case r.State == fleet.Healthy:
		why.Awaited = true
		w.move(r, fleet.Draining, lifecycle.RunnerLeft, why)
	}
}

// checkFitness quarantines an admitted runner whose agent keeps complaining,
// as it does when what a job left can't be cleaned up (spec §145).
func (l *Loop) checkFitness(w *step, r *row) {
	m, complaint := l.row(r.ID), r.runner.Report.Unhealthy
	switch {
	case complaint == "":
		m.unfit = time.Time{}
	case m.unfit.IsZero():
		m.unfit = w.now
	case w.now.Sub(m.unfit) > r.fleet.Timeouts.Heartbeat:
		w.move(r, fleet.Quarantined, lifecycle.RunnerUnfit, reason.AgentUnhealthy{Message: complaint})
	}
}
