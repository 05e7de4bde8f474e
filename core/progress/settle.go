package progress

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// Outcome is how the wait for an apply ended.
type Outcome struct {
	// Last is the newest progress.
	Last Progress
	// Ending says why the wait ended.
	Ending Ending
}

// Ending is why a wait ended.
type Ending string

// The endings. Stuck: only a person can take it on.
const (
	Settled     Ending = "settled"
	WaitOver    Ending = "wait_over"
	Stuck       Ending = "stuck"
	Interrupted Ending = "interrupted"
)

// Watched tells of its progress.
type Watched interface {
	Watch(ctx context.Context) iter.Seq2[Progress, error]
}

// Await watches until nothing of the definition is on its way any more, the wait
// is over, a person is needed, or ctx ends. Whatever is left continues by itself
// where a manager runs, else at the next apply.
func Await(ctx context.Context, s Watched, serial int64, wait time.Duration, observe func(Progress)) (Outcome, error) {
	watching, stop := context.WithTimeout(ctx, wait)
	defer stop()
	outcome := Outcome{Ending: WaitOver}
	for p, err := range s.Watch(watching) {
		if err != nil {
			if watching.Err() != nil {
				break // the wait is over, and that cut the connection
			}
			return outcome, fmt.Errorf("watch the apply: %w; the manager continues it; see forgeyard-fleet status", err)
		}
		observe(p)
		outcome.Last = p
		if p.Serial < serial {
			continue
		}
		switch {
		case p.Settled:
			outcome.Ending = Settled
			return outcome, nil
		case p.Stuck:
			outcome.Ending = Stuck
			return outcome, nil
		}
	}
	if ctx.Err() != nil {
		outcome.Ending = Interrupted
	}
	return outcome, nil
}

// stuck says that nothing moves any more and that what is missing needs a
// person: a provider that won't come back, a fleet held by an error that waiting
// doesn't mend, or a rollout that was halted.
func stuck(res loop.Result) bool {
	if res.Calls > 0 || len(res.Effects) > 0 {
		return false
	}
	waits := len(res.Observations.Blocked) > 0
	for _, i := range res.Instances {
		if _, blocked := res.Observations.Blocked[i.Provider]; !blocked && !lifecycle.Settled(i.State) {
			return false
		}
	}
	for _, f := range res.Plan.Fleets {
		waits = waits || f.Rollout != nil && f.Rollout.Stage == planner.RolloutHalted
	}
	for _, hold := range res.Holds() {
		waits = waits || hold.NeedsPerson
	}
	return waits
}
