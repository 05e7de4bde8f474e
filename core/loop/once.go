package loop

import (
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// A scheduler that admits once gives a runner's credential in one answer and
// never again, and nobody stores it. An answer that is lost costs one new
// attempt, under a fresh name: the runner of the first is counted by its scheduler
// as one that never came. After that the host is put aside for a person.
const (
	mostAttempts = 2
	// attemptAgain is how long the second attempt waits: what swallowed the first
	// answer shows in the next looks at the scheduler, and then none is made.
	attemptAgain = 15 * time.Second
)

// wantsAdmission says that a healthy row's scheduler must be told of it.
func (l *Loop) wantsAdmission(r *row, address fleet.SchedulerAddress) bool {
	at := r.Scheduling
	if address.AdmitsOnce() {
		return at.Ref == "" && at.Attempts < mostAttempts && l.scheduler(address).blind == ""
	}
	_, listed, known := l.usage(r)
	return at.Ref == "" || !l.row(r.ID).connected || known && !listed
}

// noteAdmission stores what an admission is about to be sent with: from then on
// the instance may have leases.
func (r *row) noteAdmission(t Tell) {
	at := &r.Scheduling
	if at.Scheduler == "" {
		at.Scheduler, r.dirty = t.Scheduler, true
	}
	if t.Runner.Hostile && !at.Hostile { // what it may have heard once it may still go by
		at.Hostile, r.dirty = true, true
	}
	if t.Scheduler.AdmitsOnce() {
		at.Attempts, at.Leaves, r.dirty = t.Runner.Attempt, t.Runner.IdleTimeout > 0, true
	}
}

// missed takes in that an admission got no answer. One that surely had no effect
// was none.
func (r *row) missed(m *rowMemory, e Told, now time.Time) {
	if e.What != TellAdmit || !e.Scheduler.AdmitsOnce() {
		return
	}
	if e.NotDone {
		r.Scheduling.Attempts, r.dirty = max(0, r.Scheduling.Attempts-1), true
		return
	}
	m.tellAfter = later(m.tellAfter, now.Add(attemptAgain))
}

// connects says that a row's runner has, or had, what it needs to connect.
func (l *Loop) connects(r *row) bool {
	if r.Scheduling.Scheduler.AdmitsOnce() {
		return r.Scheduling.Ref != ""
	}
	return l.row(r.ID).connected
}

// missCredentials finds the healthy rows whose credential nobody has any more, and
// those that can't be admitted again. A manager that starts anew has none: what
// runs goes on with its own, and what doesn't run can't begin.
func (l *Loop) missCredentials(w *work) {
	for _, r := range w.rows {
		at := &r.Scheduling
		if r.State != fleet.Healthy || !at.Scheduler.AdmitsOnce() || !at.Told() {
			continue
		}
		m, useless := l.row(r.ID), l.endsAgainAndAgain(w, r)
		if at.Ref != "" && (useless || !m.connected && l.restsWithout(r)) {
			at.Ref, r.dirty = "", true // the memory stays as it is until the commit
		}
		if _, talking := l.tells[r.ID]; at.Ref == "" && at.Attempts >= mostAttempts && !talking {
			w.move(r, fleet.Quarantined, lifecycle.CredentialLost,
				fmt.Sprintf("scheduler.%s was asked for a credential %d times, and none is of use: the answers were lost, or a process with one ends again and again. See what it made, and drain the instance.", at.Scheduler, at.Attempts))
		}
	}
}

// restsWithout says that a row's agent has told this process that its worker
// doesn't run, and that it isn't about to leave for that.
func (l *Loop) restsWithout(r *row) bool {
	if r.runner == nil || !r.runner.LastBeat.After(l.settings.Started) {
		return false
	}
	report := r.runner.Report
	return report.Phase == fleet.PhaseIdle && report.GroupEmpty && report.Heard == string(lifecycle.Run) &&
		(report.JobsRun == 0 || !r.Scheduling.Leaves && r.fleet.Runner.MaxJobs == 0)
}

// A process that was given a credential ends when nobody knows it any more, as after
// the scheduler was restored from a backup, and its agent begins it again and again:
// sums don't say whose it is. After so many ends, each so soon after the one before,
// the credential is taken for lost.
const (
	mostEnds = 5
	endsSoon = 10 * time.Minute
)

// endsAgainAndAgain says that a row's worker does, while its scheduler answers. One
// that ends by itself as it should takes its agent along, and isn't meant.
func (l *Loop) endsAgainAndAgain(w *work, r *row) bool {
	m := l.row(r.ID)
	if r.runner == nil || r.Scheduling.Leaves || r.fleet.Runner.MaxJobs > 0 {
		return false
	}
	more := r.runner.Report.JobsRun - m.ran
	m.ran = r.runner.Report.JobsRun
	switch {
	case !m.connected || l.scheduler(r.Scheduling.Scheduler).blind != "":
		m.ended = 0
	case more > 0 && w.now.Sub(m.endedAt) > endsSoon:
		m.ended, m.endedAt = 1, w.now
	case more > 0:
		m.ended, m.endedAt = m.ended+more, w.now
	}
	return m.ended >= mostEnds
}

// stopAgain is how long a process may go on after its runner was stopped before that is
// said again. It may have a job; but a scheduler that was restored from a backup may
// have forgotten the stop, and nothing that it says would show that.
const stopAgain = 5 * time.Minute

// stopsAgain says that a row's scheduler must be told once more.
func (l *Loop) stopsAgain(w *work, r *row) bool {
	at := r.Scheduling
	return at.Cordoned && at.Scheduler.StopsForGood() && r.runner != nil && !r.runner.Report.GroupEmpty && w.now.Sub(l.row(r.ID).stopped) >= stopAgain
}

// idleTimeout is after how long without work a row's runner ends by itself, where
// its scheduler's runners can: nobody knows better than they whether they have a
// job. Where the file wants hosts without work, or a minimum is paid for, the
// planner says which.
func (w *work) idleTimeout(r *row) time.Duration {
	f := r.fleet
	reserved := slices.ContainsFunc(w.stored.Reservations, func(r fleet.CapacityReservation) bool { return r.Class.ID() == f.Class.ID() })
	if _, overridden := w.stored.Standing.Override(f, w.now); overridden || reserved || f.Scaling.Min > 0 || f.Scaling.Warm > 0 || len(f.Scaling.Schedules) > 0 || f.Forecast != (fleet.Forecast{}) || f.Joined || f.Protected || r.Cost.Minimum > 0 {
		return 0
	}
	return max(time.Second, f.Scaling.ScaleDown.IdleGrace)
}

// leavesFirst is how much longer than its idle timeout a runner that ends by itself
// is waited for.
const leavesFirst = time.Minute

// countSurplus notes since when a fleet has had more capacity than it needs.
func (l *Loop) countSurplus(w *work, f fleet.RunnerFleetID, capacity, desired int) {
	if capacity <= desired {
		delete(l.surplus, f)
	} else if l.surplus[f].IsZero() {
		l.surplus[f] = w.now
	}
}

// unneeded is since when a row could have been done without, where its scheduler
// doesn't say what it does: since its fleet has had more than it needs. To stop such
// a runner ends no job.
func (l *Loop) unneeded(r *row) time.Time {
	since := l.surplus[r.Fleet]
	if since.IsZero() || r.State != fleet.Healthy {
		return time.Time{}
	}
	since = later(later(since, r.Since), l.witnessed)
	if r.Scheduling.Leaves {
		since = since.Add(leavesFirst)
	}
	return since
}
