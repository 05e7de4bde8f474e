package executor

import (
	"testing"
	"time"
)

func TestAClockIsSetByWhatItGoesOnMoreThanTime(t *testing.T) {
	last := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	for name, one := range map[string]struct {
		last        time.Time
		clock, time time.Duration
		want        time.Duration
	}{
		"it wasn't set":         {last, 2 * time.Second, 2 * time.Second, 0},
		"it drifts":             {last, 2*time.Second + 300*time.Millisecond, 2 * time.Second, 0},
		"set ahead":             {last, 14 * time.Second, 2 * time.Second, 12 * time.Second},
		"set back":              {last, -8 * time.Second, 2 * time.Second, -10 * time.Second},
		"the first reading":     {time.Time{}, time.Hour, 0, 0},
		"a machine that slept":  {last, time.Hour, time.Second, time.Hour - time.Second},
		"the readings are real": {time.Now(), time.Second, time.Second, 0},
	} {
		if got := setBy(one.last, one.last.Add(one.clock), one.time); got != one.want {
			t.Errorf("%s: %s, want %s", name, got, one.want)
		}
	}
}
