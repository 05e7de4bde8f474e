package loop

import (
	"cmp"
	"maps"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/retry"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// backoff keeps a fleet whose instances fail from starting new ones at once
// (spec §164). It is memory only: after a restart one more try is made at once.
type backoff struct {
	failures int
	// last is when the last of them was.
	last   time.Time
	serial int64
	hold   snapshot.Hold
	// told says that the provider said how long to wait.
	told bool
}

const (
	firstBackoff = 5 * time.Second
	maxBackoff   = 5 * time.Minute
	// earlyEndAge is the age up to which the end of an instance is a failure.
	earlyEndAge = 5 * time.Minute
	// recoveryTime is how long a runner must be healthy before its fleet's failures are
	// forgotten.
	recoveryTime = time.Minute
)

// recordFailure notes a failure of a fleet's instance. Errors that only a person can
// mend wait the longest at once; others double from 5 s to 5 min.
func (w *step) recordFailure(f fleet.ManagedFleet, failure *Failure) {
	b := w.backoffs[f.ID]
	b.failures++
	b.last, b.serial = w.now, f.Serial
	wait := retry.Delay(firstBackoff, b.failures-1, maxBackoff)
	class, last := fleet.ErrorTransient, reason.Of(reason.AnswerLost{})
	b.told = false
	if failure != nil {
		class, last = failure.Class, failure.reason()
		if class.NeedsPerson() {
			wait = maxBackoff
		}
		b.told = failure.RetryAfter > wait
		wait = max(wait, failure.RetryAfter)
	}
	b.hold = snapshot.Hold{
		Until:       w.now.Add(wait),
		NeedsPerson: class.NeedsPerson(),
		Reason:      reason.Of(reason.FailuresInRow{Failures: b.failures, Last: last, Class: string(class)}),
	}
	w.backoffs[f.ID] = b
}

// recordCallFailure notes the failure of a row's provision call: of a batch, once.
func (w *step) recordCallFailure(r *row, failure *Failure) {
	batch := r.provision.Batch.Key
	if batch != "" && w.failedBatches[batch] {
		return
	}
	w.failedBatches[batch] = true
	w.recordFailure(r.fleet, failure)
}

// countFailures holds the fleets whose instances came to a bad end in this
// step, whatever the end was, and forgets the failures of those that have a runner
// since, which holds. One that was there before says nothing about new ones.
func (l *Loop) countFailures(w *step) {
	for _, e := range w.ends {
		if class, bad := endedEarly(w, e); bad {
			w.recordFailure(e.row.fleet, &Failure{Class: class, because: e.row.Reason})
		}
	}
	for _, r := range w.rows {
		b, failed := w.backoffs[r.Fleet]
		if failed && r.State == fleet.Healthy && !r.Since.Before(b.last) && !l.silent(w, r) &&
			w.now.Sub(r.Since) >= recoveryTime {
			delete(w.backoffs, r.Fleet)
		}
	}
}

// endedEarly says whether a move ended an instance before it was of use.
func endedEarly(w *step, e end) (fleet.ErrorClass, bool) {
	r := e.row
	if r.neverJoined() {
		return "", false
	}
	switch e.cause {
	case lifecycle.AdmissionRefused, lifecycle.EvidenceFailed:
		return fleet.ErrorInvalid, true
	case lifecycle.DeadlinePassed:
		return fleet.ErrorTransient, r.State == fleet.Failed
	case lifecycle.ResourceStopped, lifecycle.ProvenGone, lifecycle.RunnerLeft:
		if failed, ok := reason.As[reason.ResourceFailed](r.Reason); ok {
			// A shortage rests its offer and doesn't hold the fleet.
			class := cmp.Or(fleet.ErrorClass(failed.Class), fleet.ErrorTransient)
			return class, !market.IsShortage(class)
		}
		// A runner for one short job that went well is not a failure, whether or not
		// it could say that it left.
		wentWell := r.runner != nil && r.runner.Report.LastExit == fleet.JobSucceeded
		return fleet.ErrorTransient, w.now.Sub(r.Created) < earlyEndAge && r.terminate == nil && !wentWell
	}
	return "", false
}

// clearBackoffs lifts the holds of a provider's fleets: a plugin process with a fresh
// configuration may fare better.
func (w *step) clearBackoffs(p fleet.ProviderAddress) {
	for id := range w.backoffs {
		if f, ok := w.fleets[id]; !ok || f.Provider == p {
			delete(w.backoffs, id)
		}
	}
}

// retryNow ends the waits of fleets and markets for their next try, but for those that
// their provider asked for. The failures stay counted: what still isn't mended waits the
// longer.
func (l *Loop) retryNow(w *step) {
	for id, b := range w.backoffs {
		if !b.told {
			b.hold.Until = time.Time{}
			w.backoffs[id] = b
		}
	}
	l.markets.RetryFailed()
}

// holds are the holds in force: not over, and of an unchanged definition. One
// that is over still counts its failures for the next.
func (w *step) holds() map[fleet.RunnerFleetID]snapshot.Hold {
	out := map[fleet.RunnerFleetID]snapshot.Hold{}
	for id, b := range w.backoffs {
		if f, ok := w.fleets[id]; !ok || f.Serial != b.serial {
			delete(w.backoffs, id)
			continue
		}
		if b.hold.Until.After(w.now) {
			out[id] = b.hold
		}
	}
	for id, why := range w.blocked {
		out[id] = snapshot.Hold{NeedsPerson: true, Reason: why}
	}
	for id, why := range w.withoutBootstrap {
		out[id] = snapshot.Hold{NeedsPerson: true, Reason: why}
	}
	maps.DeleteFunc(out, func(id fleet.RunnerFleetID, _ snapshot.Hold) bool {
		return w.fleets[id].Operational == fleet.FleetDraining
	})
	for id, why := range w.damaged {
		out[id] = snapshot.Hold{NeedsPerson: true, Reason: why}
	}
	return out
}
