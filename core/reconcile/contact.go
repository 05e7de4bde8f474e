package reconcile

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// contact takes in what agents did and said since the last step. The rows were
// written by enroll as facts; what follows from them is decided here.
func (l *Loop) contact(w *work) {
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
		case !r.runner.Left.IsZero() && lifecycle.Allowed(r.State, fleet.Terminating, lifecycle.RunnerLeft):
			w.move(r, fleet.Terminating, lifecycle.RunnerLeft, "The agent ended by itself: "+r.runner.LeftReason+".")
		case r.State == fleet.Quarantined && r.Cause == string(lifecycle.RunnerLost) && !l.silent(w, r):
			w.move(r, fleet.Healthy, lifecycle.RunnerBack, "The agent beats again.")
		}
	}
}

// silent says whether a row's runner missed its heartbeats. Nothing is said
// about the time before this process began.
func (l *Loop) silent(w *work, r *row) bool {
	return r.runner != nil && lifecycle.Silent(*r.runner, r.fleet.Timeouts.Heartbeat, l.settings.Started, w.now)
}

// busy says whether the agent's last word was that a job runs.
func busy(r *row) bool { return r.runner != nil && r.runner.Report.Phase == fleet.PhaseRunning }
