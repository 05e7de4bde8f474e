package executor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestSchedulerCallsAreLimitedPerScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits, went := newCallLimits(), make(chan func(), 100)
		ask := func(ctx context.Context, address fleet.SchedulerAddress) {
			end, err := limits.acquire(ctx, address)
			if err != nil {
				t.Error(err)
				return
			}
			went <- end
		}
		for range 3 * maxSchedulerCalls {
			go ask(t.Context(), "scheduler.slow")
		}
		synctest.Wait()
		if len(went) != maxSchedulerCalls {
			t.Fatalf("%d calls are under way at once, not %d", len(went), maxSchedulerCalls)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := limits.acquire(stopped, "scheduler.slow"); !errors.Is(err, context.Canceled) {
			t.Errorf("who gives up gets %v", err)
		}
		end, err := limits.acquire(t.Context(), "scheduler.other")
		if err != nil {
			t.Fatal(err)
		}
		end()
		for range 3 * maxSchedulerCalls {
			(<-went)()
		}
	})
}
