package loop

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/retry"
)

// resolveMissing decides what it means that a complete inspection doesn't show a row's
// resource, while no call for it runs inside the plugin. It means nothing until
// the provider's settle time has passed since the call was over, and since the
// resource was last seen.
func (l *Loop) resolveMissing(w *step, p *inventory.Provider, r *row, f finding) (conflict reason.Reason) {
	op, m := r.provision, l.row(r.ID)
	if !l.callSettled(p, r, f) || !p.Settled(f.began, m.seen, l.listeningSince) {
		return r.Conflict
	}
	switch op.State {
	case fleet.OperationUnknown:
		return l.resolveAbsent(w, p, r, f)
	case fleet.OperationPending, fleet.OperationNotCreated:
		if r.State == fleet.Terminating {
			r.edit(op).State = fleet.OperationNotCreated
			l.gone(w, p, r, f, reason.NothingCreated{})
		} else if w.batchBroken(r) {
			w.endWithBatch(r)
		}
	case fleet.OperationSucceeded:
		return l.resolveUnlisted(w, p, r, m, f)
	}
	return reason.Reason{} // an accepted order is on its way
}

// callSettled says whether an inspection shows everything that a row's last
// provision call can have made. It is asked where no call for the row is in flight
// inside the plugin.
func (l *Loop) callSettled(p *inventory.Provider, r *row, f finding) bool {
	op := r.provision
	if op.State == fleet.OperationUnknown && op.CallOver.IsZero() {
		// This process's calls are tracked by the plugin and an earlier process's
		// plugin is gone: a key that isn't in flight has no call that runs.
		r.edit(op).CallOver = f.began
	}
	return p.Settled(f.began, op.CallOver, l.listeningSince)
}

// resolveAbsent resolves an unknown provision whose resource is proven not to exist:
// the same key goes out again where that is safe and the instance is still
// wanted. Where a request can't be repeated safely, only a person may say that
// nothing was made.
func (l *Loop) resolveAbsent(w *step, p *inventory.Provider, r *row, f finding) (conflict reason.Reason) {
	if !p.Facts.Idempotency.SafeToRepeat() {
		return reason.Of(reason.CannotRepeat{Instance: string(r.ID), Key: string(r.Key)})
	}
	switch {
	case r.State == fleet.Provisioning && w.batchBroken(r):
		w.endWithBatch(r)
		return reason.Reason{}
	case r.State == fleet.Provisioning:
		w.requeue(r, f, reason.ProvenAbsent{})
		return reason.Reason{}
	}
	op := r.edit(r.provision)
	op.State, op.Reason = fleet.OperationNotCreated, reason.Of(reason.ProvenAbsent{})
	l.gone(w, p, r, f, reason.NeverCreated{})
	return reason.Reason{}
}

// requeue lets the same request go out once more, under its key. No call for it
// was under way when the inspection began.
func (w *step) requeue(r *row, f finding, why reason.Detail) {
	op := r.edit(r.provision)
	if op.CallOver.IsZero() {
		op.CallOver = f.began
	}
	op.State, op.Reason = fleet.OperationPending, reason.Of(why)
	op.NotBefore = w.now.Add(retry.Delay(time.Second, op.Attempts-1, time.Minute))
}

// resolveUnlisted decides about a resource that existed and is no longer listed. Where
// an agent enrolled, a list alone doesn't prove it gone: its agent must have
// been silent for as long as it wasn't listed, and that for a whole heartbeat.
func (l *Loop) resolveUnlisted(
	w *step,
	p *inventory.Provider,
	r *row,
	m *rowMemory,
	f finding,
) (conflict reason.Reason) {
	if m.missing.IsZero() {
		m.missing = f.began
	}
	if r.runner == nil || r.State == fleet.Terminating {
		l.gone(w, p, r, f, reason.NotListed{})
		return reason.Reason{}
	}
	if l.silent(w, r) && f.began.Sub(m.missing) >= r.fleet.Timeouts.Heartbeat {
		l.gone(w, p, r, f, reason.NotListedAndSilent{For: seconds(f.began.Sub(m.missing))})
		return reason.Reason{}
	}
	return reason.Of(reason.NotListedNotSilent{})
}

// gone ends a row whose resource a complete inspection proves not to exist. What
// belonged to it and is still listed keeps it on the books until that is removed.
func (l *Loop) gone(w *step, p *inventory.Provider, r *row, f finding, why reason.Detail) {
	left := l.owner().SecondaryResources(p, f.listing, &r.CapacityInstance)
	switch {
	case len(left) == 0:
		w.gone(r, why)
	case r.State != fleet.Terminating:
		w.move(r, fleet.Terminating, lifecycle.LeftBehind, reason.DanglingLeft{Resource: inventory.NameOf(left[0])})
	}
}

// gone ends a row whose resource is proven not to exist.
func (w *step) gone(r *row, why reason.Detail) {
	if r.State == fleet.Requested || !r.Live() {
		return
	}
	if w.move(r, fleet.Terminated, lifecycle.ProvenGone, why) && r.terminate != nil && r.terminate.State.Open() {
		r.edit(r.terminate).State = fleet.OperationSucceeded
	}
}
