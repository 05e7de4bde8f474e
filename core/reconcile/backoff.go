package reconcile

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// backoff keeps a fleet whose instances fail from starting new ones at once
// [164]. It is memory only: after a restart one more try is made at once.
type backoff struct {
	failures int
	serial   int64
	hold     planner.Hold
}

const (
	firstBackoff = 5 * time.Second
	maxBackoff   = 5 * time.Minute
)

// fail notes a failure of a fleet's instance. Errors that only a person can
// mend wait the longest at once; others double from 5 s to 5 min.
func (l *Loop) fail(f fleet.ManagedFleet, now time.Time, failure *Failure) {
	b := l.backoffs[f.ID]
	if b == nil {
		b = &backoff{}
		l.backoffs[f.ID] = b
	}
	b.failures++
	b.serial = f.Serial
	wait := doubling(firstBackoff, b.failures-1, maxBackoff)
	class, message := fleet.ErrorTransient, "the answer was lost"
	if failure != nil {
		class, message = failure.Class, failure.Message
		if needsPerson(class) {
			wait = maxBackoff
		}
		wait = max(wait, failure.RetryAfter)
	}
	b.hold = planner.Hold{
		Until:       now.Add(wait),
		NeedsPerson: needsPerson(class),
		Reason:      fmt.Sprintf("%s in a row; the next try is in %s. Last: %s (%s)", failureCount(b.failures), wait, message, class),
	}
}

// needsPerson says that waiting alone won't help.
func needsPerson(c fleet.ErrorClass) bool {
	switch c {
	case fleet.ErrorAuth, fleet.ErrorPermission, fleet.ErrorInvalid, fleet.ErrorConflict:
		return true
	}
	return false
}

// forgive lifts the holds of a provider's fleets: a plugin process with a fresh
// configuration may fare better.
func (l *Loop) forgive(w *work, p fleet.ProviderAddress) {
	for id := range l.backoffs {
		if f, ok := w.fleets[id]; !ok || f.Provider == p {
			delete(l.backoffs, id)
		}
	}
}

// holds are the holds in force: not over, and of an unchanged definition. One
// that is over still counts its failures for the next.
func (l *Loop) holds(w *work) map[fleet.RunnerFleetID]planner.Hold {
	out := map[fleet.RunnerFleetID]planner.Hold{}
	for id, b := range l.backoffs {
		if f, ok := w.fleets[id]; !ok || f.Serial != b.serial {
			delete(l.backoffs, id)
			continue
		}
		if b.hold.Until.After(w.now) {
			out[id] = b.hold
		}
	}
	return out
}

func failureCount(n int) string {
	if n == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d failures", n)
}
