package loop

import (
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// checkCredentials finds the healthy rows whose credential no one has any more, and
// quarantines those that can't be admitted again.
func (l *Loop) checkCredentials(w *step) {
	for _, r := range w.rows {
		at := &r.Scheduling
		if r.State != fleet.Healthy || !at.Scheduler.AdmitsOnce() || !at.Told() {
			continue
		}
		if l.row(r.ID).runner.LostCredential(l.scheduler(at.Scheduler), l.subject(w, r), l.settings.Started, w.now) {
			at.Ref, r.dirty = "", true // the memory stays as it is until the commit
		}
		if _, calling := l.schedulerCallsUnderWay[r.ID]; at.Ref == "" && at.Attempts >= ci.MaxAttempts && !calling {
			w.move(r, fleet.Quarantined, lifecycle.CredentialLost,
				reason.CredentialLost{Scheduler: string(at.Scheduler), Attempts: at.Attempts, Instance: string(r.ID)})
		}
	}
}

// idleTimeout is after how long without work a row's runner ends by itself, where
// its scheduler's runners can: no one knows better than they whether they have a
// job. Where the file wants hosts without work, or a minimum is paid for, the
// planner says which.
func (w *step) idleTimeout(r *row) time.Duration {
	f := r.fleet
	reserved := slices.ContainsFunc(
		w.stored.Reservations,
		func(r fleet.CapacityReservation) bool { return r.Class.ID() == f.Class.ID() },
	)
	if _, overridden := w.stored.Overrides.ScaleOverride(
		f,
		w.now,
	); overridden || reserved || f.Scaling.Min > 0 || f.Scaling.Warm > 0 || len(f.Scaling.Schedules) > 0 ||
		f.Forecast != (fleet.Forecast{}) || f.Joined || f.Protected ||
		r.Cost.Minimum > 0 {
		return 0
	}
	return max(time.Second, f.Scaling.ScaleDown.IdleGrace)
}

// leavesFirst is how much longer than its idle timeout a runner that ends by itself
// is waited for.
const leavesFirst = time.Minute

// countSurplus notes since when a fleet has had more capacity than it needs.
func (l *Loop) countSurplus(w *step, f fleet.RunnerFleetID, capacity, desired int) {
	if capacity <= desired {
		delete(l.surplus, f)
	} else if l.surplus[f].IsZero() {
		l.surplus[f] = w.now
	}
}

// unneededSince is since when a row could have been done without, where its scheduler
// doesn't say what it does: since its fleet has had more than it needs. To stop such
// a runner ends no job.
func (l *Loop) unneededSince(r *row) time.Time {
	since := l.surplus[r.Fleet]
	if since.IsZero() || r.State != fleet.Healthy {
		return time.Time{}
	}
	since = later(later(since, r.Since), l.listeningSince)
	if r.Scheduling.Leaves {
		since = since.Add(leavesFirst)
	}
	return since
}
