package retry

import (
	"testing"
	"time"
)

func TestDelayDoublesUpToItsLimit(t *testing.T) {
	for n, want := range map[int]time.Duration{
		-1: 5 * time.Second, 0: 5 * time.Second, 1: 10 * time.Second, 5: 160 * time.Second, 6: 5 * time.Minute,
		1000: 5 * time.Minute,
	} {
		if got := Delay(5*time.Second, n, 5*time.Minute); got != want {
			t.Errorf("after %d failures: %s, want %s", n, got, want)
		}
	}
}
