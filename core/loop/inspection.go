package loop

import (
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// finding is what one inspection says about one instance.
type finding struct {
	began time.Time
	// complete says that it shows everything, absent that it proves the absence of this
	// one key and says nothing of anything else.
	complete, absent bool
	found            []fleet.Resource
	inFlight         bool
	// listing is all of the inspection.
	listing *inventory.Listing
}

// recordInspection takes in an inspection: what it shows is true whether or not it is
// complete; that something is missing is true only if it is.
func (l *Loop) recordInspection(w *step, e Inspected) {
	p := l.provider(e.Provider)
	if e.Began.After(w.now) { // the clock was set back meanwhile
		e.Began = l.listeningSince
	}
	var retryAfter time.Duration
	if e.Failure != nil {
		retryAfter = e.Failure.RetryAfter
	}
	listing := p.EndInspection(e.Began, w.now, e.Inspection, len(e.Keys) > 0, retryAfter)
	if len(e.Keys) > 0 {
		l.recordKeys(w, p, e, listing)
		return
	}
	w.showClaimed(e, listing)
	complete := p.Believe(listing, failureOf(e), w.instancesOf(e.Provider), l.listeningSince)
	for _, r := range w.rows {
		if r.Provider == e.Provider && r.Live() && r.State != fleet.Requested {
			r.conflict(
				l.match(
					w,
					p,
					r,
					finding{
						began:    e.Began,
						complete: complete,
						found:    listing.Of(&r.CapacityInstance),
						inFlight: listing.InFlight(r.Key),
						listing:  listing,
					},
				),
			)
		}
	}
}

// recordKeys takes in an inspection by keys. It shows no other resource, and nothing of
// what belongs to the ones that it shows.
func (l *Loop) recordKeys(w *step, p *inventory.Provider, e Inspected, listing *inventory.Listing) {
	for _, key := range e.Keys {
		r := w.byOperation[key]
		if r == nil || r.Provider != e.Provider || !r.Live() || r.State == fleet.Requested {
			continue // it ended meanwhile
		}
		r.conflict(l.match(w, p, r, finding{
			began:    e.Began,
			absent:   e.Failure == nil && e.Inspection.Complete && slices.Contains(e.Inspection.Absent, key),
			found:    listing.Of(&r.CapacityInstance),
			inFlight: listing.InFlight(r.Key),
			listing:  listing,
		}))
	}
}

// failureOf is why an inspection shows less than everything; zero: it doesn't.
func failureOf(e Inspected) reason.Reason {
	switch {
	case e.Failure != nil:
		return reason.Of(reason.InspectionFailed{Message: e.Failure.Message})
	case !e.Inspection.Complete:
		return reason.Of(reason.InspectionIncomplete{})
	}
	return reason.Reason{}
}

// instancesOf are the live instances of a provider.
func (w *step) instancesOf(address fleet.ProviderAddress) []*fleet.CapacityInstance {
	var live []*fleet.CapacityInstance
	for _, r := range w.rows {
		if r.Provider == address && r.Live() {
			live = append(live, &r.CapacityInstance)
		}
	}
	return live
}

// match compares one row with what an inspection shows of its key, and returns
// why nothing may be done about the row, if there is such a reason.
func (l *Loop) match(w *step, p *inventory.Provider, r *row, f finding) (conflict reason.Reason) {
	if why := p.WrongAccount(&r.CapacityInstance); !why.IsZero() {
		return why
	}
	if why := f.listing.Contested(&r.CapacityInstance); !why.IsZero() {
		return why
	}
	if !f.complete && p.Listing != nil && len(p.Listing.Of(&r.CapacityInstance)) > 1 {
		return r.Conflict // a list that lacks something may lack the copy
	}
	switch {
	case len(f.found) > 1:
		return reason.Of(reason.KeyShared{Resources: len(f.found), Key: string(r.Key)})
	case len(f.found) == 1:
		if p.Facts != nil {
			if doubt := l.owner().Doubt(*p.Facts, &r.CapacityInstance, r.claim, f.found[0]); !doubt.IsZero() {
				return reason.Of(reason.OwnershipDoubtful{Resource: string(f.found[0].ID), Key: string(r.Key), Because: doubt})
			}
		}
		return l.matchFound(w, p, r, f)
	case f.complete && p.Facts != nil && !f.inFlight:
		if res, ended := f.listing.Ended(&r.CapacityInstance); ended && r.provision.State == fleet.OperationSucceeded {
			l.gone(w, p, r, f, reason.ResourceEnded{Resource: string(res.ID), Message: res.Detail})
			return reason.Reason{}
		}
		return l.resolveMissing(w, p, r, f)
	case f.absent && p.Facts != nil && !f.inFlight && l.repeatable(w, p, r, f):
		w.requeue(r, f, reason.ProvenAbsent{})
		return reason.Reason{}
	}
	return r.Conflict
}

// repeatable says that a row's request may go out again on the word that its key made
// nothing. What else an absence may lead to waits for a complete inspection.
func (l *Loop) repeatable(w *step, p *inventory.Provider, r *row, f finding) bool {
	return r.State == fleet.Provisioning && r.provision.State == fleet.OperationUnknown &&
		p.Facts.Idempotency.SafeToRepeat() && !w.batchBroken(r) && l.callSettled(p, r, f)
}

// matchFound takes in the one resource that carries the row's key.
func (l *Loop) matchFound(w *step, p *inventory.Provider, r *row, f finding) (conflict reason.Reason) {
	res := f.found[0]
	if unfinished(p, r, res) {
		if r.provision.State == fleet.OperationUnknown && !f.inFlight && l.callSettled(p, r, f) {
			w.requeue(r, f, reason.FoundUnfinished{})
		}
		return reason.Reason{}
	}
	if conflict := w.recordResource(r, res); !conflict.IsZero() {
		return conflict
	}
	m := l.row(r.ID)
	m.seen, m.missing = f.began, time.Time{}
	if r.SeenAt.IsZero() {
		r.SeenAt, r.dirty = f.began, true
	}
	if s := r.provision.State; s.Open() && s != fleet.OperationInProgress && !f.inFlight {
		op := r.edit(r.provision)
		op.State, op.CallOver, op.Reason = fleet.OperationSucceeded, f.began, reason.Of(reason.FoundByInspection{})
		if res.State != fleet.ResourceFailed {
			l.recordRoom(w, r, res)
		}
	}
	l.endStopped(w, r, res)
	return reason.Reason{}
}

// endStopped ends a row whose resource was powered off after it had run, or failed. One
// that failed for lack of room rests the offer that it was made of.
func (l *Loop) endStopped(w *step, r *row, res fleet.Resource) {
	if !lifecycle.Allowed(r.State, fleet.Terminating, lifecycle.ResourceStopped) {
		return
	}
	started := r.EverRunning || r.runner != nil
	switch {
	case res.State == fleet.ResourceFailed:
		var why reason.ResourceFailed
		if failure := res.Failure; failure != nil {
			why = reason.ResourceFailed{Class: string(failure.Class), Message: failure.Message}
			if market.IsShortage(failure.Class) && !started {
				l.recordShortage(w, r, &Failure{
					Class: failure.Class, Message: failure.Message,
					Zone: failure.Zone, MachineType: failure.MachineType, Scope: failure.Scope,
				})
			}
		}
		w.move(r, fleet.Terminating, lifecycle.ResourceStopped, why)
	case res.State == fleet.ResourceStopped && started:
		w.move(r, fleet.Terminating, lifecycle.ResourceStopped, reason.ResourceStopped{State: string(res.State)})
	}
}

// unfinished says that a resource whose call broke off may be half made, as one
// that exists and was never started. The same request finishes it, or is answered
// with what exists; without that, it would be waited for until its deadline. It
// goes out once lists have settled: the plugin finds by one what it made, and
// another replica may answer it than answered us.
func unfinished(p *inventory.Provider, r *row, res fleet.Resource) bool {
	brokeOff := r.provision.State == fleet.OperationUnknown || r.provision.State == fleet.OperationPending
	return r.State == fleet.Provisioning && brokeOff && p.Facts != nil && p.Facts.Idempotency.SafeToRepeat() &&
		res.State == fleet.ResourcePending && res.ID != "" && (r.ProviderInstance == "" || r.ProviderInstance == res.ID)
}

// recordResource records what an answer or an inspection shows of the row's resource, and
// returns why it can't be the row's.
func (w *step) recordResource(r *row, res fleet.Resource) (conflict reason.Reason) {
	if res.ID != "" && r.ProviderInstance != "" && res.ID != r.ProviderInstance {
		return reason.Of(
			reason.ResourceMismatch{Shown: string(res.ID), Key: string(r.Key), Recorded: string(r.ProviderInstance)},
		)
	}
	if other, taken := w.recordedElsewhere(r, res.ID); taken {
		return reason.Of(reason.ResourceTaken{Shown: string(res.ID), Key: string(r.Key), Instance: string(other)})
	}
	w.record(r, res.ID)
	zone, machineType := r.Zone, r.MachineType
	set(r, &r.Zone, res.Zone)
	set(r, &r.MachineType, res.MachineType)
	if r.Zone != zone || r.MachineType != machineType {
		r.price()
	}
	set(r, &r.RunsImage, res.Image)
	if addresses := slices.Sorted(
		slices.Values(res.Addresses),
	); len(addresses) > 0 &&
		!slices.Equal(r.Addresses, addresses) {
		r.Addresses, r.dirty = addresses, true
	}
	if attested := slices.Sorted(slices.Values(res.Attested)); len(attested) > 0 && !slices.Equal(r.Attested, attested) {
		r.Attested, r.dirty = attested, true
	}
	if res.State != "" && r.Seen != res.State {
		r.Seen, r.Detail, r.dirty = res.State, res.Detail, true
	}
	if res.State == fleet.ResourceRunning && !r.EverRunning {
		r.EverRunning, r.dirty = true, true
	}
	if r.State == fleet.Provisioning {
		w.move(r, fleet.Bootstrapping, lifecycle.ResourceSeen, reason.ResourceSeen{Resource: string(res.ID)})
	}
	return reason.Reason{}
}

// set changes a field of a row where the new value says something.
func set[T ~string](r *row, field *T, value T) {
	if value != "" && *field != value {
		*field, r.dirty = value, true
	}
}
