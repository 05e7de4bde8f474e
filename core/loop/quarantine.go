package loop

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// applyQuarantines takes what people quarantined out of work. A job that runs continues; what
// was never asked of a provider isn't asked; what still boots is met as soon as its
// agent calls, before it can be admitted; and one that was lost as soon as it is
// back.
func (l *Loop) applyQuarantines(w *step) {
	if len(w.stored.Overrides.Quarantines) == 0 {
		return
	}
	for _, r := range w.rows {
		q, quarantined := w.stored.Overrides.InstanceQuarantine(r.CapacityInstance)
		if !quarantined {
			continue
		}
		why := quarantinedBy(q)
		switch r.State {
		case fleet.Requested:
			if w.move(r, fleet.Terminated, lifecycle.Cancelled, why) {
				op := r.edit(r.provision)
				op.State, op.Reason = fleet.OperationNotCreated, reason.Of(reason.NotSent{})
			}
		case fleet.Provisioning:
			if r.provision.State == fleet.OperationPending {
				why.Unsent = true
				w.move(r, fleet.Failed, lifecycle.Withdrawn, why)
			}
		case fleet.Enrolling, fleet.Healthy:
			w.move(r, fleet.Quarantined, lifecycle.ForQuarantine, why)
		case fleet.Draining:
			if r.Drain == fleet.Cordoned { // it could be taken back
				w.move(r, fleet.Quarantined, lifecycle.ForQuarantine, why)
			}
		}
	}
}

func quarantinedBy(q fleet.Quarantine) reason.QuarantinedBy {
	why := reason.QuarantinedBy{By: q.By, Comment: q.Reason}
	switch {
	case q.Fleet != "":
		why.Target = "fleet"
	case q.Image != "":
		why.Target = "image"
	}
	return why
}

// quarantineLifted says that an instance was quarantined by a person who has taken that
// back. It isn't trusted again for that: it leaves once no job is on it, and its
// fleet makes another.
func (w *step) quarantineLifted(r *row) bool {
	if r.Cause != string(lifecycle.ForQuarantine) {
		return false
	}
	_, quarantined := w.stored.Overrides.InstanceQuarantine(r.CapacityInstance)
	return !quarantined
}

// frozen says that no provider may be written to for a row: its fleet is frozen,
// or the provider that has it.
func (w *step) frozen(r *row) bool {
	return r.fleet.Operational == fleet.FleetFrozen || w.stored.Overrides.Frozen(r.Provider)
}
