package forecast

import (
	"math"
	"slices"
	"time"
)

// Recorder takes down what one fleet needs. It keeps the history in memory and says
// what of it is to be stored.
//
// A fleet that needs nothing stores nothing: how long that was is stored together
// with the next number that isn't zero, or by an ordered stop. If the manager dies
// before, those buckets are unknown to the next one, as is the time in which no
// manager ran.
type Recorder struct {
	history history
	// now is the last bucket that was begun, peak the most that was needed in it; begun
	// says that it hasn't ended.
	now   Slot
	peak  int
	begun bool
	run   Run // the last one that ended; Needed < 0: none since the start
	// unstored are the runs that the store lacks or has shorter, the oldest first.
	unstored []Run
}

// NewRecorder continues from what the store has.
func NewRecorder(stored []Run, now time.Time) *Recorder {
	return &Recorder{history: historyOf(stored, SlotOf(now)), run: Run{Needed: unknown}, now: math.MinInt64}
}

// See notes how many runners are needed now.
func (r *Recorder) See(now time.Time, needed int) {
	r.Close(now)
	at := SlotOf(now)
	if r.begun && at == r.now {
		r.peak = max(r.peak, needed)
		return
	}
	if at <= r.now {
		r.rewind(at)
	}
	r.begun, r.now, r.peak = true, at, max(0, needed)
}

// Close ends the bucket that was begun, if it is over.
func (r *Recorder) Close(now time.Time) {
	if r.begun && SlotOf(now) > r.now {
		r.end()
		r.begun = false
	}
}

// end closes the bucket.
func (r *Recorder) end() {
	r.history.set(r.now, r.peak)
	if r.run.Needed == r.peak && r.run.Last+1 == r.now {
		r.run.Last = r.now
	} else {
		r.run = Run{First: r.now, Last: r.now, Needed: r.peak}
	}
	r.store(r.run)
}

// store notes that a run is to be stored in the place of the one with the same
// beginning.
func (r *Recorder) store(run Run) {
	if n := len(r.unstored); n > 0 && r.unstored[n-1].First == run.First {
		r.unstored[n-1] = run
		return
	}
	r.unstored = append(r.unstored, run)
}

// rewind forgets what is later than the clock, which was set back.
func (r *Recorder) rewind(at Slot) {
	r.history.cut(at)
	for n := len(r.unstored); n > 0 && r.unstored[n-1].First >= at; n-- {
		r.unstored = r.unstored[:n-1]
	}
	switch {
	case r.run.Needed < 0 || r.run.Last < at:
	case r.run.First >= at:
		r.run = Run{Needed: unknown}
	default:
		r.run.Last = at - 1
		r.store(r.run)
	}
}

// Due are the runs to store now: at most once for each bucket, and none while
// nothing is needed.
func (r *Recorder) Due() []Run {
	if n := len(r.unstored); n == 0 || r.unstored[n-1].Needed == 0 {
		return nil
	}
	return r.unstored
}

// All are the runs to store before an ordered stop.
func (r *Recorder) All() []Run { return r.unstored }

// Stored notes that runs are stored which Due or All gave and nothing was seen
// since.
func (r *Recorder) Stored(runs []Run) { r.unstored = slices.Clone(r.unstored[len(runs):]) }
