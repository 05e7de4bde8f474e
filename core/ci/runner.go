package ci

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/retry"
)

// Runner is what is known of a runner at its scheduler.
type Runner struct {
	// IdleSince is since when its scheduler has shown it without a lease; zero: it
	// doesn't. Leases is what it last showed.
	IdleSince time.Time
	Leases    int
	// Connected says that this process has what the runner needs to connect to its
	// scheduler.
	Connected bool
	// NextCall delays the next call about it after some have failed.
	NextCall time.Time
	failures int
	// called is the last call about it, acknowledged the step that took in the last
	// acknowledgement; 0: none yet.
	called       Call
	acknowledged int
	// stopped is when its scheduler last acknowledged to give it no job.
	stopped time.Time
	// ends counts how often its worker's process has ended lately, the last time at
	// endedAt, by ran, what its agent counts in all.
	ends, ran int
	endedAt   time.Time
}

// Called notes that a call went out.
func (m *Runner) Called(c Call) { m.called = c }

// Repeats says that the scheduler acknowledged this very call and hasn't been observed
// since. What it shows contradicts that, perhaps because its revisions don't grow as
// they should; after an observation it is told again, and not without end.
func (m *Runner) Repeats(c Call, s *Scheduler) bool {
	return m.called.same(c) && m.acknowledged > 0 && s != nil && s.observedIn <= m.acknowledged
}

// MakeDue makes everything due that is spaced by the clock: it was set back.
func (m *Runner) MakeDue() {
	m.NextCall, m.IdleSince, m.stopped, m.endedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// Failed takes in that a call wasn't answered, or refused.
func (m *Runner) Failed(at *fleet.Scheduling, a Answer, now time.Time) (changed bool) {
	m.NextCall = now.Add(retry.Delay(time.Second, m.failures, time.Minute))
	m.failures++
	return m.admissionFailed(at, a, now)
}

// Acknowledged takes in what a scheduler answered, and what of it is to be stored.
func (m *Runner) Acknowledged(at *fleet.Scheduling, a Answer, now time.Time, step int) {
	m.failures, m.NextCall, m.acknowledged = 0, time.Time{}, step
	if a.Unknown || a.Gone {
		m.notKnown(at, a)
		return
	}
	switch a.Kind {
	case Admit:
		at.Scheduler, at.Ref, at.Cordoned, at.Interrupted = a.Scheduler, a.Ref, false, false
		at.Since = max(at.Since, a.Revision)
		m.Connected, m.ends = true, 0
	case Cordon:
		at.Cordoned, at.Since = true, max(at.Since, a.Revision)
		m.cordonedWith(at)
		m.stopped = now
	case Uncordon:
		at.Cordoned, at.Interrupted, at.Since = false, false, max(at.Since, a.Revision)
	case Remove:
		at.Removed = true
	}
}

// cordonedWith notes what beside the cordon the last call said.
func (m *Runner) cordonedWith(at *fleet.Scheduling) {
	at.Interrupted = at.Interrupted || m.called.Cause == string(lifecycle.ForInterruption)
	at.Forced = at.Forced || m.called.Force
}

// notKnown deals with a scheduler that doesn't know the runner, or isn't part of
// the definition any more: from there no new lease can come.
func (m *Runner) notKnown(at *fleet.Scheduling, a Answer) {
	switch {
	case a.Kind == Remove || a.Gone:
		// One that isn't part of the definition any more is no one to wait for. What
		// it leased continues, and only the agent's own word ends it.
		at.Scheduler, at.Removed = a.Scheduler, true
	case a.Kind == Cordon:
		at.Cordoned = true
		m.cordonedWith(at)
	default: // it forgot an admitted runner, which is admitted again
		at.Ref, m.Connected = "", false
	}
}

// CountLeases notes how many leases a runner has, and since when it has none. One that
// can't be seen is not idle, and none was for time in which this process didn't
// listen: the machine slept, or its clock was set ahead. unneededSince is since when
// it could have been done without, for a scheduler that lists no runners.
func (m *Runner) CountLeases(
	s *Scheduler,
	i *fleet.CapacityInstance,
	unneededSince func() time.Time,
	listeningSince time.Time,
) {
	if s.ListsNone() {
		m.Leases, m.IdleSince = 0, unneededSince()
		return
	}
	u, listed, known := s.Usage(i)
	if known {
		m.Leases = u.Leases
	}
	switch {
	case !known || !listed || u.Leases > 0:
		m.IdleSince = time.Time{}
	case m.IdleSince.IsZero():
		m.IdleSince = later(s.Snapshot.ObservedAt, listeningSince)
	default:
		m.IdleSince = later(m.IdleSince, listeningSince)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
