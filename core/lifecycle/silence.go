package lifecycle

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Silence is a fact about a runner and never a state of it. It is measured by
// somebody who listened: witnessed is when that began, and time before it
// doesn't count.

// Silent says whether a runner missed its heartbeats.
func Silent(r fleet.Runner, heartbeat time.Duration, witnessed, now time.Time) bool {
	return SilentFor(r, witnessed, now) > heartbeat
}

// SilentFor is how long a runner is known to have been silent.
func SilentFor(r fleet.Runner, witnessed, now time.Time) time.Duration {
	last := Heard(r, witnessed, now)
	if witnessed.After(last) {
		last = witnessed
	}
	return now.Sub(last)
}

// SilentTogether says whether the listener rather than the runners is the likely reason
// for their silence: of at least three, over half fell silent within one
// heartbeat. beats are the last heartbeats of the silent ones, all is how many
// runners there are.
func SilentTogether(beats []time.Time, all int, heartbeat time.Duration) bool {
	if all < 3 || 2*len(beats) <= all {
		return false
	}
	first, last := beats[0], beats[0]
	for _, b := range beats {
		if b.Before(first) {
			first = b
		}
		if b.After(last) {
			last = b
		}
	}
	return last.Sub(first) <= heartbeat
}

// ahead is how far in the future a beat may be before it is from before the clock
// was set back. Less than that may pass unseen.
const ahead = time.Minute

// Heard is when the runner called last. A time that lies ahead says nothing: the
// clock was set back since, and witnessed is later than that.
func Heard(r fleet.Runner, witnessed, now time.Time) time.Time {
	last := r.LastBeat
	if last.IsZero() {
		last = r.Enrolled
	}
	if last.After(now.Add(ahead)) {
		return witnessed
	}
	return last
}
