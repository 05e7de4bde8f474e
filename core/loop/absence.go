package loop

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/retry"
)

// resolveMissing decides what it means that a complete inspection doesn't show a row's
// resource, while no call for it runs inside the plugin. It means nothing until
// the provider's settle time has passed since the call was over, and since the
// resource was last seen.
func (l *Loop) resolveMissing(w *step, p *inventory.Provider, r *row, f finding) (conflict string) {
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
			l.gone(w, p, r, f, "Nothing was created.")
		} else if w.batchBroken(r) {
			w.endWithBatch(r)
		}
	case fleet.OperationSucceeded:
		return l.resolveUnlisted(w, p, r, m, f)
	}
	return "" // an accepted order is on its way
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
func (l *Loop) resolveAbsent(w *step, p *inventory.Provider, r *row, f finding) (conflict string) {
	if !p.Facts.Idempotency.SafeToRepeat() {
		return fmt.Sprintf("The provider can't repeat a request safely: a person must check that nothing was made for key %s.", r.Key)
	}
	switch {
	case r.State == fleet.Provisioning && w.batchBroken(r):
		w.endWithBatch(r)
		return ""
	case r.State == fleet.Provisioning:
		w.requeue(r, f, "Proven absent by inspection.")
		return ""
	}
	op := r.edit(r.provision)
	op.State, op.Message = fleet.OperationNotCreated, "Proven absent by inspection."
	l.gone(w, p, r, f, "A complete inspection proves that it was never made.")
	return ""
}

// requeue lets the same request go out once more, under its key. No call for it
// was under way when the inspection began.
func (w *step) requeue(r *row, f finding, why string) {
	op := r.edit(r.provision)
	if op.CallOver.IsZero() {
		op.CallOver = f.began
	}
	op.State, op.Message = fleet.OperationPending, why
	op.NotBefore = w.now.Add(retry.Delay(time.Second, op.Attempts-1, time.Minute))
}

// resolveUnlisted decides about a resource that existed and is no longer listed. Where
// an agent enrolled, a list alone doesn't prove it gone: its agent must have
// been silent for as long as it wasn't listed, and that for a whole heartbeat.
func (l *Loop) resolveUnlisted(w *step, p *inventory.Provider, r *row, m *rowMemory, f finding) (conflict string) {
	if m.missing.IsZero() {
		m.missing = f.began
	}
	if r.runner == nil || r.State == fleet.Terminating {
		l.gone(w, p, r, f, "A complete inspection no longer shows it.")
		return ""
	}
	if l.silent(w, r) && f.began.Sub(m.missing) >= r.fleet.Timeouts.Heartbeat {
		l.gone(w, p, r, f, fmt.Sprintf("Its provider doesn't list it, and its agent has been silent, for %s.", f.began.Sub(m.missing).Truncate(time.Second)))
		return ""
	}
	return "Its provider doesn't list it any more, but its agent has not been silent for long enough to call it gone."
}

// gone ends a row whose resource a complete inspection proves not to exist. What
// belonged to it and is still listed keeps it on the books until that is removed.
func (l *Loop) gone(w *step, p *inventory.Provider, r *row, f finding, reason string) {
	left := l.owner().SecondaryResources(p, f.listing, &r.CapacityInstance)
	switch {
	case len(left) == 0:
		w.gone(r, reason)
	case r.State != fleet.Terminating:
		w.move(r, fleet.Terminating, lifecycle.LeftBehind, fmt.Sprintf("It is gone, and %s that belongs to it is still there.", inventory.Describe(left[0])))
	}
}

// gone ends a row whose resource is proven not to exist.
func (w *step) gone(r *row, reason string) {
	if r.State == fleet.Requested || !r.Live() {
		return
	}
	if w.move(r, fleet.Terminated, lifecycle.ProvenGone, reason) && r.terminate != nil && r.terminate.State.Open() {
		r.edit(r.terminate).State = fleet.OperationSucceeded
	}
}
