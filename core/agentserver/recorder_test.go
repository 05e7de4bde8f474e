package agentserver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// batches is a store that remembers what it was given.
type batches struct {
	Store
	mu      sync.Mutex
	written [][]fleet.Runner
	failure error
}

func (b *batches) RecordRunners(_ context.Context, runners []fleet.Runner) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure != nil {
		return b.failure
	}
	b.written = append(b.written, runners)
	return nil
}

func (b *batches) count() int { b.mu.Lock(); defer b.mu.Unlock(); return len(b.written) }

// recording runs a test with a recorder in virtual time.
func recording(t *testing.T, test func(t *testing.T, r *recorder, b *batches, wakes *int)) {
	synctest.Test(t, func(t *testing.T) {
		b, wakes := &batches{}, new(int)
		wake := func() {
			if b.count() == 0 {
				t.Error("the loop was woken before anything was stored")
			}
			*wakes++
		}
		r := startRecorder(b, time.Second, time.Now, wake, slog.New(slog.DiscardHandler))
		test(t, r, b, wakes)
		if err := r.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// beat is a heartbeat in which nothing changed but its time.
func beat(r *recorder, id fleet.RunnerID) {
	r.record(fleet.Runner{ID: id}, 5*time.Second, func(f *fleet.Runner) {
		f.Beats++
		f.LastBeat = time.Now()
		f.Report.Phase = fleet.PhaseIdle
		f.Report.Load1 += 0.1
	})
}

func TestBeatsWithoutAChangeAreStoredOnlyWhenTheStoredOneGetsOld(t *testing.T) {
	recording(t, func(t *testing.T, r *recorder, b *batches, wakes *int) {
		time.Sleep(500 * time.Millisecond) // not at the moment of a tick
		ids := []fleet.RunnerID{"a", "b", "c"}
		for range 60 {
			for _, id := range ids {
				beat(r, id)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		// 180 beats in a minute: one batch at first and then one each five seconds.
		if n := b.count(); n < 10 || n > 14 {
			t.Errorf("%d batches were written", n)
		}
		for _, batch := range b.written {
			if len(batch) != len(ids) {
				t.Errorf("a batch has %d runners", len(batch))
			}
		}
		if *wakes != 1 {
			t.Errorf("the loop was woken %d times; only the first phase is news", *wakes)
		}
	})
}

func TestAChangeOfPhaseIsStoredInTheNextBatchAndThenWakes(t *testing.T) {
	recording(t, func(t *testing.T, r *recorder, b *batches, wakes *int) {
		beat(r, "a")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		written, woken := b.count(), *wakes
		r.record(fleet.Runner{ID: "a"}, 0, func(f *fleet.Runner) { f.Report.Phase = fleet.PhaseStopped })
		time.Sleep(time.Second)
		synctest.Wait()
		if b.count() != written+1 || *wakes != woken+1 {
			t.Errorf("%d batches and %d wakes came of it", b.count()-written, *wakes-woken)
		}
		if last := b.written[len(b.written)-1][0]; last.Report.Phase != fleet.PhaseStopped || last.Beats != 1 {
			t.Errorf("stored was %+v", last)
		}
	})
}

// The loop waits for the agent's word under its own order: an old "stopped" under
// a new order is news, though the phase is the same.
func TestTheEchoOfAnotherOrderIsStoredInTheNextBatchAndWakes(t *testing.T) {
	for name, change := range map[string]func(*fleet.AgentReport){
		"another order":    func(r *fleet.AgentReport) { r.Order = "stop-2" },
		"another word":     func(r *fleet.AgentReport) { r.Heard = "stop" },
		"its own problem":  func(r *fleet.AgentReport) { r.Unhealthy = "2 processes of a job can't be ended" },
		"the problem gone": func(r *fleet.AgentReport) { r.GroupEmpty = true },
	} {
		t.Run(name, func(t *testing.T) {
			recording(t, func(t *testing.T, r *recorder, b *batches, wakes *int) {
				beat(r, "a")
				time.Sleep(2 * time.Second)
				synctest.Wait()
				written, woken := b.count(), *wakes
				r.record(fleet.Runner{ID: "a"}, 0, func(f *fleet.Runner) { change(&f.Report) })
				time.Sleep(time.Second)
				synctest.Wait()
				if b.count() != written+1 || *wakes != woken+1 {
					t.Errorf("%d batches and %d wakes came of it", b.count()-written, *wakes-woken)
				}
			})
		})
	}
}

func TestFactsSurviveAStoreThatFails(t *testing.T) {
	recording(t, func(t *testing.T, r *recorder, b *batches, wakes *int) {
		full := errors.New("the disk is full")
		b.failure = full
		r.record(fleet.Runner{ID: "a"}, 0, func(f *fleet.Runner) { f.Alert = "x" })
		if err := r.flush(t.Context()); !errors.Is(err, full) {
			t.Errorf("the flush says %v", err)
		}
		if *wakes != 0 {
			t.Error("the loop was woken for nothing")
		}
		b.failure = nil
		if err := r.flush(t.Context()); err != nil || len(b.written) != 1 || b.written[0][0].Alert != "x" || *wakes != 1 {
			t.Errorf("afterwards %v, %d batches, %d wakes", err, len(b.written), *wakes)
		}
	})
}

func TestTheLastBeatsAreStoredAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batches{}
		r := startRecorder(b, time.Second, time.Now, func() {}, slog.New(slog.DiscardHandler))
		beat(r, "a")
		time.Sleep(1500 * time.Millisecond)
		beat(r, "a") // nothing new, and not old yet
		if err := r.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if last := b.written[len(b.written)-1]; len(b.written) != 2 || last[0].Beats != 2 {
			t.Errorf("%d batches, the last is %+v", len(b.written), last)
		}
		if err := r.flush(t.Context()); !errors.Is(err, errRecorderClosed) {
			t.Errorf("a flush after the end says %v", err)
		}
	})
}

func TestARevocationIsNotUndoneByOlderFacts(t *testing.T) {
	recording(t, func(t *testing.T, r *recorder, b *batches, _ *int) {
		beat(r, "a")
		r.record(fleet.Runner{ID: "a", Revoked: time.Now()}, 0, func(*fleet.Runner) {})
		if err := r.flush(t.Context()); err != nil || b.written[0][0].Revoked.IsZero() {
			t.Errorf("%v, stored was %+v", err, b.written[0][0])
		}
	})
}

func TestRunnersThatStoppedCallingLeaveTheMemory(t *testing.T) {
	recording(t, func(t *testing.T, r *recorder, _ *batches, _ *int) {
		beat(r, "a")
		time.Sleep(forgetAfter + 2*time.Second)
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.entries) != 0 {
			t.Errorf("%d are kept", len(r.entries))
		}
	})
}
