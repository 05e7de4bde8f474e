package executor

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// maxSchedulerCalls bounds the calls about runners that are under way at one
// scheduler.
const maxSchedulerCalls = 16

// callLimits bounds the calls under way per scheduler, so that a slow one holds up
// no other.
type callLimits struct {
	mutex       sync.Mutex
	byScheduler map[fleet.SchedulerAddress]*semaphore.Weighted
}

func newCallLimits() *callLimits {
	return &callLimits{byScheduler: map[fleet.SchedulerAddress]*semaphore.Weighted{}}
}

// acquire waits until a call may go out; release says that it has ended. The error
// is the context's.
func (l *callLimits) acquire(ctx context.Context, address fleet.SchedulerAddress) (release func(), err error) {
	l.mutex.Lock()
	limit := l.byScheduler[address]
	if limit == nil {
		limit = semaphore.NewWeighted(maxSchedulerCalls)
		l.byScheduler[address] = limit
	}
	l.mutex.Unlock()
	if err := limit.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { limit.Release(1) }, nil
}
