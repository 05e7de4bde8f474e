package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// hand is a clock that moves when it is told to.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hand) read() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func newHand() *hand { return &hand{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)} }

// counted gives job-1, job-2…
func counted() func() string {
	var mu sync.Mutex
	n := 0
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("job-%d", n)
	}
}

// over is a context that waits for nothing.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// world is a queue with a clock.
type world struct {
	t testing.TB
	*queue.Queue
	hand *hand
}

func newWorld(t testing.TB, change ...func(*queue.Options)) *world {
	h := newHand()
	o := queue.Options{Clock: h.read, NewID: counted(), LeaseTime: time.Minute}
	for _, c := range change {
		c(&o)
	}
	return &world{t: t, Queue: queue.New(o), hand: h}
}

// linux is a runner for most jobs.
var linux = forgeyard.Admit{
	OS:        "linux",
	Arch:      "x86_64",
	Trust:     "standard",
	Resources: forgeyard.Resources{CPUMilli: 4000, MemoryBytes: 8 << 30},
}

func (w *world) admit(id string, has forgeyard.Admit) {
	w.t.Helper()
	if _, err := w.Admit(id, has); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) submit(s queue.Submission) string {
	w.t.Helper()
	if len(s.Command) == 0 {
		s.Command = []string{"true"}
	}
	j, err := w.Submit(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return j.ID
}

// lease asks once, under the id, in the session "s".
func (w *world) lease(runner, id string) (worker.Lease, bool) {
	w.t.Helper()
	l, granted, err := w.Lease(over(), runner, "s", id)
	if err != nil {
		w.t.Fatalf("lease %s for %s: %v", id, runner, err)
	}
	return l, granted
}

func (w *world) job(id string) queue.Job {
	w.t.Helper()
	j, err := w.Job(id)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

func isKind(err error, kind queue.RefusalKind) bool {
	refused := (*queue.RefusedError)(nil)
	return errors.As(err, &refused) && refused.Kind == kind
}

// leases is what the listing shows of a runner; -1: nothing.
func (w *world) leases(runner string) int {
	for _, r := range w.Runners().Running {
		if r.Runner == runner {
			return r.Leases
		}
	}
	return -1
}
