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
		turns, went := newTurns(), make(chan func(), 100)
		ask := func(ctx context.Context, address fleet.SchedulerAddress) {
			end, err := turns.take(ctx, address)
			if err != nil {
				t.Error(err)
				return
			}
			went <- end
		}
		for range 3 * tellsAtOnce {
			go ask(t.Context(), "scheduler.slow")
		}
		synctest.Wait()
		if len(went) != tellsAtOnce {
			t.Fatalf("%d calls are under way at once, not %d", len(went), tellsAtOnce)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := turns.take(stopped, "scheduler.slow"); !errors.Is(err, context.Canceled) {
			t.Errorf("who gives up gets %v", err)
		}
		end, err := turns.take(t.Context(), "scheduler.other")
		if err != nil {
			t.Fatal(err)
		}
		end()
		for range 3 * tellsAtOnce {
			(<-went)()
		}
	})
}
