package schedule

import (
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a machine without the files has the same days

	"github.com/adhocore/gronx"
)

// Calendar is a cron expression on the clock of a zone. It is never changed, and
// safe for concurrent use.
//
// Every time of the expression begins once on its day. One that doesn't exist,
// since the clock is put forward over it, begins in the moment in which that
// happens. One that exists twice, since the clock is put back, begins the first
// time; where the expression begins in every hour of the day it does so in the
// repeated hour, too.
type Calendar struct {
	zone *time.Location
	// minutes, hours and months are those of the expression, a bit each.
	minutes, hours, months uint64
	// day and weekday are the fields as the library reads them.
	day, weekday string
}

// source is what a calendar is made from.
type source struct{ cron, zone string }

// calendars are those that were read. One text always makes the same calendar, and
// zones are files, which no one wants to read for every fleet in every step.
var calendars sync.Map

// Read makes the calendar of a cron expression with five fields and a zone such as
// "Europe/Berlin".
func Read(cron, zone string) (*Calendar, error) {
	key := source{cron, zone}
	if known, found := calendars.Load(key); found {
		return known.(*Calendar), nil
	}
	c, err := read(cron, zone)
	if err != nil {
		return nil, err
	}
	calendars.Store(key, c)
	return c, nil
}

func read(cron, zone string) (*Calendar, error) {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q; zones are like \"Europe/Berlin\" or \"UTC\"", zone)
	}
	fields, err := gronx.Segments(cron)
	if err != nil || len(strings.Fields(cron)) != 5 || !gronx.IsValid(cron) {
		return nil, fmt.Errorf("%q is not a cron expression of five fields", cron)
	}
	c := &Calendar{zone: location, day: fields[3], weekday: fields[5]}
	checker := &gronx.SegmentChecker{}
	// due are the values of the field at a position for which the library says yes.
	due := func(position, first, last int, at func(int) time.Time) (set uint64, err error) {
		for value := first; value <= last; value++ {
			checker.SetRef(at(value))
			is, err := checker.CheckDue(fields[position], position)
			if err != nil {
				return 0, fmt.Errorf("%q is not a cron expression: %w", cron, err)
			}
			if is {
				set |= 1 << value
			}
		}
		return set, nil
	}
	if c.minutes, err = due(
		1,
		0,
		59,
		func(n int) time.Time { return time.Date(2024, 1, 1, 0, n, 0, 0, time.UTC) },
	); err != nil {
		return nil, err
	}
	if c.hours, err = due(
		2,
		0,
		23,
		func(n int) time.Time { return time.Date(2024, 1, 1, n, 0, 0, 0, time.UTC) },
	); err != nil {
		return nil, err
	}
	if c.months, err = due(
		4,
		1,
		12,
		func(n int) time.Time { return time.Date(2024, time.Month(n), 1, 0, 0, 0, 0, time.UTC) },
	); err != nil {
		return nil, err
	}
	return c, nil
}

// Zone is whose clock it follows.
func (c *Calendar) Zone() *time.Location { return c.zone }

// everyHour says that it begins in each hour of the day.
func (c *Calendar) everyHour() bool { return c.hours == 1<<24-1 }

// onDay says that the expression allows the day of a wall time.
func (c *Calendar) onDay(wall time.Time) bool {
	if c.months&(1<<wall.Month()) == 0 {
		return false
	}
	days := gronx.Gronx{C: &gronx.SegmentChecker{}}
	days.C.SetRef(wall)
	is, err := days.SegmentsDue([]string{"*", "*", "*", c.day, "*", c.weekday})
	return is && err == nil
}

// wallAfter is the first time of the expression at or after a wall time, and before
// another one. Wall times are what a clock shows, written as if it were UTC.
func (c *Calendar) wallAfter(from, before time.Time) (time.Time, bool) {
	from = from.Add(time.Minute - 1).Truncate(time.Minute)
	for from.Before(before) {
		year, month, day := from.Date()
		if c.months&(1<<month) == 0 {
			from = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if c.onDay(from) {
			for hour := nextBit(c.hours, from.Hour()); hour >= 0; hour = nextBit(c.hours, hour+1) {
				first := 0
				if hour == from.Hour() {
					first = from.Minute()
				}
				if minute := nextBit(c.minutes, first); minute >= 0 {
					at := time.Date(year, month, day, hour, minute, 0, 0, time.UTC)
					return at, at.Before(before)
				}
			}
		}
		from = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}, false
}

// wallBefore is the last time of the expression at or before a wall time, and not
// before another one.
func (c *Calendar) wallBefore(from, least time.Time) (time.Time, bool) {
	from = from.Truncate(time.Minute)
	for !from.Before(least) {
		year, month, day := from.Date()
		if c.months&(1<<month) == 0 {
			from = time.Date(year, month, 1, 0, -1, 0, 0, time.UTC)
			continue
		}
		if c.onDay(from) {
			for hour := lastBit(c.hours, from.Hour()); hour >= 0; hour = lastBit(c.hours, hour-1) {
				last := 59
				if hour == from.Hour() {
					last = from.Minute()
				}
				if minute := lastBit(c.minutes, last); minute >= 0 {
					at := time.Date(year, month, day, hour, minute, 0, 0, time.UTC)
					return at, !at.Before(least)
				}
			}
		}
		from = time.Date(year, month, day, 0, -1, 0, 0, time.UTC)
	}
	return time.Time{}, false
}

// nextBit is the first bit of a set from a place on; -1: there is none.
func nextBit(set uint64, from int) int {
	if set = set >> from << from; set == 0 || from > 63 {
		return -1
	}
	return bits.TrailingZeros64(set)
}

// lastBit is the last bit of a set up to a place; -1: there is none.
func lastBit(set uint64, to int) int {
	if to < 0 {
		return -1
	}
	return bits.Len64(set&(1<<(to+1)-1)) - 1
}
