package reconcile

import (
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// takeIn applies events in order. It may run twice on the same events (when a
// commit failed), so it only ever sets what the event says.
func (l *Loop) takeIn(w *work, events []Event) {
	for _, e := range events {
		switch e := e.(type) {
		case ProviderReady:
			p := l.provider(e.Provider)
			p.facts, p.down, p.blocked = &e.Facts, "", false
			l.forgive(w, e.Provider)
		case ProviderDown:
			p := l.provider(e.Provider)
			p.facts, p.down, p.blocked, p.blind = nil, e.Reason, e.NeedsPerson, e.Reason
		case Inspected:
			l.see(w, e)
		case ProvisionAnswered:
			l.provisionAnswered(w, e)
		case TerminateAnswered:
			l.terminateAnswered(w, e)
		}
	}
}

func (l *Loop) provisionAnswered(w *work, e ProvisionAnswered) {
	r := w.byOperation[e.Operation]
	if r == nil {
		return // the instance ended meanwhile
	}
	delete(l.provider(r.Provider).calls, e.Operation)
	op := r.provision
	if !op.State.Open() {
		return
	}
	r.edit(op)
	op.CallOver = time.Time{}
	if e.CallOver {
		op.CallOver = w.now
	}
	note(op, e.Failure)
	switch e.Outcome {
	case fleet.ProvisionCreated, fleet.ProvisionExisted:
		op.State = fleet.OperationSucceeded
		w.seen(r, e.Resource)
	case fleet.ProvisionNotCreated:
		op.State = fleet.OperationNotCreated
		l.fail(r.fleet, w.now, e.Failure)
		if r.State == fleet.Provisioning {
			w.move(r, fleet.Failed, lifecycle.NothingCreated, "Nothing was created: "+op.Message)
		}
	case fleet.ProvisionAccepted:
		// An order without a machine yet: the inspection will show it.
		op.State = fleet.OperationUnknown
		op.Message = "Accepted by the provider; the resource has not appeared yet."
	default:
		op.State = fleet.OperationUnknown
		l.fail(r.fleet, w.now, e.Failure)
	}
}

func (l *Loop) terminateAnswered(w *work, e TerminateAnswered) {
	r := w.byOperation[e.Operation]
	if r == nil {
		return
	}
	delete(l.provider(r.Provider).calls, e.Operation)
	op := r.terminate
	if op == nil || op.ID != e.Operation || !op.State.Open() {
		return
	}
	r.edit(op)
	op.CallOver = w.now
	note(op, e.Failure)
	switch e.Outcome {
	case fleet.TerminateGone:
		op.State = fleet.OperationSucceeded
		w.move(r, fleet.Terminated, lifecycle.ProvenGone, "The provider answered that it is gone.")
	case fleet.TerminateAccepted:
		// Under way; asked again if an inspection still shows it later.
		op.State, op.NotBefore = fleet.OperationUnknown, w.now.Add(terminateAgain(op.Attempts))
		op.Message = "Accepted by the provider; waiting for it to be gone."
	default: // refused or unknown: it is still counted, and asked for again
		op.State, op.NotBefore = fleet.OperationUnknown, w.now.Add(terminateAgain(op.Attempts))
		if e.Outcome == fleet.TerminateRefused {
			op.State = fleet.OperationRefused
		}
	}
}

// terminateAgain is how long to wait before the same resource is asked to go
// again: 5 s doubling to 5 min.
func terminateAgain(attempts int) time.Duration {
	return doubling(5*time.Second, attempts-1, 5*time.Minute)
}

func note(op *fleet.Operation, f *Failure) {
	op.Class, op.Message = "", ""
	if f != nil {
		op.Class, op.Message = f.Class, f.Message
	}
}

// seen records what an answer or an inspection shows of the row's resource.
func (w *work) seen(r *row, res fleet.Resource) {
	if res.ID != "" && r.ProviderInstance != "" && res.ID != r.ProviderInstance {
		r.conflict(fmt.Sprintf("The provider shows %s for key %s, but %s was recorded: neither is touched.", res.ID, r.Key, r.ProviderInstance))
		return
	}
	set(r, &r.ProviderInstance, res.ID)
	set(r, &r.Zone, res.Zone)
	set(r, &r.MachineType, res.MachineType)
	set(r, &r.Detail, res.Detail)
	if addresses := slices.Sorted(slices.Values(res.Addresses)); len(addresses) > 0 && !slices.Equal(r.Addresses, addresses) {
		r.Addresses, r.dirty = addresses, true
	}
	if res.State != "" && r.Seen != res.State {
		r.Seen, r.dirty = res.State, true
	}
	if res.State == fleet.ResourceRunning && !r.EverRunning {
		r.EverRunning, r.dirty = true, true
	}
	if r.State == fleet.Provisioning {
		w.move(r, fleet.Bootstrapping, lifecycle.ResourceSeen, fmt.Sprintf("The provider shows %s.", res.ID))
	}
}

// set changes a field of a row where the new value says something.
func set[T ~string](r *row, field *T, value T) {
	if value != "" && *field != value {
		*field, r.dirty = value, true
	}
}
