package forecast

import (
	"cmp"
	"slices"
	"time"
)

const (
	// Bucket is the time for which one number is kept: the most runners that were
	// needed in it.
	Bucket = 5 * time.Minute
	// Retention is how long a number is kept.
	Retention = 8 * 7 * 24 * time.Hour

	day  = int(24 * time.Hour / Bucket)
	week = 7 * day
	most = int(Retention / Bucket)
)

// Slot is the number of a bucket, counted from the beginning of 1970.
type Slot int64

// SlotOf is the bucket of a moment.
func SlotOf(at time.Time) Slot {
	const seconds = int64(Bucket / time.Second)
	n := at.Unix() / seconds
	if at.Unix()%seconds < 0 {
		n--
	}
	return Slot(n)
}

// Start is when a bucket begins.
func (s Slot) Start() time.Time {
	return time.Unix(int64(s)*int64(Bucket/time.Second), 0).UTC()
}

// Run is a number of runners that was needed in each bucket from First to Last.
type Run struct {
	First, Last Slot
	Needed      int
}

// unknown stands for a bucket in which no one looked.
const unknown = -1

// largest bounds a number: whatever is above is not a number of runners.
const largest = 1_000_000

// history is what was needed in each bucket from first on.
type history struct {
	first  Slot
	needed []int32
}

// historyOf puts runs together, as they are in a store: in any order, and with
// whatever a clock that was set made of them. Of two that overlap the one that
// begins later counts; what isn't past is none.
func historyOf(runs []Run, now Slot) history {
	var h history
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(a.First, b.First) })
	for _, r := range runs {
		for slot := max(r.First, now-Slot(most)); slot <= min(r.Last, now-1); slot++ {
			h.set(slot, r.Needed)
		}
	}
	return h
}

// set notes the number of a bucket. What lies between it and the last one is
// unknown; what is older than Retention is forgotten.
func (h *history) set(slot Slot, needed int) {
	if needed < 0 {
		return
	}
	if len(h.needed) == 0 {
		h.first = slot
	}
	if slot < h.first {
		return
	}
	h.reach(slot + 1)
	h.needed[slot-h.first] = int32(min(needed, largest))
}

// reach makes it end before a bucket, at least.
func (h *history) reach(end Slot) {
	if end-h.first > 2*Slot(most) {
		h.first, h.needed = end-1, h.needed[:0] // all of it is too old
	}
	for h.first+Slot(len(h.needed)) < end {
		h.needed = append(h.needed, unknown)
	}
	if over := len(h.needed) - most; over > 0 {
		h.first, h.needed = h.first+Slot(over), h.needed[over:]
	}
}

// cut forgets a bucket and all that follow.
func (h *history) cut(from Slot) {
	h.needed = h.needed[:max(0, min(Slot(len(h.needed)), from-h.first))]
}

// until is what was needed in each bucket before one, from the first known bucket
// on.
func (h *history) until(end Slot) []int32 {
	if len(h.needed) == 0 || end <= h.first {
		return nil
	}
	h.reach(end)
	needed := h.needed[:end-h.first]
	if begins := slices.IndexFunc(needed, func(n int32) bool { return n != unknown }); begins >= 0 {
		return needed[begins:]
	}
	return nil
}
