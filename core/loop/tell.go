package loop

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// tellLimit bounds what one scheduler is being told at a time. It is more than the
// calls that the executor makes at once, so that each step takes many answers.
const tellLimit = 256

// tellings returns what the schedulers must be told now: one thing at a time
// about each runner. The row is the intent, and it is stored before anything
// goes out; what isn't acknowledged is said again.
func (l *Loop) tellings(w *work) []Effect {
	var effects []Effect
	under := map[fleet.SchedulerAddress]int{}
	for _, t := range l.tells {
		under[t]++
	}
	for _, r := range w.rows {
		if _, talking := l.tells[r.ID]; talking || l.row(r.ID).tellAfter.After(w.now) {
			continue
		}
		t, wanted := l.telling(w, r)
		if !wanted || under[t.Scheduler] >= tellLimit || l.heardAlready(t) {
			continue
		}
		under[t.Scheduler]++
		if t.What == TellAdmit {
			r.noteAdmission(t)
		}
		effects = append(effects, t)
	}
	return append(effects, l.tellOfGhosts(w, under)...)
}

// heardAlready says that the scheduler acknowledged these very words and hasn't been
// looked at since. What it shows contradicts them, perhaps because its revisions
// don't grow as they should; once a look it is told again, and not without end.
func (l *Loop) heardAlready(t Tell) bool {
	m, s := l.row(t.Instance), l.schedulers[t.Scheduler]
	same := m.said.What == t.What && m.said.Scheduler == t.Scheduler && m.said.Cause == t.Cause && m.said.Force == t.Force
	return same && m.heardIn > 0 && s != nil && s.looked <= m.heardIn
}

// telling is the next thing that a row's scheduler must be told.
func (l *Loop) telling(w *work, r *row) (Tell, bool) {
	at := r.Scheduling
	t := Tell{Scheduler: cmp.Or(at.Scheduler, r.fleet.Scheduler), Instance: r.ID, Known: scheduler.Known{Name: r.ID, Ref: at.Ref}, Cause: r.Cause}
	u, listed, known := l.usage(r)
	switch r.State {
	case fleet.Healthy:
		switch {
		case t.Scheduler == "" || at.Removed:
			return t, false
		case l.wantsAdmission(r, t.Scheduler):
			t.What, t.Runner = TellAdmit, w.runnerOf(r, t.Scheduler)
			return t, true
		case t.Scheduler.AdmitsOnce():
			return t, false
		case at.Cordoned || known && u.Cordoned:
			t.What = TellUncordon
			return t, true
		}
	case fleet.Draining, fleet.Quarantined:
		interrupted := r.Interruption.TakesAway()
		if at.Told() && (!at.Cordoned || known && listed && !u.Cordoned || interrupted && !at.Interrupted || l.stopsAgain(w, r)) {
			t.What = TellCordon
			if interrupted {
				t.Cause, t.Deadline = string(lifecycle.ForInterruption), r.Interruption.Deadline
			}
			return t, true
		}
	case fleet.Terminating, fleet.Terminated:
		if w.keepsJobs(r) {
			return t, false
		}
		if l.takesBack(w, r) {
			t.What, t.Force = TellCordon, true
			return t, true
		}
		if at.Told() {
			t.What, t.Reason = TellRemove, l.removalReason(r)
			return t, true
		}
	}
	return t, false
}

// runnerOf is what a scheduler is told of a verified runner: everything in it
// comes from the definition and the provider, nothing from the agent [70].
func (w *work) runnerOf(r *row, address fleet.SchedulerAddress) scheduler.Runner {
	out := scheduler.Runner{Name: r.ID, Fleet: r.fleet.Address, Class: r.fleet.Class, Scope: r.fleet.Scope, Hostile: w.stored.Policy.RunsHostile(r.fleet.Class),
		Lifetime: r.fleet.Lifetime, Region: r.region(), MaxJobs: r.fleet.Runner.MaxJobs}
	if address.AdmitsOnce() {
		out.Attempt, out.IdleTimeout = r.Scheduling.Attempts+1, w.idleTimeout(r)
	}
	return out
}

// region is where the host is, as far as it is known: by the offer that it was made
// of, or since its fleet may be in one only.
func (r *row) region() string {
	if r.Zone != "" {
		for _, o := range r.provision.Offers() {
			if o.Zone == r.Zone && o.Region != "" {
				return o.Region
			}
		}
	}
	if regions := r.fleet.Placement.Regions; len(regions) == 1 {
		return regions[0]
	}
	return ""
}

// removalReason says how a runner ended: whatever wasn't proven idle was lost to
// the infrastructure, and its jobs didn't fail by themselves [40].
func (l *Loop) removalReason(r *row) scheduler.RemovalReason {
	if r.leases > 0 {
		return scheduler.RemovedInfrastructure
	}
	switch lifecycle.Cause(r.Ended) {
	case lifecycle.IdleProven, lifecycle.Withdrawn:
		return scheduler.RemovedNormally
	case lifecycle.RunnerLeft:
		// It says that it had no job; its scheduler knows whether that is so.
		if u, listed, known := l.usage(r); known && (!listed || u.Leases == 0) {
			return scheduler.RemovedNormally
		}
	}
	return scheduler.RemovedInfrastructure
}

// told takes in what a scheduler answered.
func (l *Loop) told(w *work, e Told) {
	delete(l.tells, e.Instance)
	r := w.byID[e.Instance]
	if r == nil {
		l.toldOfGhost(w, e)
		return
	}
	m, at := l.row(r.ID), &r.Scheduling
	if e.Failure != nil && !e.Unknown && !e.Gone {
		m.tellAfter = w.now.Add(doubling(time.Second, m.tellFailures, time.Minute))
		m.tellFailures++
		m.tellFailure = e.Failure.Message
		r.missed(m, e, w.now)
		return
	}
	m.tellFailures, m.tellFailure, m.tellAfter = 0, "", time.Time{}
	r.dirty, m.heardIn = true, l.steps
	if e.Unknown || e.Gone {
		l.notKnown(r, m, e)
		return
	}
	switch e.What {
	case TellAdmit:
		at.Scheduler, at.Ref, at.Cordoned, at.Interrupted = e.Scheduler, e.Ref, false, false
		at.Since = max(at.Since, e.Revision)
		m.connected, m.ended = true, 0
	case TellCordon:
		at.Cordoned, at.Since = true, max(at.Since, e.Revision)
		heard(at, m.said)
		m.stopped = w.now
	case TellUncordon:
		at.Cordoned, at.Interrupted, at.Since = false, false, max(at.Since, e.Revision)
	case TellRemove:
		at.Removed = true
	}
}

// heard notes what beside the cordon a scheduler acknowledged.
func heard(at *fleet.Scheduling, said Tell) {
	at.Interrupted = at.Interrupted || said.Cause == string(lifecycle.ForInterruption)
	at.Forced = at.Forced || said.Force
}

// notKnown deals with a scheduler that doesn't know the runner, or isn't part of
// the definition any more: from there no new lease can come.
func (l *Loop) notKnown(r *row, m *rowMemory, e Told) {
	at := &r.Scheduling
	switch {
	case e.What == TellRemove || e.Gone:
		// One that isn't part of the definition any more is nobody to wait for. What
		// it leased goes on, and only the agent's own word ends it.
		at.Scheduler, at.Removed = e.Scheduler, true
	case e.What == TellCordon:
		at.Cordoned = true
		heard(at, m.said)
	default: // it forgot an admitted runner, which is admitted again
		at.Ref, m.connected = "", false
	}
}

// leaseFree says why no job of a scheduler can be on the row's host or come to
// it: the scheduler's half of the proof that a runner is idle. One runner's
// state is never inferred from a sum, and no clocks are compared.
func (l *Loop) leaseFree(r *row) (proof string, ok bool) {
	at := r.Scheduling
	switch {
	case at.Scheduler == "":
		return "", true // no scheduler has ever heard of it
	case at.Removed:
		return "No scheduler counts on it any more.", true
	case !at.Cordoned:
		return "", false
	}
	s := l.schedulers[at.Scheduler]
	if s != nil && s.blind == "" && s.usage == nil {
		// It lists no runners: its word that it gives no new lease must do, and the
		// end of the runner's own process is the rest.
		return "Its scheduler gives it no new lease.", true
	}
	u, listed, known := l.usage(r)
	switch {
	case !known:
		return "", false
	case !listed:
		return fmt.Sprintf("Its scheduler doesn't know it, as of revision %d.", s.revision), true
	case u.Cordoned && u.Leases == 0:
		return fmt.Sprintf("Its scheduler shows it cordoned and without a lease, as of revision %d.", s.revision), true
	}
	return "", false
}

// schedulersIn are the schedulers that fleets or rows have to do with.
func (l *Loop) schedulersIn(w *work) []fleet.SchedulerAddress {
	all := map[fleet.SchedulerAddress]bool{}
	for _, r := range w.rows {
		if r.Scheduling.Told() {
			all[r.Scheduling.Scheduler] = true
		}
	}
	for _, f := range w.fleets {
		if f.Scheduler != "" {
			all[f.Scheduler] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
