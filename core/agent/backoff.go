package agent

import "time"

// Backoff says how long to wait after failures: First, then twice as long each
// time, at most Most.
type Backoff struct {
	First, Most time.Duration
}

// After is the wait after the given number of failures in a row, without jitter.
func (b Backoff) After(failures int) time.Duration {
	wait := b.First
	for range failures - 1 {
		if wait >= b.Most {
			break
		}
		wait *= 2
	}
	return min(wait, b.Most)
}

// Jittered is between half of After and all of it, so that agents that lost
// their manager together don't come back together.
func (b Backoff) Jittered(failures int, random float64) time.Duration {
	wait := b.After(failures)
	return wait/2 + time.Duration(random*float64(wait)/2)
}
