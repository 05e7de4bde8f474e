package loop

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// applyEvents applies events in order. It may run again on the same events (when a
// commit failed), so what it keeps in memory only ever says what the event says.
func (l *Loop) applyEvents(w *step, events []Event) {
	for _, e := range events {
		switch e := e.(type) {
		case ProviderReady:
			if l.provider(e.Provider).Ready(e.Facts) {
				l.markets.ForgetProvider(e.Provider)
			}
			w.clearBackoffs(e.Provider)
			l.retryCircuits(w, e.Provider)
		case ProviderDown:
			l.provider(e.Provider).Lost(e.Reason, e.Detail, e.NeedsPerson, e.Starting)
		case Applied:
			l.retryNow(w)
		case Inspected:
			l.recordInspection(w, e)
		case ProvisionAnswered:
			l.provisionAnswered(w, e)
		case BatchAnswered:
			for _, answer := range e.Answers {
				l.provisionAnswered(w, answer)
			}
		case TerminateAnswered:
			l.terminateAnswered(w, e)
		case OffersListed:
			l.recordOffers(w, e)
		case Observed:
			l.recordObservation(w, e)
		case SchedulerAnswered:
			l.recordAnswer(w, e)
		case Noticed:
			l.provider(e.Provider).Announce(e.Instance, e.Notice, w.now, l.steps)
		case Ordered:
			l.addOrder(e.Order)
		}
	}
}

func (l *Loop) provisionAnswered(w *step, e ProvisionAnswered) {
	l.callOver(e.Operation)
	r := w.byOperation[e.Operation]
	if r == nil || !r.provision.State.Open() {
		return // the instance ended meanwhile, or an inspection was faster
	}
	op := r.edit(r.provision)
	op.CallOver = time.Time{}
	if e.CallOver {
		op.CallOver = w.now
	}
	noteFailure(op, e.Failure)
	switch e.Outcome {
	case fleet.ProvisionCreated, fleet.ProvisionExisted:
		op.State = fleet.OperationSucceeded
		r.conflict(w.recordResource(r, e.Resource))
		if e.Resource.State != fleet.ResourceFailed {
			l.recordRoom(w, r, e.Resource)
		}
	case fleet.ProvisionNotCreated:
		l.notCreated(w, r, e.Failure)
	case fleet.ProvisionNotSent:
		if e.Failure != nil && e.Failure.Class == fleet.ErrorInvalid {
			l.notCreated(w, r, e.Failure)
			return
		}
		op.State, op.NotBefore = fleet.OperationPending, w.now.Add(sendAgain)
	case fleet.ProvisionAccepted:
		op.State, op.Reason = fleet.OperationAccepted, reason.Of(reason.CreationAccepted{})
	default:
		op.State = fleet.OperationUnknown
		w.recordCallFailure(r, e.Failure)
	}
}

// sendAgain is how long a request waits that could not be sent.
const sendAgain = time.Second

// notCreated takes the provider's word that nothing exists, unless something
// was seen of it already: then only an inspection decides.
func (l *Loop) notCreated(w *step, r *row, f *Failure) {
	op := r.provision
	if r.everSeen() || l.listsKey(r) {
		op.State, op.Reason = fleet.OperationUnknown, reason.Of(reason.CreatedAfterAll{Because: op.Reason})
		return
	}
	op.State = fleet.OperationNotCreated
	if f != nil && market.IsShortage(f.Class) {
		l.recordShortage(w, r, f)
	} else {
		w.recordCallFailure(r, f)
	}
	w.endUncreated(r, op.Reason)
}

// endUncreated ends a row of which nothing exists.
func (w *step) endUncreated(r *row, because reason.Reason) {
	if r.State == fleet.Provisioning {
		why := reason.NothingCreated{Because: because}
		w.move(r, fleet.Failed, lifecycle.NothingCreated, why)
		// Before the plan is made, so that it holds no place against the next one.
		w.move(r, fleet.Terminated, lifecycle.NothingCreated, why)
	}
}

// listsKey says whether the last complete inspection lists a resource with the row's key.
func (l *Loop) listsKey(r *row) bool {
	p := l.provider(r.Provider)
	return p.Listing != nil && len(p.Listing.WithKey(r.Key)) > 0
}

// everSeen says whether anything was ever seen of the row's resource.
func (r *row) everSeen() bool {
	return r.ProviderInstance != "" || r.Seen != "" || r.runner != nil
}

func (l *Loop) terminateAnswered(w *step, e TerminateAnswered) {
	l.callOver(e.Operation)
	r := w.byOperation[e.Operation]
	if r == nil || r.terminate == nil || r.terminate.ID != e.Operation || !r.terminate.State.Open() {
		return
	}
	op := r.edit(r.terminate)
	op.CallOver = w.now
	l.row(r.ID).answered = l.steps
	noteFailure(op, e.Failure)
	switch e.Outcome {
	case fleet.TerminateGone:
		if p := l.provider(
			r.Provider,
		); p.Listing != nil &&
			len(l.owner().SecondaryResources(p, p.Listing, &r.CapacityInstance)) > 0 {
			// The next inspection shows what is left of it, or that nothing is.
			op.State, op.Reason = fleet.OperationAccepted, reason.Of(reason.RemovalAccepted{Dangling: true})
			l.row(r.ID).removals.Failed(op, w.now) // if it is listed on
			return
		}
		op.State = fleet.OperationSucceeded
		w.move(r, fleet.Terminated, lifecycle.ProvenGone, reason.RemovalConfirmed{})
	case fleet.TerminateNotSent:
		op.State, op.NotBefore = fleet.OperationPending, w.now.Add(sendAgain)
	case fleet.TerminateAccepted:
		// Under way; asked again if an inspection still shows it later.
		op.State, op.Reason = fleet.OperationAccepted, reason.Of(reason.RemovalAccepted{})
		l.delayNextTermination(w, r, op)
	case fleet.TerminateRefused:
		op.State = fleet.OperationRefused
		l.delayNextTermination(w, r, op)
	default:
		op.State = fleet.OperationUnknown
		l.delayNextTermination(w, r, op)
	}
}

// delayNextTermination delays the next call for what may still be there. One of several things
// that are left of an instance waits by itself, so that the others needn't.
func (l *Loop) delayNextTermination(w *step, r *row, op *fleet.Operation) {
	if !l.row(r.ID).removals.Failed(op, w.now) {
		op.NotBefore = w.now.Add(inventory.RemovalDelay(op.Attempts))
	}
}

func noteFailure(op *fleet.Operation, f *Failure) {
	op.Class, op.Reason = "", reason.Reason{}
	if f != nil {
		op.Class, op.Reason = f.Class, f.reason()
	}
}
