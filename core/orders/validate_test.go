package orders

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestOverrideMayLastAsLongAsTheLimit(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	v := &validation{decided: fleet.Attribution{At: at}}
	for d, want := range map[time.Duration]bool{-1: false, 0: false, 1: true, LongestOverride: true,
		LongestOverride + 1: false} {
		if until, err := v.until(d, LongestOverride); (err == nil) != want || want && !until.Equal(at.Add(d)) {
			t.Errorf("for %s: until %s, %v", d, until, err)
		}
	}
}
