package lifecycle

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Runners that enrolled before the clock was set back counted as heard until it had
// caught up, so that only one of three that fell silent together was given up.
func TestSilenceIsCountedAfterClockIsSetBack(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	witnessed := now.Add(-10 * time.Minute) // when it was set back by 20 minutes
	heard := now.Add(-2 * time.Minute)
	for name, test := range map[string]struct {
		runner fleet.Runner
		want   time.Duration
	}{
		"enrolled before, and heard since": {fleet.Runner{Enrolled: now.Add(8 * time.Minute), LastBeat: heard},
			2 * time.Minute},
		"enrolled since": {fleet.Runner{Enrolled: heard.Add(-time.Minute), LastBeat: heard},
			2 * time.Minute},
		"only heard before": {
			fleet.Runner{Enrolled: now.Add(8 * time.Minute), LastBeat: now.Add(9 * time.Minute)}, 10 * time.Minute},
		"never heard, and enrolled":                 {fleet.Runner{Enrolled: heard}, 2 * time.Minute},
		"heard before the clock was set by seconds": {fleet.Runner{LastBeat: now.Add(20 * time.Second)}, -20 * time.Second},
	} {
		if got := SilentFor(test.runner, witnessed, now); got != test.want {
			t.Errorf("%s: silent for %s, want %s", name, got, test.want)
		}
	}
}
