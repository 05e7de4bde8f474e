package loop

import (
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Noticed is what a provider's plugin told of one of its machines, unasked.
type Noticed struct {
	Provider fleet.ProviderAddress
	Instance fleet.ProviderInstanceRef
	// Notice is what was announced; the zero value: something about the machine has
	// changed, and is worth an inspection now.
	Notice fleet.Notice
}

func (Noticed) isEvent() {}

// applyNotices takes in what providers announced about hosts (spec §41): such a runner
// drains at once, whatever else it drains for. When the time of an interruption has
// come the machine ends, and what still runs on it is lost to the infrastructure.
func (l *Loop) applyNotices(w *step) {
	announced := map[fleet.ProviderAddress]map[fleet.ProviderInstanceRef][]fleet.Notice{}
	for address, p := range l.providers {
		announced[address] = p.Notices(w.now)
	}
	for _, r := range w.rows {
		if r.Live() && r.State != fleet.Terminating && r.State != fleet.Failed {
			var told []fleet.Notice
			if r.ProviderInstance != "" && l.provider(r.Provider).WrongAccount(&r.CapacityInstance).IsZero() {
				told = announced[r.Provider][r.ProviderInstance]
			}
			w.storeNotice(r, told)
			w.drainAnnounced(r)
		}
	}
}

// storeNotice stores the gravest notice about a row. The agent reports what stands
// now, so what it doesn't report any more is withdrawn; a provider withdraws
// nothing.
func (w *step) storeNotice(r *row, told []fleet.Notice) {
	var best *fleet.Interruption
	offer := func(source fleet.NoticeSource, n fleet.Notice) {
		if best == nil || n.Graver(best.Notice) {
			best = &fleet.Interruption{Notice: n, Source: source, Heard: w.now}
		}
	}
	have := r.Interruption
	stands := have.Stands()
	if r.runner != nil {
		for _, n := range r.runner.Report.Notices {
			offer(fleet.NoticedByAgent, n)
		}
		stands = stands && (have.Source != fleet.NoticedByAgent ||
			slices.ContainsFunc(r.runner.Report.Notices, func(n fleet.Notice) bool { return n.ID == have.ID }))
	}
	for _, n := range told {
		offer(fleet.NoticedByProvider, n)
	}
	switch {
	case best != nil && (!stands || best.Graver(have.Notice)):
		if have.Stands() && have.ID == best.ID {
			best.Heard = have.Heard
		}
		if have == nil || !sameNotice(*have, *best) {
			r.Interruption, r.dirty = best, true
		}
	case have.Stands() && !stands:
		gone := *have
		gone.Withdrawn = w.now
		r.Interruption, r.dirty = &gone, true
	}
}

// sameNotice compares what was announced, and not when it was heard. What was
// withdrawn and is told again stands again.
func sameNotice(a, b fleet.Interruption) bool {
	return a.Notice == b.Notice && a.Source == b.Source && a.Withdrawn.IsZero()
}

// drainAnnounced takes a row on whose provider announced something.
func (w *step) drainAnnounced(r *row) {
	i := r.Interruption
	if !i.Stands() {
		return
	}
	switch cause := lifecycle.CauseOf(i.Kind); {
	case r.State == fleet.Healthy:
		w.move(r, fleet.Draining, cause, reason.InterruptionMove{Notice: i.Announced()})
	case r.State == fleet.Draining && i.TakesAway() && lifecycle.Cause(r.Cause) != cause:
		w.move(r, fleet.Draining, cause, reason.InterruptionMove{Notice: i.Announced()})
	case i.TakesAway() && (r.State == fleet.Bootstrapping || r.State == fleet.Enrolling):
		w.move(r, fleet.Terminating, lifecycle.Withdrawn, reason.InterruptionMove{Notice: i.Announced(), Unused: true})
	}
	if i.Due(w.now) && lifecycle.Allowed(r.State, fleet.Terminating, lifecycle.Preempted) {
		w.move(r, fleet.Terminating, lifecycle.Preempted, reason.InterruptionMove{Notice: i.Announced(), Due: true})
	}
}

// takeBackTimeout is how long the end of a machine waits for its scheduler to take
// the jobs back. Where that can't be reached, it is told when it can: a runner that
// was removed as lost has its jobs run again, too. A clock that was set back makes
// it no longer than twice that.
const takeBackTimeout = 30 * time.Second

// mustTakeJobsBack says that a row's scheduler must be told to take its jobs back before
// the machine ends. It is the one place where force comes from: the table says
// for which causes.
func (l *Loop) mustTakeJobsBack(w *step, r *row) bool {
	return r.State == fleet.Terminating && lifecycle.Emergency(lifecycle.Cause(r.Ended)) &&
		r.Scheduling.Told() && !r.Scheduling.Forced && w.now.Sub(l.mayEndSince(r)).Abs() < takeBackTimeout
}

// mayEndSince is since when the machine could have been ended: no freeze has kept
// it.
func (l *Loop) mayEndSince(r *row) time.Time { return later(r.Since, l.row(r.ID).kept) }

// keepsRunning says that a machine runs on, since it is frozen, although it is to end:
// its jobs run on, too, and elsewhere they would run a second time.
func (w *step) keepsRunning(r *row) bool {
	return r.State == fleet.Terminating && lifecycle.Emergency(lifecycle.Cause(r.Ended)) && w.frozen(r) &&
		r.Seen == fleet.ResourceRunning
}
