package queue_test

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
	"github.com/google/go-cmp/cmp"
)

func TestJobsGoByPriorityAndThenByAge(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", forgeyard.Admit{Slots: 10, Resources: linux.Resources})
	for _, s := range []queue.Submission{{}, {Priority: 1}, {Resources: forgeyard.Resources{CPUMilli: 1}}, {},
		{Priority: 1}} {
		w.submit(s)
	}
	var got []string
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		l, _ := w.lease("r1", id)
		got = append(got, l.Job)
	}
	if diff := cmp.Diff([]string{"job-2", "job-5", "job-1", "job-3", "job-4"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSlotsResourcesAndMaxJobsBoundWhatARunnerGets(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", forgeyard.Admit{Slots: 2, MaxJobs: 3, Resources: forgeyard.Resources{CPUMilli: 3000}})
	for range 9 {
		w.submit(queue.Submission{Resources: forgeyard.Resources{CPUMilli: 1000}})
	}
	w.lease("r1", "a")
	w.lease("r1", "b")
	if _, more := w.lease("r1", "c"); more {
		t.Error("it has two slots and got three jobs")
	}
	for _, id := range []string{"a", "b"} {
		if err := w.Finish("r1", id, worker.Result{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, third := w.lease("r1", "d"); !third {
		t.Error("it may run three jobs and got two")
	}
	if _, fourth := w.lease("r1", "e"); fourth {
		t.Error("it may run three jobs in its life and got four")
	}
}

func TestTheSameRequestGetsTheSameJobAndTheSameResultCountsOnce(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", linux)
	w.submit(queue.Submission{})
	w.submit(queue.Submission{})
	first, _ := w.lease("r1", "l1")
	if again, _ := w.lease("r1", "l1"); again.Job != first.Job || again.Attempt != 1 {
		t.Errorf("the same request got %+v and then %+v", first, again)
	}
	for range 2 {
		if err := w.Finish("r1", "l1", worker.Result{ExitStatus: 3, Reason: "exit status 3", Tail: "bye"}); err != nil {
			t.Error(err)
		}
	}
	if j := w.job(first.Job); j.State != queue.Failed || *j.ExitStatus != 3 || j.Attempts != 1 {
		t.Errorf("the job is %+v", j)
	}
	if tail, _ := w.Tail(first.Job); tail != "bye" {
		t.Errorf("its output is %q", tail)
	}
	if _, _, err := w.Lease(over(), "r1", "s", "l1"); !isKind(err, queue.Void) {
		t.Errorf("the id of a lease that is over got %v", err)
	}
}

func TestACordonedRunnerGetsNothingUntilItIsUncordoned(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", linux)
	before := w.Runners().Revision
	ack, err := w.Cordon("r1", "scale_down", false, 0)
	if err != nil || ack <= before {
		t.Fatalf("the cordon is acknowledged as of %d, after %d: %v", ack, before, err)
	}
	if again, _ := w.Cordon("r1", "scale_down", false, 0); again != ack {
		t.Errorf("a repeated cordon is acknowledged as of %d, not %d", again, ack)
	}
	w.admit("r1", linux)
	w.submit(queue.Submission{})
	if _, granted := w.lease("r1", "l1"); granted {
		t.Error("a cordoned runner got a job")
	}
	if _, err := w.Uncordon("r1"); err != nil {
		t.Fatal(err)
	}
	if _, granted := w.lease("r1", "l1"); !granted {
		t.Error("an uncordoned runner gets nothing")
	}
	if _, err := w.Cordon("r1", "scale_down", false, 0); err != nil || w.leases("r1") != 1 {
		t.Errorf("a cordon without force took the job away: %d leases, %v", w.leases("r1"), err)
	}
	if _, err := w.Cordon("nobody", "x", false, 0); !isKind(err, queue.UnknownRunner) {
		t.Errorf("a stranger's cordon: %v", err)
	}
}

func TestWhatALimitBlocksIsCountedButNotAdmissible(t *testing.T) {
	w := newWorld(t, func(o *queue.Options) { o.TenantLimits = map[string]int{"acme": 3} })
	w.admit("r1", forgeyard.Admit{Slots: 10})
	acme := forgeyard.Requirement{Tenant: "acme"}
	for range 2 {
		w.submit(queue.Submission{Requirement: acme, Priority: 5})
	}
	for range 4 {
		w.submit(queue.Submission{Requirement: acme})
	}
	w.submit(queue.Submission{})
	admissible := func() (counts [][3]int) {
		for _, q := range w.Demand().Queued {
			counts = append(counts, [3]int{q.Priority, q.Count, *q.Admissible})
		}
		return counts
	}
	if diff := cmp.Diff([][3]int{{5, 2, 2}, {0, 4, 1}, {0, 1, 1}}, admissible()); diff != "" {
		t.Error(diff)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		w.lease("r1", id)
	}
	// The fourth lease is no one's job: acme has three.
	if diff := cmp.Diff([][3]int{{0, 3, 0}}, admissible()); diff != "" {
		t.Error(diff)
	}
	if _, granted := w.lease("r1", "e"); granted {
		t.Error("a fourth job of acme was leased")
	}
	if err := w.Finish("r1", "a", worker.Result{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][3]int{{0, 3, 1}}, admissible()); diff != "" {
		t.Error(diff)
	}
}

func TestDemandIsCountedByWhatJobsWant(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", linux)
	w.submit(queue.Submission{Requirement: forgeyard.Requirement{Capabilities: []string{"a", "b"}}})
	w.hand.move(30 * time.Second)
	w.submit(
		queue.Submission{
			Requirement: forgeyard.Requirement{Capabilities: []string{"b", "a", "a"}},
			Command:     []string{"other"},
			Env:         map[string]string{"A": "secret"},
		},
	)
	w.submit(queue.Submission{Requirement: forgeyard.Requirement{Capabilities: []string{"a"}}})
	two, one := 2, 1
	want := forgeyard.QueuedList{
		{
			Requirement:       forgeyard.Requirement{Capabilities: []string{"a", "b"}},
			Count:             2,
			Admissible:        &two,
			OldestWaitSeconds: 30,
		},
		{Requirement: forgeyard.Requirement{Capabilities: []string{"a"}}, Count: 1, Admissible: &one},
	}
	demand := w.Demand()
	if diff := cmp.Diff(want, demand.Queued); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]forgeyard.Running{{Runner: "r1"}}, demand.Running); diff != "" {
		t.Error(diff)
	}
}

func TestTheRevisionGrowsOverTheRestartOfTheProcess(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", linux)
	for range 1000 {
		w.submit(queue.Submission{})
	}
	last := w.Runners().Revision
	w.hand.move(time.Second)
	next := queue.New(queue.Options{Clock: w.hand.read, NewID: counted()})
	if got := next.Runners().Revision; got <= last {
		t.Errorf("it went from %d to %d", last, got)
	}
}

func TestCancelledJobsEndWhereverTheyAre(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", linux)
	leased, waiting := w.submit(queue.Submission{}), w.submit(queue.Submission{})
	w.lease("r1", "l1")
	heard := make(chan worker.Orders, 1)
	go func() {
		orders, _ := w.Renew(t.Context(), "r1", "l1", "")
		heard <- orders
	}()
	for _, id := range []string{leased, waiting} {
		if _, err := w.Cancel(id); err != nil {
			t.Fatal(err)
		}
	}
	if orders := <-heard; !orders.Cancel {
		t.Errorf("the worker heard %+v", orders)
	}
	if w.job(waiting).State != queue.Cancelled || w.leases("r1") != 1 {
		t.Errorf(
			"the waiting one is %s; the other's runner has %d leases before it has ended it",
			w.job(waiting).State,
			w.leases("r1"),
		)
	}
	if err := w.Finish("r1", "l1", worker.Result{ExitStatus: -1}); err != nil || w.job(leased).State != queue.Cancelled {
		t.Errorf("the leased one is %s, %v", w.job(leased).State, err)
	}
	if len(w.Demand().Queued) != 0 {
		t.Error("a cancelled job is demand")
	}
}
