package loop

import (
	"encoding/json"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// send picks what goes out now and marks it as in progress, in the same
// transaction as its intent or a later one: on the next start it is unknown,
// never forgotten.
func (l *Loop) send(w *step) []Effect {
	var effects []Effect
	out := map[fleet.ProviderAddress]int{}
	for _, r := range w.rows {
		p := l.provider(r.Provider)
		if p.Facts == nil || w.frozen(r) || l.callsOn(r.Provider)+out[r.Provider] >= l.settings.CallLimit {
			continue
		}
		if e := l.sendRow(w, p, r); e != nil {
			effects = append(effects, e)
			out[r.Provider]++
		}
	}
	effects = append(effects, l.inspections(w)...)
	effects = append(effects, l.listOffers(w)...)
	effects = append(effects, l.schedulerCalls(w)...)
	return append(effects, l.observations(w)...)
}

// sendRow returns the call that a row is waiting for, if it may go out now.
func (l *Loop) sendRow(w *step, p *inventory.Provider, r *row) Effect {
	switch {
	case (r.State == fleet.Requested || r.State == fleet.Provisioning) && r.provision.Batch.Key != "":
		return l.sendBatch(w, p, r)
	case r.State == fleet.Requested || r.State == fleet.Provisioning:
		if !l.maySend(w, p, r) {
			return nil
		}
		if e, ok := w.beginProvision(p, r); ok {
			return e
		}
	case r.State == fleet.Terminating && r.terminate != nil:
		return l.sendTerminate(w, p, r)
	}
	return nil
}

// maySend says whether a row's request is due and its provider may get it.
func (l *Loop) maySend(w *step, p *inventory.Provider, r *row) bool {
	if r.provision.State != fleet.OperationPending || r.provision.NotBefore.After(w.now) {
		return false
	}
	if !inventory.Deletable(*p.Facts) {
		r.conflict(inventory.Undeletable(*p.Facts))
		return false
	}
	if why := r.unassigned(*p.Facts); !why.IsZero() {
		r.conflict(why)
		return false
	}
	return true
}

// beginProvision marks a row's request as in progress and returns it.
func (w *step) beginProvision(p *inventory.Provider, r *row) (Provision, bool) {
	op := r.provision
	intent, ok := r.intent()
	if !ok {
		return Provision{}, false
	}
	if r.State == fleet.Requested {
		w.move(r, fleet.Provisioning, lifecycle.IntentCommitted, reason.RequestStored{})
	}
	r.Account, r.dirty = p.Facts.Account, true
	beginCall(r, op)
	// The token counts from when the host can first have it.
	t := r.fleet.Timeouts
	op.TokenExpires = w.now.Add(t.Provision + t.Boot + t.Enroll)
	return Provision{Provider: r.Provider, Operation: *op, Intent: intent}, true
}

// intent is the row's stored request. One that can't be read is told of the row.
func (r *row) intent() (fleet.ProvisionIntent, bool) {
	var intent fleet.ProvisionIntent
	if err := json.Unmarshal(r.provision.Request, &intent); err != nil {
		r.conflict(reason.Of(reason.RequestUnreadable{Operation: string(r.provision.ID), Message: err.Error()}))
		return intent, false
	}
	return intent, true
}

// sendTerminate returns the terminate call of a row whose ownership is proven.
// While a provision call may still run there is nothing to delete yet.
func (l *Loop) sendTerminate(w *step, p *inventory.Provider, r *row) Effect {
	op := r.terminate
	beingMade := r.provision.State == fleet.OperationInProgress || w.batchUnderWay(r)
	sent := op.State == fleet.OperationInProgress || op.State == fleet.OperationSucceeded
	if beingMade || sent || op.NotBefore.After(w.now) {
		return nil
	}
	if l.mustTakeJobsBack(w, r) {
		if why := reason.Of(reason.SchedulerTakesJobsBack{}); op.Reason != why {
			r.edit(op).Reason = why
		}
		return nil
	}
	m := l.row(r.ID)
	if p.Listing != nil && p.Listing.Step < m.answered {
		return nil // asked before: only what is still seen afterwards is asked again
	}
	resource, ok, why := l.provenOurs(p, r, m)
	if !ok {
		if op.Reason != why {
			r.edit(op).Reason = why
		}
		return nil
	}
	beginCall(r, op)
	left := !inventory.IsInstance(resource) && r.Adopted == ""
	return Terminate{
		Provider:  r.Provider,
		Instance:  r.ID,
		Operation: op.ID,
		Resource:  resource.ID,
		Key:       resource.Key,
		Left:      left,
	}
}

func beginCall(r *row, op *fleet.Operation) {
	r.edit(op)
	op.State, op.Attempts, op.CallOver = fleet.OperationInProgress, op.Attempts+1, time.Time{}
	op.Class, op.Reason = "", reason.Reason{}
}

// inspections returns an Inspect effect for every provider that is due.
func (l *Loop) inspections(w *step) []Effect {
	var effects []Effect
	for _, address := range l.providerAddresses() {
		p := l.providers[address]
		if p.Facts == nil || p.Inspecting {
			continue
		}
		if next := l.nextInspection(w, address, p); !w.now.Before(next.at) {
			effects = append(effects, Inspect{Provider: address, Keys: next.keys})
		}
	}
	return effects
}

// nextInspection is what a provider is to be asked next, and when.
type nextInspection struct {
	at time.Time
	// keys are what it is asked for; none: everything.
	keys []fleet.OperationID
}

// nextInspection asks for single keys between complete inspections where the provider
// answers that for less than a complete list.
func (l *Loop) nextInspection(w *step, address fleet.ProviderAddress, p *inventory.Provider) nextInspection {
	var keys []fleet.OperationID
	var unanswered, waiting []time.Time
	for _, r := range w.rows {
		switch {
		case r.Provider != address || !awaitsInspection(r):
		case r.State == fleet.Provisioning:
			keys, unanswered = append(keys, r.Key), append(unanswered, r.Since)
		default:
			waiting = append(waiting, r.Since)
		}
	}
	atOnce := l.orderAwaitsInspection(address, p)
	if !p.AsksForKeys(len(keys)) {
		return nextInspection{at: p.NextInspection(w.now, atOnce, append(waiting, unanswered...))}
	}
	complete, byKeys := p.NextInspection(w.now, atOnce, waiting), p.NextKeysInspection(w.now, unanswered)
	if byKeys.Before(complete) {
		return nextInspection{at: byKeys, keys: keys}
	}
	return nextInspection{at: complete}
}

// awaitsInspection says that an inspection would take the row on.
func awaitsInspection(r *row) bool {
	switch r.State {
	case fleet.Provisioning:
		return r.provision.State == fleet.OperationUnknown
	case fleet.Bootstrapping, fleet.Enrolling:
		return r.Seen != fleet.ResourceRunning || r.SeenAt.IsZero()
	case fleet.Draining:
		return r.Interruption.TakesAway()
	case fleet.Terminating:
		return r.terminate == nil || r.terminate.State != fleet.OperationInProgress
	}
	return false
}
