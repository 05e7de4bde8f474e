package executor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/store"
)

func TestTheStoreIsClearedAtTheStartAndEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		e := newExecutor(&script{wake: time.Minute}, &cloud{}, nil)
		e.settings.Prune = func(_ context.Context, now time.Time) error {
			at = append(at, now.Sub(began))
			return errors.New("disk full") // and it is tried again all the same
		}
		if err := run(t, e, 150*time.Minute); err != nil {
			t.Fatal(err)
		}
		if len(at) != 3 || at[0] != 0 || at[1] != time.Hour || at[2] != 2*time.Hour {
			t.Errorf("cleared at %v", at)
		}
	})
}

// The store is closed after Run: nothing may use it any more.
func TestAStopEndsAClearingUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := false
		log, written := lines()
		s := &script{wake: time.Second}
		e := newExecutor(s, &cloud{}, nil)
		e.settings.Log, e.failures.log = log, log
		e.settings.Prune = func(ctx context.Context, _ time.Time) error {
			<-ctx.Done()
			time.Sleep(time.Second) // the batch under way
			over = true
			return ctx.Err()
		}
		if err := run(t, e, time.Minute); err != nil {
			t.Fatal(err)
		}
		if !over || !s.abandoned {
			t.Errorf("clearing over: %v, loop abandoned its calls: %v", over, s.abandoned)
		}
		if got := strings.Join(written(), ""); got != "" {
			t.Errorf("an ordered stop is logged as a failure: %s", got)
		}
		if s.steps < 50 {
			t.Errorf("the loop waited for the clearing: %d steps", s.steps)
		}
	})
}

func TestAFencedWriterEndsItsHousekeeping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fenced := &store.FencedError{Ours: 1, Current: 2}
		e := newExecutor(&script{wake: time.Minute, errs: []error{nil, fenced}}, &cloud{}, nil)
		times := 0
		e.settings.Prune = func(context.Context, time.Time) error { times++; return fenced }
		if err := e.Run(t.Context(), t.Context()); !errors.As(err, &fenced) {
			t.Errorf("ended with %v", err)
		}
		time.Sleep(24 * time.Hour)
		if times != 1 {
			t.Errorf("cleared %d times", times)
		}
	})
}
