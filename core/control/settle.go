package control

import (
	"context"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reconcile"
)

// Outcome is how a run until everything is settled ended.
type Outcome struct {
	// Last is the result of the last step.
	Last reconcile.Result
	// Ending says why the run ended.
	Ending Ending
}

// Ending is why a run ended.
type Ending string

// The endings. Stuck: only a person can take it on.
const (
	Settled     Ending = "settled"
	WaitOver    Ending = "wait_over"
	Stuck       Ending = "stuck"
	Interrupted Ending = "interrupted"
)

// RunUntilSettled reconciles until nothing is on its way, the wait is over, a
// person is needed, or ctx ends. Whatever is left goes on at the next run.
func (m *Manager) RunUntilSettled(ctx context.Context, r Running, wait time.Duration) (Outcome, error) {
	running, stop := context.WithTimeout(ctx, wait)
	defer stop()
	var (
		mu      sync.Mutex
		outcome = Outcome{Ending: WaitOver}
	)
	observe := r.Observe
	r.Observe = func(res reconcile.Result) {
		observe(res)
		mu.Lock()
		defer mu.Unlock()
		outcome.Last = res
		switch {
		case res.Settled:
			outcome.Ending = Settled
			stop()
		case stuck(res):
			outcome.Ending = Stuck
			stop()
		}
	}
	err := m.Run(running, r)
	mu.Lock()
	defer mu.Unlock()
	if ctx.Err() != nil && outcome.Ending == WaitOver {
		outcome.Ending = Interrupted
	}
	return outcome, err
}

// stuck says that nothing moves any more and that what is missing needs a
// person: a provider that won't come back, or a fleet held by an error that
// waiting doesn't mend.
func stuck(res reconcile.Result) bool {
	if res.Calls > 0 || len(res.Effects) > 0 {
		return false
	}
	waits := len(res.Blocked) > 0
	for _, i := range res.Instances {
		if _, blocked := res.Blocked[i.Provider]; !blocked && !lifecycle.Settled(i.State) {
			return false
		}
	}
	for _, hold := range res.Holds {
		waits = waits || hold.NeedsPerson
	}
	return waits
}
