package schedule

import "time"

// Window is how a schedule stands at a moment.
type Window struct {
	// Open says that one of its windows has begun and hasn't ended.
	Open bool
	// Changes is when that changes: a window ends into no other one, or the next one
	// begins. Zero: not for a long time.
	Changes time.Time
}

// Ahead is how far a begin is looked for. What is later than that comes into sight
// in time.
const Ahead = 2 * 366 * 24 * time.Hour

// joins bounds how many windows, each of which begins before the one before it has
// ended, are followed to the end of the last one.
const joins = 200

// At is how the windows stand that begin by the calendar and last a duration. Where
// they are longer than the time from one begin to the next they are one.
func (c *Calendar) At(now time.Time, duration time.Duration) Window {
	begin, open := c.Last(now, now.Add(-duration))
	if !open {
		next, _ := c.Next(now, now.Add(Ahead))
		return Window{Changes: next}
	}
	end := begin.Add(duration)
	for range joins {
		last, _ := c.Last(end, end.Add(-duration))
		if !last.Add(duration).After(end) {
			return Window{Open: true, Changes: end}
		}
		end = last.Add(duration)
	}
	return Window{Open: true}
}
