package text

import (
	"fmt"
	"strings"
	"time"
)

// Moment is a time with its date, in UTC: "2026-11-30 14:02 UTC".
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Clock is a time of a day that is known, in UTC: "14:02 UTC".
func Clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }

// ClockUp is Clock on the minute that isn't before the time.
func ClockUp(t time.Time) string { return Clock(t.UTC().Add(time.Minute - 1).Truncate(time.Minute)) }

// In is how long it is from now until a time: "5s", and at least a second.
func In(until, now time.Time) string {
	return Duration(max(until.Sub(now).Round(time.Second), time.Second))
}

// Duration is a duration without its empty parts: "1m", "90s".
func Duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Passed is how much of a time has passed, in the largest unit that divides it: "4 of
// 15 minutes".
func Passed(passed, whole time.Duration) string {
	passed = max(0, min(passed, whole))
	unit, name := time.Second, "second"
	switch {
	case whole >= 2*time.Hour && whole%time.Hour == 0:
		unit, name = time.Hour, "hour"
	case whole >= 2*time.Minute && whole%time.Minute == 0:
		unit, name = time.Minute, "minute"
	}
	return fmt.Sprintf("%d of %s", passed/unit, Plural(int(whole/unit), name))
}
