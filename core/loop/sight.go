package loop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// look is what one inspection says about one key.
type look struct {
	began    time.Time
	complete bool
	found    []fleet.Resource
	inFlight bool
	// shown is all of the inspection.
	shown *sighting
}

// see takes in an inspection: what it shows is true whether or not it is
// complete; that something is missing is true only if it is.
func (l *Loop) see(w *work, e Inspected) {
	p := l.provider(e.Provider)
	p.inspecting = false
	if e.Began.After(w.now) { // the clock was set back meanwhile
		e.Began = l.witnessed
	}
	shown := newSighting(p.inspectStep, e.Began, e.Inspection)
	w.showClaimed(e, shown)
	blind := blindness(e)
	if blind == "" {
		blind = l.vanished(w, p, e, shown)
	}
	if p.facts != nil { // else it stays blind for being down
		p.blind, p.fault = blind, blind
	}
	if blind == "" {
		p.sight = shown
	} else {
		p.strays = nil // what isn't seen without a gap isn't removed as an orphan
	}
	for _, r := range w.rows {
		if r.Provider == e.Provider && r.Live() && r.State != fleet.Requested {
			r.conflict(l.match(w, p, r, look{began: e.Began, complete: blind == "", found: shown.of(r), inFlight: shown.inFlight[r.Key], shown: shown}))
		}
	}
}

// blindness is why an inspection shows less than everything; "": it doesn't.
func blindness(e Inspected) string {
	switch {
	case e.Failure != nil:
		return "the last inspection failed: " + e.Failure.Message
	case !e.Inspection.Complete:
		return "the last inspection was not complete"
	}
	return ""
}

// vanishedFor is how long most of a provider's resources must be missing before
// that is believed.
const vanishedFor = 15 * time.Minute

// vanished says why a complete list is not believed: over half of at least three
// known resources are missing from it at once. An unmounted folder or a wrong
// region looks like that, too.
func (l *Loop) vanished(w *work, p *provider, e Inspected, shown *sighting) string {
	known, missing := 0, 0
	for _, r := range w.rows {
		if r.Provider != e.Provider || r.SeenAt.IsZero() || !r.Live() || r.State == fleet.Terminating {
			continue
		}
		known++
		if _, ended := shown.ended(r); !ended && len(shown.of(r)) == 0 {
			missing++
		}
	}
	if known < 3 || 2*missing <= known {
		p.vanishing = time.Time{}
		return ""
	}
	if p.vanishing.IsZero() {
		p.vanishing = e.Began
	}
	if e.Began.Sub(later(p.vanishing, l.witnessed)) >= vanishedFor {
		return ""
	}
	return fmt.Sprintf("%d of %d known resources are missing from its list at once; believed after %s", missing, known, vanishedFor)
}

// elsewhere says that the provider's credentials reach another account than the
// one that the row was made in; "": they don't. It is asked at every call, too:
// a plugin with other credentials may be there before its first inspection is.
func (p *provider) elsewhere(r *row) string {
	if p.facts == nil || r.Account == "" || r.Account == p.facts.Account {
		return ""
	}
	return fmt.Sprintf("The provider reaches %q now, and this instance was made in %q: from there nothing can be said about it.", p.facts.Account, r.Account)
}

// match compares one row with what an inspection shows of its key, and returns
// why nothing may be done about the row, "" if there is no such reason.
func (l *Loop) match(w *work, p *provider, r *row, look look) (conflict string) {
	if why := p.elsewhere(r); why != "" {
		return why
	}
	if why := look.shown.contested(r); why != "" {
		return why
	}
	if !look.complete && p.sight != nil && len(p.sight.of(r)) > 1 {
		return r.Conflict // a list that lacks something may lack the copy
	}
	switch {
	case len(look.found) > 1:
		return fmt.Sprintf("%d resources carry the key %s: none of them is touched until a person removes the copies.", len(look.found), r.Key)
	case len(look.found) == 1 && p.facts != nil && l.doubt(*p.facts, r, look.found[0]) != "":
		return fmt.Sprintf("%s carries the key %s, but %s: it is left alone until a person looks.", look.found[0].ID, r.Key, l.doubt(*p.facts, r, look.found[0]))
	case len(look.found) == 1:
		return l.found(w, p, r, look)
	case look.complete && p.facts != nil && !look.inFlight:
		if res, ended := look.shown.ended(r); ended && r.provision.State == fleet.OperationSucceeded {
			l.gone(w, p, r, look, strings.TrimSuffix(fmt.Sprintf("Its provider shows %s as ended: %s", res.ID, res.Detail), ": ")+".")
			return ""
		}
		return l.missing(w, p, r, look)
	}
	return r.Conflict
}

// found takes in the one resource that carries the row's key.
func (l *Loop) found(w *work, p *provider, r *row, look look) (conflict string) {
	res := look.found[0]
	if unfinished(p, r, res) {
		if r.provision.State == fleet.OperationUnknown && !look.inFlight && l.callSettled(p, r, look) {
			w.again(r, look, "Found, but not running: it may be half made.")
		}
		return ""
	}
	if conflict := w.seen(r, res); conflict != "" {
		return conflict
	}
	m := l.row(r.ID)
	m.seen, m.missing = look.began, time.Time{}
	if r.SeenAt.IsZero() {
		r.SeenAt, r.dirty = look.began, true
	}
	if s := r.provision.State; s.Open() && s != fleet.OperationInProgress && !look.inFlight {
		op := r.edit(r.provision)
		op.State, op.CallOver, op.Message = fleet.OperationSucceeded, look.began, "Found by inspection."
		l.made(w, r, res)
	}
	ended := res.State == fleet.ResourceStopped || res.State == fleet.ResourceFailed
	if ended && (r.EverRunning || r.runner != nil) && lifecycle.Allowed(r.State, fleet.Terminating, lifecycle.ResourceStopped) {
		w.move(r, fleet.Terminating, lifecycle.ResourceStopped, fmt.Sprintf("The provider shows it %s after it was alive.", res.State))
	}
	return ""
}

// unfinished says that a resource whose call broke off may be half made, as one
// that exists and was never started. The same request finishes it, or is answered
// with what exists; without that, it would be waited for until its deadline. It
// goes out once lists have settled: the plugin finds by one what it made, and
// another replica may answer it than answered us.
func unfinished(p *provider, r *row, res fleet.Resource) bool {
	brokeOff := r.provision.State == fleet.OperationUnknown || r.provision.State == fleet.OperationPending
	return r.State == fleet.Provisioning && brokeOff && p.facts != nil && p.facts.Idempotency.SafeToRepeat() &&
		res.State == fleet.ResourcePending && res.ID != "" && (r.ProviderInstance == "" || r.ProviderInstance == res.ID)
}

// seen records what an answer or an inspection shows of the row's resource, and
// returns why it can't be the row's.
func (w *work) seen(r *row, res fleet.Resource) (conflict string) {
	if res.ID != "" && r.ProviderInstance != "" && res.ID != r.ProviderInstance {
		return fmt.Sprintf("The provider shows %s for key %s, but %s was recorded: neither is touched.", res.ID, r.Key, r.ProviderInstance)
	}
	if other, taken := w.recordedElsewhere(r, res.ID); taken {
		return fmt.Sprintf("The provider shows %s for key %s, but that is recorded for the instance %s: neither is touched.", res.ID, r.Key, other)
	}
	w.record(r, res.ID)
	zone, machineType := r.Zone, r.MachineType
	set(r, &r.Zone, res.Zone)
	set(r, &r.MachineType, res.MachineType)
	if r.Zone != zone || r.MachineType != machineType {
		r.price()
	}
	set(r, &r.RunsImage, res.Image)
	if addresses := slices.Sorted(slices.Values(res.Addresses)); len(addresses) > 0 && !slices.Equal(r.Addresses, addresses) {
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
		w.move(r, fleet.Bootstrapping, lifecycle.ResourceSeen, fmt.Sprintf("The provider shows %s.", res.ID))
	}
	return ""
}

// set changes a field of a row where the new value says something.
func set[T ~string](r *row, field *T, value T) {
	if value != "" && *field != value {
		*field, r.dirty = value, true
	}
}
