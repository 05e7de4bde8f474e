package executor

import (
	"context"
	"sync"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// tellsAtOnce bounds the calls about runners that are under way at one scheduler.
const tellsAtOnce = 16

// turns lets so many calls at a time to each scheduler.
type turns struct {
	mu  sync.Mutex
	all map[fleet.SchedulerAddress]chan struct{}
}

func newTurns() *turns { return &turns{all: map[fleet.SchedulerAddress]chan struct{}{}} }

// take waits for a turn, which ends with the function that it returns. Its error is
// the context's.
func (t *turns) take(ctx context.Context, address fleet.SchedulerAddress) (end func(), err error) {
	t.mu.Lock()
	places := t.all[address]
	if places == nil {
		places = make(chan struct{}, tellsAtOnce)
		t.all[address] = places
	}
	t.mu.Unlock()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
