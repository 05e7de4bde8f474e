package executor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// PruneInterval is how often the store is cleared of what ended long ago.
const PruneInterval = time.Hour

// housekeeping is what the log calls it.
var housekeeping = subject{what: "clearing the store of what ended long ago"}

// keepHouse clears the store now and then until the context ends or stop is
// called, which waits for a clearing under way. It runs beside the loop: nothing
// waits for it, and a failure costs space and nothing else.
func (e *Executor) keepHouse(ctx context.Context) (stop func()) {
	if e.settings.Prune == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(PruneInterval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			e.prune(ctx)
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (e *Executor) prune(ctx context.Context) {
	err := e.settings.Prune(ctx, e.settings.Clock())
	switch fenced := (*store.FencedError)(nil); {
	case err == nil:
		e.failures.well(housekeeping)
	case ctx.Err() != nil || errors.As(err, &fenced): // the loop meets the fence too, and tells
	default:
		e.failures.failed(
			slog.LevelWarn,
			housekeeping,
			"",
			"what ended long ago is still in the store; it is tried again",
			"error",
			err,
		)
	}
}
