package queue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

func TestAJobThatWasLostWithItsRunnerIsRunAgainAndNotForEver(t *testing.T) {
	for name, lose := range map[string]func(w *world){
		"the runner was removed as lost to the infrastructure": func(w *world) {
			_ = w.Remove("r1", scheduler.RemovedInfrastructure)
		},
		"the lease expired":                func(w *world) { w.hand.move(time.Minute); w.Expire() },
		"the runner was cordoned by force": func(w *world) { _, _ = w.Cordon("r1", "security", true, 0) },
		"the worker was started again": func(w *world) {
			_, _, _ = w.Lease(over(), "r1", "another", "other")
			_ = w.Return("r1", "other")
		},
		"the job was cut off with its runner": func(w *world) {
			_ = w.Finish("r1", "l1", worker.Result{ExitStatus: -1, Interrupted: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *queue.Options) { o.MostLosses = 1 })
			w.admit("r1", linux)
			w.admit("r2", linux)
			id := w.submit(queue.Submission{})
			younger := w.submit(queue.Submission{})
			w.lease("r1", "l1")
			lose(w)
			if err := w.Finish("r1", "l1", worker.Result{}); err == nil {
				t.Error("the result of a lease that was lost was taken")
			}
			again, granted := w.lease("r2", "l1")
			if !granted || again.Job != id {
				t.Fatalf("the next runner got %+v, and the lost job is older than %s", again, younger)
			}
			if j := w.job(id); j.State != queue.Leased || j.Attempts != 2 || j.Losses != 1 || j.Runner != "r2" {
				t.Errorf("the job is %+v", j)
			}
			if err := w.Remove("r2", scheduler.RemovedInfrastructure); err != nil {
				t.Fatal(err)
			}
			if j := w.job(id); j.State != queue.Failed || !strings.Contains(j.Reason, "lost 2 times") || j.ExitStatus != nil {
				t.Errorf("after one loss too many the job is %+v", j)
			}
		})
	}
}

func TestALeaseThatIsRenewedDoesNotExpire(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", linux)
	id := w.submit(queue.Submission{})
	w.lease("r1", "l1")
	for range 5 {
		w.hand.move(59 * time.Second)
		if _, err := w.Renew(over(), "r1", "l1", "so far"); err != nil {
			t.Fatal(err)
		}
		w.Expire()
	}
	if tail, _ := w.Tail(id); w.job(id).State != queue.Leased || tail != "so far" {
		t.Errorf("the job is %+v with the output %q", w.job(id), tail)
	}
}

func TestAWorkerOfBeforeGetsNothingOnceAnotherHasBegun(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", linux)
	waits := make(chan error, 1)
	go func() {
		_, _, err := w.Lease(t.Context(), "r1", "old", "l1")
		waits <- err
	}()
	if _, _, err := w.Lease(over(), "r1", "old", "l0"); err != nil { // "old" has begun for sure
		t.Fatal(err)
	}
	w.lease("r1", "l2") // "s" has
	if _, _, err := w.Lease(over(), "r1", "old", "l3"); !isKind(err, queue.Superseded) {
		t.Errorf("the old one asks again and hears %v", err)
	}
	if err := <-waits; !isKind(err, queue.Superseded) {
		t.Errorf("the old one waited and hears %v", err)
	}
}

func TestALeaseThatIsGivenBackCostsTheJobNothing(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", forgeyard.Admit{MaxJobs: 1})
	id := w.submit(queue.Submission{})
	w.lease("r1", "l1")
	for range 2 {
		if err := w.Return("r1", "l1"); err != nil {
			t.Fatal(err)
		}
	}
	if j := w.job(id); j.State != queue.Waiting || j.Attempts != 0 || j.Losses != 0 {
		t.Errorf("the job is %+v", j)
	}
	if err := w.Return("r1", "never-asked"); err != nil {
		t.Fatal(err)
	}
	// The request that was overtaken by its own return comes in late.
	if _, _, err := w.Lease(over(), "r1", "s", "never-asked"); !isKind(err, queue.Void) {
		t.Errorf("a request that came after its return got %v", err)
	}
	if _, granted := w.lease("r1", "l2"); !granted {
		t.Error("a job that was given back counts for max_jobs")
	}
}

func TestJobsThatSaveTheirStateAreToldOfAnInterruption(t *testing.T) {
	w := newWorld(t, func(o *queue.Options) { o.CheckpointTime = 20 * time.Second })
	w.admit("r1", forgeyard.Admit{Slots: 2})
	w.submit(queue.Submission{Checkpoint: true})
	w.submit(queue.Submission{})
	w.lease("r1", "saves")
	w.lease("r1", "other")
	if _, err := w.Cordon("r1", queue.Interruption, false, 0); err != nil {
		t.Fatal(err)
	}
	w.hand.move(5 * time.Second)
	for id, want := range map[string]worker.Orders{"saves": {Interrupted: true, DeadlineSeconds: 15}, "other": {}} {
		if got, err := w.Renew(over(), "r1", id, ""); err != nil || got != want {
			t.Errorf("%s hears %+v, %v", id, got, err)
		}
	}
}

func TestJobsThatAreOverForLongAreForgotten(t *testing.T) {
	w := newWorld(t)
	first := w.submit(queue.Submission{})
	last := ""
	for range 4000 {
		last = w.submit(queue.Submission{})
		if _, err := w.Cancel(last); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.List().Jobs); n > 2501 || n < 2001 {
		t.Errorf("%d jobs are kept", n)
	}
	if w.job(first).State != queue.Waiting || w.job(last).State != queue.Cancelled {
		t.Error("a job that waits, or the newest, was forgotten")
	}
	if _, err := w.Job("job-2"); !isKind(err, queue.UnknownJob) {
		t.Errorf("the oldest that is over: %v", err)
	}
}

func TestJobsGetTheTimeThatTheirHostHasAndNoMore(t *testing.T) {
	for left, want := range map[time.Duration]float64{0: 25, 2 * time.Minute: 105, 30 * time.Second: 15,
		10 * time.Second: 5} {
		w := newWorld(t)
		w.admit("r1", forgeyard.Admit{})
		w.submit(queue.Submission{Checkpoint: true})
		w.lease("r1", "saves")
		if _, err := w.Cordon("r1", queue.Interruption, false, left); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Renew(
			over(),
			"r1",
			"saves",
			"",
		); err != nil ||
			got != (worker.Orders{Interrupted: true, DeadlineSeconds: want}) {
			t.Errorf("with %s left it hears %+v, want %g s (%v)", left, got, want, err)
		}
	}
}
