package reconcile

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// missing decides what it means that a complete inspection doesn't show a row's
// resource. It means nothing while a call for it may still run, and nothing
// until the provider's settle time has passed since the call was over.
func (l *Loop) missing(w *work, p *provider, r *row, look look) {
	op := r.provision
	if look.inFlight || p.facts == nil {
		return
	}
	if op.State == fleet.OperationUnknown && op.CallOver.IsZero() {
		// This process's calls are tracked by the plugin and an earlier process's
		// plugin is gone: a key that isn't in flight has no call that runs.
		r.edit(op).CallOver = look.began
		if p.facts.ListSettle > 0 {
			return
		}
	}
	if look.began.Before(op.CallOver.Add(p.facts.ListSettle)) {
		return
	}
	switch op.State {
	case fleet.OperationUnknown:
		l.absent(w, p, r, look)
	case fleet.OperationPending:
		if r.State != fleet.Provisioning { // no longer wanted before it went out again
			r.edit(op).State = fleet.OperationNotCreated
			w.gone(r, "A complete inspection shows nothing, and no request is on its way.")
		}
	case fleet.OperationSucceeded:
		w.gone(r, "A complete inspection no longer shows it.")
	case fleet.OperationNotCreated:
		if r.State == fleet.Terminating {
			w.gone(r, "Nothing was created.")
		}
	}
}

// absent resolves an unknown provision whose resource is proven not to exist:
// the same key goes out again where that is safe and the instance is still
// wanted.
func (l *Loop) absent(w *work, p *provider, r *row, look look) {
	op := r.provision
	if r.State != fleet.Provisioning {
		r.edit(op).State = fleet.OperationNotCreated
		op.Message = "Proven absent by inspection."
		w.gone(r, "A complete inspection proves that it was never made.")
		return
	}
	if !p.facts.Idempotency.SafeToRepeat() {
		r.conflict("The provider can't repeat a request safely: a person must check that nothing was made for key " + string(r.Key) + ".")
		return
	}
	w.again(r, look, "Proven absent by inspection.")
}

// again lets the same request go out once more, under its key. No call for it
// was under way when the look began.
func (w *work) again(r *row, look look, why string) {
	op := r.edit(r.provision)
	if op.CallOver.IsZero() {
		op.CallOver = look.began
	}
	op.State, op.Message = fleet.OperationPending, why
	op.NotBefore = w.now.Add(doubling(time.Second, op.Attempts-1, time.Minute))
}

// gone ends a row whose resource is proven not to exist.
func (w *work) gone(r *row, reason string) {
	if r.State == fleet.Requested || !r.Live() {
		return
	}
	if w.move(r, fleet.Terminated, lifecycle.ProvenGone, reason) && r.terminate != nil && r.terminate.State.Open() {
		r.edit(r.terminate).State = fleet.OperationSucceeded
	}
}

// doubling is base doubled n times, at most limit.
func doubling(base time.Duration, n int, limit time.Duration) time.Duration {
	d := base
	for range max(0, n) {
		if d >= limit {
			break
		}
		d *= 2
	}
	return min(d, limit)
}
