package agentserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// recorder keeps the newest facts of every runner that calls and stores them in
// batches: one write per interval, with the runners of which something changed
// and those whose stored heartbeat gets old. One goroutine writes, so that facts
// of one runner are never stored in the wrong order.
type recorder struct {
	store    Store
	interval time.Duration
	now      func() time.Time
	wake     func()
	log      *slog.Logger

	mu      sync.Mutex
	entries map[fleet.RunnerID]*entry

	flushes chan chan error // asks for a flush now
	stop    chan struct{}   // closed to end the goroutine
	done    chan struct{}   // closed when it has ended
	once    sync.Once
	failing bool // the last write failed; only the goroutine uses it
}

// entry is what is known of one runner.
type entry struct {
	runner  fleet.Runner
	version uint64 // counts changes, to see those that came during a write
	changed bool   // differs from the store in more than liveness
	wakes   bool   // the loop waits for the change
	stored  time.Time
	touched time.Time
	// fresh is how old the stored heartbeat may get.
	fresh time.Duration
}

// forgetAfter is when facts of a runner that stopped calling leave the memory.
const forgetAfter = 10 * time.Minute

// errRecorderClosed says that the manager stops and takes no more facts.
var errRecorderClosed = errors.New("the manager is stopping")

func startRecorder(store Store, interval time.Duration, now func() time.Time, wake func(), log *slog.Logger) *recorder {
	r := &recorder{
		store: store, interval: interval, now: now, wake: wake, log: log,
		entries: map[fleet.RunnerID]*entry{},
		flushes: make(chan chan error),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	go r.run()
	return r
}

// record changes what is known of a runner. stored is the row as just read; it
// counts where nothing newer is known, and always for Revoked.
func (r *recorder) record(stored fleet.Runner, fresh time.Duration, change func(*fleet.Runner)) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[stored.ID]
	if e == nil {
		// That somebody is heard again after a start is news by itself.
		e = &entry{runner: stored, stored: stored.LastBeat, fresh: fresh, changed: true, wakes: true}
		r.entries[stored.ID] = e
	}
	before := e.runner
	e.runner.Revoked = stored.Revoked
	change(&e.runner)
	e.version++
	e.touched = now
	if fresh > 0 {
		e.fresh = fresh
	}
	e.changed = e.changed || !reflect.DeepEqual(settled(before), settled(e.runner))
	e.wakes = e.wakes || !reflect.DeepEqual(notable(before), notable(e.runner))
}

// known is how many runners call, give or take those that stopped just now.
func (r *recorder) known() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.entries)
}

// settled is a runner without what changes in every heartbeat.
func settled(r fleet.Runner) fleet.Runner {
	r.Beats, r.LastBeat, r.Skew, r.Report.Load1, r.Report.DiskFree = 0, time.Time{}, 0, 0, 0
	return r
}

// notable is the part of a runner that the loop decides on.
func notable(r fleet.Runner) fleet.Runner {
	r = settled(r)
	r.Serial, r.NotAfter, r.Address, r.Report.JobsRun, r.Report.LastExit = "", time.Time{}, "", 0, ""
	return r
}

// flush stores what is known and waits for it.
func (r *recorder) flush(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case r.flushes <- answer:
	case <-r.done:
		return errRecorderClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close stores the rest, including the last heartbeats, and ends the goroutine.
func (r *recorder) close(ctx context.Context) error {
	r.once.Do(func() { close(r.stop) })
	select {
	case <-r.done:
	case <-ctx.Done():
		return fmt.Errorf("wait for the facts of runners to be stored: %w", ctx.Err())
	}
	return r.write(ctx, true)
}

func (r *recorder) run() {
	defer close(r.done)
	tick := time.NewTicker(r.interval)
	defer tick.Stop()
	for {
		var waiting []chan error
		select {
		case <-r.stop:
			return
		case <-tick.C:
		case answer := <-r.flushes:
			waiting = append(waiting, answer)
		more: // everybody who asked meanwhile is served by the same write
			for {
				select {
				case answer := <-r.flushes:
					waiting = append(waiting, answer)
				default:
					break more
				}
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
		err := r.write(ctx, false)
		cancel()
		for _, answer := range waiting {
			answer <- err
		}
		r.logChange(err)
	}
}

// write stores what is due, or everything newer than the store.
func (r *recorder) write(ctx context.Context, everything bool) error {
	now := r.now()
	var batch []fleet.Runner
	versions := map[fleet.RunnerID]uint64{}
	wakes := false
	r.mu.Lock()
	for id, e := range r.entries {
		newer := e.runner.LastBeat.After(e.stored)
		if e.changed || newer && (everything || now.Sub(e.stored) >= e.fresh) {
			batch = append(batch, e.runner)
			versions[id] = e.version
			wakes = wakes || e.wakes
		} else if !newer && now.Sub(e.touched) > forgetAfter {
			delete(r.entries, id)
		}
	}
	r.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	if err := r.store.RecordRunners(ctx, batch); err != nil {
		return fmt.Errorf("store the facts of %d runners: %w", len(batch), err)
	}
	r.mu.Lock()
	for _, written := range batch {
		e := r.entries[written.ID]
		e.stored = written.LastBeat
		if e.version == versions[written.ID] {
			e.changed, e.wakes = false, false
		}
	}
	r.mu.Unlock()
	if wakes {
		r.wake()
	}
	return nil
}

// logChange tells when writes begin to fail and when they work again.
func (r *recorder) logChange(err error) {
	if failing := err != nil; failing != r.failing {
		r.failing = failing
		if failing {
			r.log.Error("runner facts could not be stored; trying again", "error", err)
		} else {
			r.log.Info("runner facts are stored again")
		}
	}
}
