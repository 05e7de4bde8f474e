package loop

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// observed takes in a look at a scheduler. A failed one is no empty queue and no
// idle runner: it is nothing.
func (l *Loop) observed(w *work, e Observed) {
	s := l.scheduler(e.Scheduler)
	s.observing = false
	if e.Failure != nil {
		s.blind = e.Failure.Message
		return
	}
	if e.Snapshot.ObservedAt.After(w.now) { // the clock was set back meanwhile
		e.Snapshot.ObservedAt = w.now
	}
	s.uncordons = e.Uncordons
	if e.Snapshot.Revision < s.revision || l.fellBehind(w, s, e) {
		// It was restored or started anew. What it acknowledged before may not hold
		// any more, so it is told again, and only newer looks count.
		s.blind = fmt.Sprintf("its revision went back from %d to %d; it is told everything again", max(s.revision, w.acknowledged(e.Scheduler)), e.Snapshot.Revision)
		s.revision, s.behind = e.Snapshot.Revision, time.Time{}
		w.tellAgain(e.Scheduler)
		return
	}
	s.blind, s.revision, s.snapshot, s.usage = "", e.Snapshot.Revision, e.Snapshot, nil
	s.looked = l.steps
	if e.Lists {
		s.usage = make(map[fleet.SchedulerRunnerRef]fleet.RunningCapacityUsage, len(e.Snapshot.Running))
		for _, u := range e.Snapshot.Running {
			s.usage[u.Runner] = u
		}
	}
}

// behindFor is how long the looks at a scheduler may be older than what it
// acknowledged before that means more than a list that lags.
const behindFor = time.Minute

// fellBehind says that a scheduler's revision has been lower than one that it
// acknowledged, for too long: it went back where no look saw it, as while another
// process of ours ran.
func (l *Loop) fellBehind(w *work, s *schedulerMemory, e Observed) bool {
	if e.Snapshot.Revision >= w.acknowledged(e.Scheduler) {
		s.behind = time.Time{}
		return false
	}
	if s.behind.IsZero() {
		s.behind = w.now
	}
	return w.now.Sub(later(s.behind, l.witnessed)) >= behindFor
}

// acknowledged is the highest revision that a scheduler's runners wait for.
func (w *work) acknowledged(address fleet.SchedulerAddress) int64 {
	var highest int64
	for _, r := range w.rows {
		if r.Scheduling.Scheduler == address && r.Scheduling.Told() {
			highest = max(highest, r.Scheduling.Since)
		}
	}
	return highest
}

// tellAgain voids every acknowledgement of a scheduler.
func (w *work) tellAgain(address fleet.SchedulerAddress) {
	for _, r := range w.rows {
		if s := &r.Scheduling; s.Scheduler == address && (s.Since != 0 || s.Cordoned || s.Interrupted || s.Forced) {
			s.Since, s.Cordoned, s.Interrupted, s.Forced, r.dirty = 0, false, false, false, true
		}
	}
}

// usage is what the last look at its scheduler shows of a row, if it shows
// anything: the look must not be older than what the scheduler acknowledged.
// listed is false where a complete list doesn't have it.
func (l *Loop) usage(r *row) (u fleet.RunningCapacityUsage, listed, known bool) {
	s, at := l.schedulers[r.Scheduling.Scheduler], r.Scheduling
	if s == nil || s.blind != "" || s.usage == nil || !at.Told() || s.revision < at.Since {
		return u, false, false
	}
	ref := at.Ref
	if ref == "" {
		ref = fleet.SchedulerRunnerRef(r.ID)
	}
	u, listed = s.usage[ref]
	return u, listed, true
}

// countLeases notes which runners have leases and since when the others have
// none. Whoever can't be seen is not idle, and nobody was for time in which this
// process didn't listen: the machine slept, or its clock was set ahead.
func (l *Loop) countLeases(w *work) {
	for _, r := range w.rows {
		if !r.Scheduling.Told() {
			continue
		}
		m := l.row(r.ID)
		if s := l.schedulers[r.Scheduling.Scheduler]; s != nil && s.blind == "" && s.usage == nil {
			r.leases, m.leases, m.idle = 0, 0, l.unneeded(r)
			continue
		}
		u, listed, known := l.usage(r)
		if known {
			m.leases = u.Leases
		}
		r.leases = m.leases
		switch {
		case !known || !listed || u.Leases > 0:
			m.idle = time.Time{}
		case m.idle.IsZero():
			m.idle = l.scheduler(r.Scheduling.Scheduler).snapshot.ObservedAt
			fallthrough
		default:
			m.idle = later(m.idle, l.witnessed)
		}
	}
}

// usages are what the schedulers show of instances, and showed of those that they
// have been told to forget.
func (l *Loop) usages(w *work) map[fleet.CapacityInstanceID]snapshot.Usage {
	out := make(map[fleet.CapacityInstanceID]snapshot.Usage, len(w.rows))
	for _, r := range w.rows {
		if m := l.rows[r.ID]; r.Live() && m != nil && (r.Scheduling.Told() || !m.idle.IsZero()) {
			out[r.ID] = snapshot.Usage{Leases: r.leases, IdleSince: m.idle}
		}
	}
	return out
}

// demand is what the schedulers of the fleets say, for the planner.
func (l *Loop) demand(w *work) map[fleet.SchedulerAddress]snapshot.Demand {
	out := map[fleet.SchedulerAddress]snapshot.Demand{}
	for _, f := range w.fleets {
		if f.Scheduler == "" {
			continue
		}
		s := l.scheduler(f.Scheduler)
		out[f.Scheduler] = snapshot.Demand{Snapshot: s.snapshot, Unobserved: s.blind, Uncordons: s.uncordons}
	}
	return out
}

// Spacing of the looks at a scheduler: a settled one now and then, one on whose
// word a drain waits more often.
const (
	restfulObservation = 2 * time.Second
	eagerObservation   = 500 * time.Millisecond
)

// observations returns an Observe effect for every scheduler that is due.
func (l *Loop) observations(w *work) []Effect {
	var effects []Effect
	for _, address := range l.schedulersIn(w) {
		if s := l.scheduler(address); !s.observing && !w.now.Before(l.observationDue(w, address)) {
			effects = append(effects, Observe{Scheduler: address})
		}
	}
	return effects
}

func (l *Loop) observationDue(w *work, address fleet.SchedulerAddress) time.Time {
	s := l.scheduler(address)
	if s.observed.IsZero() {
		return w.now
	}
	spacing := restfulObservation
	for _, r := range w.rows {
		if r.State == fleet.Draining && r.Scheduling.Scheduler == address && r.Scheduling.Cordoned && s.revision < r.Scheduling.Since {
			spacing = eagerObservation
		}
	}
	return s.observed.Add(spacing)
}
