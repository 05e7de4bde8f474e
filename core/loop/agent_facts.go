package loop

import (
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
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
			w.move(r, fleet.Enrolling, lifecycle.AgentContact, fmt.Sprintf("An agent enrolled from %s as runner %s.", r.runner.Address, r.runner.ID))
		}
		switch {
		case !r.runner.Left.IsZero():
			l.acceptLeave(w, r)
		case r.State == fleet.Quarantined && r.Cause == string(lifecycle.RunnerLost) && r.runner.LastBeat.After(r.Since):
			w.move(r, fleet.Healthy, lifecycle.RunnerBack, "The agent beats again.")
			if at := r.Scheduling; at.Cordoned && at.Scheduler.StopsForGood() {
				w.move(r, fleet.Draining, lifecycle.StoppedForGood, "Its scheduler was told to stop it while it was silent, and can't take that back.")
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
	said := "The agent ended by itself: " + r.runner.LeftReason + "."
	leases, free := l.leaseFree(r)
	switch {
	case free && lifecycle.Allowed(r.State, fleet.Terminating, lifecycle.RunnerLeft):
		w.move(r, fleet.Terminating, lifecycle.RunnerLeft, strings.TrimSpace(said+" "+leases))
	case r.State == fleet.Healthy:
		w.move(r, fleet.Draining, lifecycle.RunnerLeft, said+" It goes once its scheduler shows no lease on it.")
	}
}

// checkFitness quarantines an admitted runner whose agent goes on complaining,
// as it does when what a job left can't be cleaned up [145].
func (l *Loop) checkFitness(w *step, r *row) {
	m, complaint := l.row(r.ID), r.runner.Report.Unhealthy
	switch {
	case complaint == "":
		m.unfit = time.Time{}
	case m.unfit.IsZero():
		m.unfit = w.now
	case w.now.Sub(m.unfit) > r.fleet.Timeouts.Heartbeat:
		w.move(r, fleet.Quarantined, lifecycle.RunnerUnfit, "The agent complains: "+complaint)
	}
}
