package agentserver

import (
	"testing"
	"time"
)

func TestHeartbeatIntervalGrowsWithTheNumberOfRunners(t *testing.T) {
	tests := []struct {
		runners  int
		deadline time.Duration
		jitter   float64
		want     time.Duration
	}{
		{runners: 1, deadline: 2 * time.Minute, want: time.Second},
		{runners: 100, deadline: 2 * time.Minute, want: time.Second},
		{runners: 500, deadline: 2 * time.Minute, want: 5 * time.Second},
		{runners: 10_000, deadline: 2 * time.Minute, want: 10 * time.Second},
		{runners: 10_000, deadline: 20 * time.Second, want: 5 * time.Second}, // three may be lost
		{runners: 1, deadline: time.Second, want: 250 * time.Millisecond},
		{runners: 10_000, deadline: 2 * time.Minute, jitter: 0.5, want: 9 * time.Second},
	}
	for _, tt := range tests {
		if got := heartbeatInterval(tt.deadline, tt.runners, tt.jitter); got != tt.want {
			t.Errorf("%d runners with a deadline of %s: next heartbeat in %s, want %s", tt.runners, tt.deadline, got, tt.want)
		}
	}
}
