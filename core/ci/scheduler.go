package ci

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Scheduler is what is known of a scheduler.
type Scheduler struct {
	// Unobservable is why nothing may be concluded from it now; zero: it can be seen.
	Unobservable reason.Reason
	// Snapshot is what it showed last, Uncordons that a cordon can be taken back.
	Snapshot  fleet.CapacityDemandSnapshot
	Uncordons bool
	// Observing is set while an observation is under way.
	Observing bool

	// observed is when the last observation was asked for.
	observed time.Time
	// revision is of the last observation, usage what that shows by runner; nil: it
	// lists none.
	revision int64
	usage    map[fleet.SchedulerRunnerRef]fleet.RunningCapacityUsage
	// behind is since when its observations have been older than what it
	// acknowledged.
	behind time.Time
	// observedIn is the step that took in the last observation, searchedIn that of the
	// observation that was last searched for unknown runners.
	observedIn, searchedIn int
	unknown                map[fleet.SchedulerRunnerRef]*unknownRunner
}

// NewScheduler is one of which nothing is known yet.
func NewScheduler() *Scheduler {
	return &Scheduler{Unobservable: reason.Of(reason.SchedulerNotAnswered{})}
}

// Observation is what a scheduler showed.
type Observation struct {
	Snapshot fleet.CapacityDemandSnapshot
	// Lists says that Snapshot.Running is every admitted runner, Uncordons that a
	// cordon can be taken back.
	Lists, Uncordons bool
}

// settledInterval is how often a scheduler is observed, EagerInterval how often while
// a drain waits for what it shows.
const (
	settledInterval = 2 * time.Second
	EagerInterval   = 500 * time.Millisecond
)

// NextObservation is when it should be observed next. awaited is the revision that a
// drain waits to see; 0: none does.
func (s *Scheduler) NextObservation(now time.Time, awaited int64) time.Time {
	switch {
	case s.observed.IsZero():
		return now
	case s.revision < awaited:
		return s.observed.Add(EagerInterval)
	}
	return s.observed.Add(settledInterval)
}

// BeginObservation notes that it is being observed.
func (s *Scheduler) BeginObservation(now time.Time) { s.Observing, s.observed = true, now }

// LastObservation is when the last observation was asked for.
func (s *Scheduler) LastObservation() time.Time { return s.observed }

// MakeDue makes everything due that is spaced by the clock: it was set back.
func (s *Scheduler) MakeDue() {
	s.observed, s.behind, s.Snapshot.ObservedAt = time.Time{}, time.Time{}, time.Time{}
	for _, u := range s.unknown {
		u.nextCall = time.Time{}
	}
}

// NotObserved takes in that an observation failed. That is not empty queue and no idle
// runner: it says nothing.
func (s *Scheduler) NotObserved(message string) {
	s.Observing, s.Unobservable = false, reason.Of(reason.SchedulerError{Message: message})
}

// Observe takes in what a scheduler showed. acknowledged is the highest revision that
// its runners wait for. forgot says that it was restored or started again: what it
// acknowledged before may not hold any more, so it must be told again, and only newer
// observations count.
func (s *Scheduler) Observe(o Observation, acknowledged int64, now, listeningSince time.Time, step int) (forgot bool) {
	s.Observing = false
	if o.Snapshot.ObservedAt.After(now) { // the clock was set back meanwhile
		o.Snapshot.ObservedAt = now
	}
	s.Uncordons = o.Uncordons
	if o.Snapshot.Revision < s.revision || s.fellBehind(o.Snapshot.Revision, acknowledged, now, listeningSince) {
		s.Unobservable = reason.Of(reason.RevisionWentBack{From: max(s.revision, acknowledged), To: o.Snapshot.Revision})
		s.revision, s.behind = o.Snapshot.Revision, time.Time{}
		return true
	}
	s.Unobservable, s.revision, s.Snapshot, s.usage = reason.Reason{}, o.Snapshot.Revision, o.Snapshot, nil
	s.observedIn = step
	if o.Lists {
		s.usage = make(map[fleet.SchedulerRunnerRef]fleet.RunningCapacityUsage, len(o.Snapshot.Running))
		for _, u := range o.Snapshot.Running {
			s.usage[u.Runner] = u
		}
	}
	return false
}

// behindLimit is how long the observations of a scheduler may be older than what it
// acknowledged before that means more than a list that lags.
const behindLimit = time.Minute

// fellBehind says that a scheduler's revision has been lower than one that it
// acknowledged, for too long: it went back where no observation saw it, as while
// another process of ours ran.
func (s *Scheduler) fellBehind(revision, acknowledged int64, now, listeningSince time.Time) bool {
	if revision >= acknowledged {
		s.behind = time.Time{}
		return false
	}
	if s.behind.IsZero() {
		s.behind = now
	}
	return now.Sub(later(s.behind, listeningSince)) >= behindLimit
}

// ListsNone says that it can be seen and lists no runners.
func (s *Scheduler) ListsNone() bool { return s != nil && s.Unobservable.IsZero() && s.usage == nil }

// Usage is what the last observation shows of an instance, if it shows anything: it
// must not be older than what the scheduler acknowledged. listed is false where a
// complete list doesn't have it.
func (s *Scheduler) Usage(i *fleet.CapacityInstance) (u fleet.RunningCapacityUsage, listed, known bool) {
	at := i.Scheduling
	if s == nil || !s.Unobservable.IsZero() || s.usage == nil || !at.Told() || s.revision < at.Since {
		return u, false, false
	}
	ref := at.Ref
	if ref == "" {
		ref = fleet.SchedulerRunnerRef(i.ID)
	}
	u, listed = s.usage[ref]
	return u, listed, true
}

// LeaseFree says why no job of the instance's scheduler can be on its host or come to
// it: the scheduler's half of the proof that a runner is idle.
func (s *Scheduler) LeaseFree(i *fleet.CapacityInstance) (proof reason.Reason, ok bool) {
	at := i.Scheduling
	switch {
	case at.Scheduler == "":
		return proof, true // no scheduler has ever heard of it
	case at.Removed:
		return reason.Of(reason.RunnerRemoved{}), true
	case !at.Cordoned:
		return proof, false
	}
	if s.ListsNone() {
		// Its word that it gives no new lease must do, and the end of the runner's own
		// process is the rest.
		return reason.Of(reason.NoNewLease{}), true
	}
	u, listed, known := s.Usage(i)
	switch {
	case !known:
		return proof, false
	case !listed:
		return reason.Of(reason.RunnerUnknown{Revision: s.revision}), true
	case u.Cordoned && u.Leases == 0:
		return reason.Of(reason.RunnerWithoutLease{Revision: s.revision}), true
	}
	return proof, false
}
