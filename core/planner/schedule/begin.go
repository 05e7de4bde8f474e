package schedule

import "time"

// period is a time in which a zone's clock isn't set.
type period struct {
	// start and end are when it is set; zero: never.
	start, end time.Time
	// offset is how far the clock is ahead of UTC, before how far it was until
	// start.
	offset, before time.Duration
}

func (c *Calendar) period(at time.Time) period {
	at = at.In(c.zone)
	var p period
	p.start, p.end = at.ZoneBounds()
	p.offset = offset(at)
	p.before = p.offset
	if !p.start.IsZero() {
		p.before = offset(p.start.Add(-time.Nanosecond))
	}
	return p
}

func offset(at time.Time) time.Duration {
	_, seconds := at.Zone()
	return time.Duration(seconds) * time.Second
}

// wall is what the clock shows at a moment, and moment when it shows that.
func (p period) wall(at time.Time) time.Time     { return at.Add(p.offset).UTC() }
func (p period) moment(wall time.Time) time.Time { return wall.Add(-p.offset) }

// fresh is the wall time from which on the clock shows what it hasn't shown just
// before: later than its first one where it was put back.
func (c *Calendar) fresh(p period) time.Time {
	if p.before > p.offset && !c.everyHour() {
		return p.start.Add(p.before).UTC()
	}
	return p.wall(p.start)
}

// skips says that at its start the clock was put forward over a time of the
// expression.
func (c *Calendar) skips(p period) bool {
	if p.start.IsZero() || p.offset <= p.before {
		return false
	}
	_, over := c.wallAfter(p.start.Add(p.before).UTC(), p.wall(p.start))
	return over
}

// Next is the first begin after a moment and before another one.
func (c *Calendar) Next(after, before time.Time) (time.Time, bool) {
	for p, from := c.period(after), after.Add(time.Nanosecond); ; {
		wall := p.wall(from)
		if !p.start.IsZero() {
			if fresh := c.fresh(p); wall.Before(fresh) {
				wall = fresh
			}
		}
		end := before
		if !p.end.IsZero() && p.end.Before(before) {
			end = p.end
		}
		if at, found := c.wallAfter(wall, p.wall(end)); found {
			return p.moment(at), true
		}
		if !end.Before(before) {
			return time.Time{}, false
		}
		from = end
		if p = c.period(from); c.skips(p) {
			return p.start, true
		}
	}
}

// Last is the last begin at or before a moment and after another one.
func (c *Calendar) Last(at, after time.Time) (time.Time, bool) {
	for at.After(after) {
		p := c.period(at)
		least := p.wall(after.Add(time.Nanosecond))
		within := !p.start.IsZero() && p.start.After(after)
		if !p.start.IsZero() {
			if fresh := c.fresh(p); least.Before(fresh) {
				least = fresh
			}
		}
		if wall, found := c.wallBefore(p.wall(at), least); found {
			return p.moment(wall), true
		}
		if !within {
			return time.Time{}, false
		}
		if c.skips(p) {
			return p.start, true
		}
		at = p.start.Add(-time.Nanosecond)
	}
	return time.Time{}, false
}
