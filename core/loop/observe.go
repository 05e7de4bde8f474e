package loop

import (
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// recordObservation takes in what a scheduler showed. What one acknowledged that was
// restored or started again doesn't hold any more: it is told everything again.
func (l *Loop) recordObservation(w *step, e Observed) {
	s := l.scheduler(e.Scheduler)
	if e.Failure != nil {
		s.NotObserved(e.Failure.Message)
		return
	}
	o := ci.Observation{Snapshot: e.Snapshot, Lists: e.Lists, Uncordons: e.Uncordons}
	if s.Observe(o, w.acknowledged(e.Scheduler), w.now, l.listeningSince, l.steps) {
		w.voidAcknowledgements(e.Scheduler)
	}
}

// acknowledged is the highest revision that a scheduler's runners wait for.
func (w *step) acknowledged(address fleet.SchedulerAddress) int64 {
	var highest int64
	for _, r := range w.rows {
		if r.Scheduling.Scheduler == address && r.Scheduling.Told() {
			highest = max(highest, r.Scheduling.Since)
		}
	}
	return highest
}

// voidAcknowledgements voids every acknowledgement of a scheduler.
func (w *step) voidAcknowledgements(address fleet.SchedulerAddress) {
	for _, r := range w.rows {
		if s := &r.Scheduling; s.Scheduler == address && (s.Since != 0 || s.Cordoned || s.Interrupted || s.Forced) {
			s.Since, s.Cordoned, s.Interrupted, s.Forced, r.dirty = 0, false, false, false, true
		}
	}
}

// schedulerOf is what is known of the scheduler that was told of the row; nil: nothing.
func (l *Loop) schedulerOf(r *row) *ci.Scheduler { return l.schedulers[r.Scheduling.Scheduler] }

// leaseFree says why no job of a scheduler can be on the row's host or come to it.
func (l *Loop) leaseFree(r *row) (proof reason.Reason, ok bool) {
	return l.schedulerOf(r).LeaseFree(&r.CapacityInstance)
}

// countLeases notes which runners have leases and since when the others have none.
func (l *Loop) countLeases(w *step) {
	for _, r := range w.rows {
		if !r.Scheduling.Told() {
			continue
		}
		m := &l.row(r.ID).runner
		m.CountLeases(l.schedulerOf(r), &r.CapacityInstance, func() time.Time { return l.unneededSince(r) }, l.listeningSince)
		r.leases = m.Leases
	}
}

// usages are what the schedulers show of instances, and showed of those that they
// have been told to forget.
func (l *Loop) usages(w *step) map[fleet.CapacityInstanceID]snapshot.Usage {
	out := make(map[fleet.CapacityInstanceID]snapshot.Usage, len(w.rows))
	for _, r := range w.rows {
		if m := l.rows[r.ID]; r.Live() && m != nil && (r.Scheduling.Told() || !m.runner.IdleSince.IsZero()) {
			out[r.ID] = snapshot.Usage{Leases: r.leases, IdleSince: m.runner.IdleSince}
		}
	}
	return out
}

// demand is what the schedulers of the fleets say, for the planner.
func (l *Loop) demand(w *step) map[fleet.SchedulerAddress]snapshot.Demand {
	out := map[fleet.SchedulerAddress]snapshot.Demand{}
	for _, f := range w.fleets {
		if f.Scheduler == "" {
			continue
		}
		s := l.scheduler(f.Scheduler)
		out[f.Scheduler] = snapshot.Demand{Snapshot: s.Snapshot, Unobserved: s.Unobservable, Uncordons: s.Uncordons}
	}
	return out
}

// observations returns an Observe effect for every scheduler that is due.
func (l *Loop) observations(w *step) []Effect {
	var effects []Effect
	for _, address := range l.schedulersIn(w) {
		if s := l.scheduler(address); !s.Observing && !w.now.Before(l.observationDue(w, address)) {
			effects = append(effects, Observe{Scheduler: address})
		}
	}
	return effects
}

func (l *Loop) observationDue(w *step, address fleet.SchedulerAddress) time.Time {
	var awaited int64
	for _, r := range w.rows {
		if r.State == fleet.Draining && r.Scheduling.Scheduler == address && r.Scheduling.Cordoned {
			awaited = max(awaited, r.Scheduling.Since)
		}
	}
	return l.scheduler(address).NextObservation(w.now, awaited)
}

// schedulersIn are the schedulers that fleets or rows have to do with.
func (l *Loop) schedulersIn(w *step) []fleet.SchedulerAddress {
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
