package reconcile

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// see takes in an inspection: what it shows is true whether or not it is
// complete; that something is missing is true only if it is.
func (l *Loop) see(w *work, e Inspected) {
	p := l.provider(e.Provider)
	p.inspecting = false
	byKey := map[fleet.OperationID][]fleet.Resource{}
	for _, res := range e.Inspection.Resources {
		if res.State != fleet.ResourceGone && (res.Kind == "" || res.Kind == "instance") {
			byKey[res.Key] = append(byKey[res.Key], res)
		}
	}
	inFlight := map[fleet.OperationID]bool{}
	for _, key := range e.Inspection.InFlight {
		inFlight[key] = true
	}
	complete := e.Failure == nil && e.Inspection.Complete
	p.blind = ""
	if !complete {
		p.blind = "the last inspection was not complete"
		if e.Failure != nil {
			p.blind = "the last inspection failed: " + e.Failure.Message
		}
	}
	if complete {
		p.sight = &sighting{began: e.Began, byKey: byKey}
		p.unrecorded = unrecorded(w, byKey)
	}
	for _, r := range w.rows {
		if r.Provider != e.Provider || !r.Live() || r.State == fleet.Requested {
			continue
		}
		look := look{began: e.Began, complete: complete, found: byKey[r.Key], inFlight: inFlight[r.Key]}
		l.match(w, p, r, look)
	}
}

// unrecorded counts the resources of the installation that no live instance
// accounts for. They are reported and left alone [159].
func unrecorded(w *work, byKey map[fleet.OperationID][]fleet.Resource) int {
	n := 0
	for key, found := range byKey {
		if w.byKey[key] == nil {
			n += len(found)
		}
	}
	return n
}

// look is what one inspection says about one key.
type look struct {
	began    time.Time
	complete bool
	found    []fleet.Resource
	inFlight bool
}

// match compares one row with what an inspection shows of its key.
func (l *Loop) match(w *work, p *provider, r *row, look look) {
	if p.facts != nil && r.Account != "" && r.Account != p.facts.Account {
		r.conflict(fmt.Sprintf("The provider reaches %q now, and this instance was made in %q: from there nothing can be said about it.", p.facts.Account, r.Account))
		return
	}
	switch len(look.found) {
	case 0:
		if look.complete {
			r.conflict("")
			l.missing(w, p, r, look)
		}
	case 1:
		r.conflict("")
		l.found(w, p, r, look)
	default:
		r.conflict(fmt.Sprintf("%d resources carry the key %s: none of them is touched until a person removes the copies.", len(look.found), r.Key))
	}
}

// found takes in the one resource that carries the row's key.
func (l *Loop) found(w *work, p *provider, r *row, look look) {
	res := look.found[0]
	if unfinished(p, r, res) {
		if r.provision.State == fleet.OperationUnknown && !look.inFlight {
			w.again(r, look, "Found, but not running: it may be half made.")
		}
		return
	}
	w.seen(r, res)
	if r.Conflict != "" {
		return
	}
	if r.SeenAt.IsZero() {
		r.SeenAt, r.dirty = look.began, true
	}
	if op := r.provision.State; (op == fleet.OperationUnknown || op == fleet.OperationPending) && !look.inFlight {
		r.edit(r.provision).State = fleet.OperationSucceeded
		r.provision.Message = "Found by inspection."
	}
	ended := res.State == fleet.ResourceStopped || res.State == fleet.ResourceFailed
	if ended && (r.EverRunning || r.runner != nil) && lifecycle.Allowed(r.State, fleet.Terminating, lifecycle.ResourceStopped) {
		w.move(r, fleet.Terminating, lifecycle.ResourceStopped, fmt.Sprintf("The provider shows it %s after it was alive.", res.State))
	}
}

// unfinished says that a resource whose call broke off may be half made, as one
// that exists and was never started. The same request finishes it, or is answered
// with what exists; without that, it would be waited for until its deadline.
func unfinished(p *provider, r *row, res fleet.Resource) bool {
	brokeOff := r.provision.State == fleet.OperationUnknown || r.provision.State == fleet.OperationPending
	return r.State == fleet.Provisioning && brokeOff && p.facts != nil && p.facts.Idempotency.SafeToRepeat() &&
		res.State == fleet.ResourcePending && res.ID != "" && (r.ProviderInstance == "" || r.ProviderInstance == res.ID)
}
