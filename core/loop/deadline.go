package loop

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// expireDeadlines moves the rows whose time in a state is over, so that no state
// is without an end. Draining and Terminating have deadlines that only raise an
// alarm: a job is never ended for being slow, and what isn't proven gone stays
// on the books.
func (l *Loop) expireDeadlines(w *step) {
	for _, r := range w.rows {
		if w.frozen(r) {
			l.row(r.ID).kept = w.now
		}
		switch r.State {
		case fleet.Provisioning, fleet.Bootstrapping, fleet.Enrolling:
			if !l.expireJoin(w, r) {
				l.expireBoot(w, r)
			}
		case fleet.Healthy:
			l.quarantineSilent(w, r)
		case fleet.Quarantined:
			l.endQuarantine(w, r)
		}
	}
}

// expireBoot fails a row that isn't up in time. Coming up takes a manager that
// listens, so time without one doesn't count, and a request that a freeze keeps from
// going out can't be late.
func (l *Loop) expireBoot(w *step, r *row) {
	deadline := lifecycle.Deadline(r.State, r.fleet.Timeouts)
	since := later(r.Since, l.listeningSince)
	if r.State == fleet.Provisioning && r.provision.State == fleet.OperationPending {
		since = later(since, l.row(r.ID).kept)
	}
	if w.now.Sub(since) < deadline {
		return
	}
	late := reason.StateDeadline{State: string(r.State), Limit: reason.Duration(deadline)}
	if r.State == fleet.Enrolling {
		late.Waiting = checksWith(r.Admission, fleet.Waiting)
	}
	w.move(r, fleet.Failed, lifecycle.DeadlinePassed, late)
}

// quarantineSilent quarantines a runner that has been silent beyond lost_grace.
func (l *Loop) quarantineSilent(w *step, r *row) {
	if s := l.silentFor(w, r); s > max(r.fleet.Timeouts.LostGrace, r.fleet.Timeouts.Heartbeat) {
		w.move(r, fleet.Quarantined, lifecycle.RunnerLost, reason.HeartbeatsMissing{For: seconds(s)})
	}
}

// endQuarantine ends a quarantine whose time is over, once no job can be there.
func (l *Loop) endQuarantine(w *step, r *row) {
	if w.now.Sub(r.Since) < r.fleet.Timeouts.Quarantine && !w.quarantineLifted(r) {
		return
	}
	if r.Admission.State != fleet.AdmissionVerified {
		var why reason.Detail = reason.StateDeadline{State: string(r.State),
			Limit: reason.Duration(r.fleet.Timeouts.Quarantine)}
		if w.quarantineLifted(r) {
			why = reason.QuarantineCleared{}
		}
		w.move(r, fleet.Terminating, lifecycle.DeadlinePassed, why)
		return
	}
	if proof, ok := l.idleProof(w, r); ok {
		w.move(r, fleet.Terminating, lifecycle.IdleProven, proof)
	}
}
