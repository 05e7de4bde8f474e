package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Config is what a worker needs to know.
type Config struct {
	// URL is the queue's; Runner is who this is, and Token proves it.
	URL, Runner, Token string
	// HostInterruption is the file by which the agent says that the host is taken
	// away; empty: it says nothing.
	HostInterruption string
	// Slots is how many jobs run side by side, MaxJobs how many are run in all; 0:
	// no limit.
	Slots, MaxJobs int
	// Folder is where each job gets its own; empty: the current folder.
	Folder string
	// Environ is this process's environment: the few variables of it that jobs see
	// too are taken from here.
	Environ []string
	// Poll is how long one question for a job may wait at the queue; 0: 30 s.
	Poll time.Duration
	// RetryFirst and RetryMost are how long after a failure a call is made again:
	// twice as long each time, with jitter; 0: 500 ms to 15 s.
	RetryFirst, RetryMost time.Duration
	// Grace is how long a job may take to end when it is asked to; 0: 10 s.
	Grace time.Duration
	// NewID gives names that were never used: letters, digits, - and _.
	NewID func() string
	// Random gives numbers in [0,1) for jitter.
	Random func() float64
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.URL == "" || c.Runner == "" || c.Token == "" {
		return c, fmt.Errorf(
			"a worker needs %s, %s and %s in its environment; the agent sets them once the queue has admitted the runner",
			URLVariable,
			RunnerVariable,
			TokenVariable,
		)
	}
	if c.Folder == "" {
		folder, err := os.Getwd()
		if err != nil {
			return c, fmt.Errorf("find the folder for jobs: %w", err)
		}
		c.Folder = folder
	}
	c.Slots = max(1, c.Slots)
	c.Poll = cmp.Or(c.Poll, 30*time.Second)
	c.RetryFirst = cmp.Or(c.RetryFirst, 500*time.Millisecond)
	c.RetryMost = cmp.Or(c.RetryMost, 15*time.Second)
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	return c, nil
}

// worker is one run of the worker's process.
type worker struct {
	Config
	queue   *queue
	session string
	// taking ends when no more jobs are to be taken.
	taking context.Context
	host   hostInterruption

	mu    sync.Mutex
	begun int
}

// Run takes jobs until taking ends, and returns when those that it has are over
// and their results delivered; or until MaxJobs have run. When ctx ends the jobs
// are ended, too. An error says that going on is of no use: the queue doesn't take
// this worker's credential, or another process works for the runner.
func Run(ctx, taking context.Context, c Config) error {
	c, err := c.withDefaults()
	if err != nil {
		return err
	}
	w := &worker{Config: c, queue: newQueue(c.URL, c.Runner, c.Token), session: c.NewID(),
		host: hostInterruption{heard: make(chan struct{})}}
	defer w.queue.close()
	// On a host that goes away no job is begun, whatever the queue would give.
	taking, stop := context.WithCancel(taking)
	defer stop()
	w.taking = taking
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { w.host.watch(ctx, c.HostInterruption, stop) })
	defer watching.Wait()
	defer cancel(nil)
	var slots sync.WaitGroup
	for range c.Slots {
		slots.Go(func() {
			if err := w.work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	slots.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return nil
}

// work runs one job after another.
func (w *worker) work(ctx context.Context) error {
	for w.reserve() {
		id, lease, err := w.next(ctx)
		if err != nil || lease == nil {
			w.release()
			return err
		}
		if err := w.run(ctx, id, *lease); err != nil {
			return err
		}
	}
	return nil
}

// reserve counts a job before it is asked for, so that slots together never run
// more than MaxJobs.
func (w *worker) reserve() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping() || w.MaxJobs > 0 && w.begun >= w.MaxJobs {
		return false
	}
	w.begun++
	return true
}

func (w *worker) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun--
}

func (w *worker) stopping() bool { return w.taking.Err() != nil }

// next asks for a job until there is one; nil: no more jobs are to be taken.
// Until the answer is heard it asks under the same id, so that a job that was
// given in a lost answer is given again, and not lost.
func (w *worker) next(ctx context.Context) (id string, lease *Lease, err error) {
	id = w.NewID()
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.taking, cancel)()
	for failures := 0; ; {
		lease, err := w.queue.lease(asking, id, LeaseRequest{Session: w.session, WaitSeconds: w.Poll.Seconds()}, w.Poll)
		switch {
		case ctx.Err() != nil:
			return "", nil, context.Cause(ctx)
		case w.stopping():
			w.giveBack(ctx, id)
			return "", nil, nil
		case err == nil && lease != nil:
			return id, lease, nil
		case err == nil:
			failures = 0
			continue // there was none
		case isRefused(err, void):
			id = w.NewID() // it was taken away again before the answer was heard
			continue
		case isRefused(err, unknown) || !isRefusal(err):
			failures++
			w.complain("ask for a job", failures, err)
			w.pause(asking, failures)
		default:
			return "", nil, err
		}
	}
}

// giveBack takes care that no job comes, or stays, under an id that isn't asked
// for any more. If the queue can't be reached, its lease expires by itself.
func (w *worker) giveBack(ctx context.Context, id string) {
	for failures := 1; failures <= 3; failures++ {
		err := w.queue.giveBack(ctx, id)
		if err == nil || isRefusal(err) {
			return
		}
		w.complain("give a lease back", failures, err)
		w.pause(ctx, failures)
	}
}

// deliver sends a result until the queue has it. A queue that is away is waited
// for.
func (w *worker) deliver(ctx context.Context, id string, result Result) error {
	for failures := 1; ; failures++ {
		err := w.queue.finish(ctx, id, result)
		switch {
		case err == nil:
			return nil
		case isRefused(err, void) || isRefused(err, unknown):
			w.Logger.Warn("the queue refused a job's result; if it knows the job, it runs it again", "answer", err.Error())
			return nil
		case isRefusal(err):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		w.complain("deliver a job's result", failures, err)
		w.pause(ctx, failures)
	}
}

// pause waits before a call is made again, with jitter, so that workers that lost
// their queue together don't come back together.
func (w *worker) pause(ctx context.Context, failures int) {
	wait := w.RetryFirst
	for range failures - 1 {
		if wait *= 2; wait >= w.RetryMost {
			wait = w.RetryMost
			break
		}
	}
	wait = wait/2 + time.Duration(w.Random()*float64(wait)/2)
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// complain logs the first failure of a row, and then ever fewer.
func (w *worker) complain(doing string, failures int, err error) {
	if failures&(failures-1) == 0 && !errors.Is(err, context.Canceled) {
		w.Logger.Warn("call to the queue failed; trying again", "call", doing, "times", failures, "error", err)
	}
}
