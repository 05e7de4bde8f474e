package reconcile

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// passDeadlines moves the rows whose time in a state is over, so that no state
// is without an end. Draining and Terminating have deadlines that only raise an
// alarm: a job is never ended for being slow, and what isn't proven gone stays
// on the books.
func (l *Loop) passDeadlines(w *work) {
	for _, r := range w.rows {
		if r.State == fleet.Healthy {
			l.passSilence(w, r)
			continue
		}
		deadline := lifecycle.Deadline(r.State, r.fleet.Timeouts)
		if deadline == 0 || w.now.Sub(r.Since) < deadline {
			continue
		}
		late := fmt.Sprintf("%s took longer than %s.", r.State, deadline)
		switch r.State {
		case fleet.Provisioning, fleet.Bootstrapping, fleet.Enrolling:
			if r.State == fleet.Enrolling {
				late += " " + pendingChecks(r.Admission)
			}
			w.move(r, fleet.Failed, lifecycle.DeadlinePassed, late)
			l.fail(r.fleet, w.now, &Failure{Class: fleet.ErrorTransient, Message: late})
		case fleet.Quarantined:
			if !busy(r) || l.silent(w, r) {
				w.move(r, fleet.Terminating, lifecycle.DeadlinePassed, late)
			}
		}
	}
}

// passSilence quarantines a runner that has been silent beyond lost_grace.
func (l *Loop) passSilence(w *work, r *row) {
	if r.runner == nil {
		return
	}
	if s := lifecycle.SilentFor(*r.runner, l.settings.Started, w.now); s > max(r.fleet.Timeouts.LostGrace, r.fleet.Timeouts.Heartbeat) {
		w.move(r, fleet.Quarantined, lifecycle.RunnerLost, fmt.Sprintf("No heartbeat for %s.", s.Truncate(time.Second)))
	}
}
