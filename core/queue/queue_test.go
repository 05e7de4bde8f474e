package queue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

func TestARunnerGetsAJobOnlyIfItMeetsEveryRequirement(t *testing.T) {
	full := forgeyard.Admit{OS: "linux", Arch: "x86_64", Capabilities: []string{"docker", "kvm"}, Trust: "standard", Region: "eu", Toolchain: []string{"go1.26"},
		Device: "pixel", Isolation: "vm", Confidential: true, Resources: forgeyard.Resources{CPUMilli: 2000, MemoryBytes: 4 << 30, DiskBytes: 10, GPU: 1, Named: map[string]int64{"license": 1}}}
	with := func(change func(*forgeyard.Admit)) forgeyard.Admit {
		a := full
		change(&a)
		return a
	}
	want := func(r forgeyard.Requirement) queue.Submission { return queue.Submission{Requirement: r} }
	takes := func(r forgeyard.Resources) queue.Submission { return queue.Submission{Resources: r} }
	for name, test := range map[string]struct {
		has  forgeyard.Admit
		job  queue.Submission
		gets bool
	}{
		"a job that asks for nothing":           {full, want(forgeyard.Requirement{}), true},
		"a job that asks for all there is":      {full, want(forgeyard.Requirement{OS: "linux", Arch: "x86_64", Capabilities: []string{"kvm", "docker"}, Trust: "standard", Regions: []string{"us", "eu"}, Toolchain: []string{"go1.26"}, Device: "pixel", Isolation: "vm", Confidential: true}), true},
		"another system":                        {full, want(forgeyard.Requirement{OS: "windows"}), false},
		"another architecture":                  {full, want(forgeyard.Requirement{Arch: "arm64"}), false},
		"a capability too many":                 {full, want(forgeyard.Requirement{Capabilities: []string{"docker", "gpu"}}), false},
		"more trust":                            {full, want(forgeyard.Requirement{Trust: "protected"}), false},
		"another region":                        {full, want(forgeyard.Requirement{Regions: []string{"us"}}), false},
		"a region, and nobody knows where":      {with(func(a *forgeyard.Admit) { a.Region = "" }), want(forgeyard.Requirement{Regions: []string{"eu"}}), false},
		"another toolchain":                     {full, want(forgeyard.Requirement{Toolchain: []string{"go1.27"}}), false},
		"another device":                        {full, want(forgeyard.Requirement{Device: "iphone"}), false},
		"another isolation":                     {full, want(forgeyard.Requirement{Isolation: "container"}), false},
		"signing on a host that isn't for it":   {full, want(forgeyard.Requirement{Signing: true}), false},
		"no signing on a host that is for it":   {with(func(a *forgeyard.Admit) { a.Signing = true }), want(forgeyard.Requirement{}), false},
		"signing on a host for it":              {with(func(a *forgeyard.Admit) { a.Signing = true }), want(forgeyard.Requirement{Signing: true}), true},
		"confidential on an open host":          {with(func(a *forgeyard.Admit) { a.Confidential = false }), want(forgeyard.Requirement{Confidential: true}), false},
		"a stranger on a tenant's host":         {with(func(a *forgeyard.Admit) { a.Tenant = "acme" }), want(forgeyard.Requirement{Tenant: "other"}), false},
		"nobody's job on a tenant's host":       {with(func(a *forgeyard.Admit) { a.Tenant = "acme" }), want(forgeyard.Requirement{}), false},
		"a tenant's job on its own host":        {with(func(a *forgeyard.Admit) { a.Tenant = "acme" }), want(forgeyard.Requirement{Tenant: "acme"}), true},
		"a tenant's job on a host for all":      {full, want(forgeyard.Requirement{Tenant: "acme"}), true},
		"another project":                       {with(func(a *forgeyard.Admit) { a.Project = "one" }), want(forgeyard.Requirement{Project: "two"}), false},
		"a stable job on a host that may go":    {with(func(a *forgeyard.Admit) { a.Preemptible = true }), want(forgeyard.Requirement{}), false},
		"a job that may be taken away on it":    {with(func(a *forgeyard.Admit) { a.Preemptible = true }), queue.Submission{PreemptibleAllowed: true}, true},
		"exactly what the host has":             {full, takes(full.Resources), true},
		"more cpu":                              {full, takes(forgeyard.Resources{CPUMilli: 2001}), false},
		"more memory":                           {full, takes(forgeyard.Resources{MemoryBytes: 5 << 30}), false},
		"more disk":                             {full, takes(forgeyard.Resources{DiskBytes: 11}), false},
		"more gpus":                             {full, takes(forgeyard.Resources{GPU: 2}), false},
		"a named resource that it has not":      {full, takes(forgeyard.Resources{Named: map[string]int64{"other": 1}}), false},
		"more of a named resource than it has":  {full, takes(forgeyard.Resources{Named: map[string]int64{"license": 2}}), false},
		"a size on a host that says none of it": {with(func(a *forgeyard.Admit) { a.Resources = forgeyard.Resources{} }), takes(forgeyard.Resources{CPUMilli: 1}), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.admit("r1", test.has)
			w.submit(test.job)
			if _, gets := w.lease("r1", "l1"); gets != test.gets {
				t.Errorf("it gets the job: %v, want %v", gets, test.gets)
			}
		})
	}
}

func TestJobsGoByPriorityAndThenByAge(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", forgeyard.Admit{Slots: 10, Resources: linux.Resources})
	for _, s := range []queue.Submission{{}, {Priority: 1}, {Resources: forgeyard.Resources{CPUMilli: 1}}, {}, {Priority: 1}} {
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

func TestAJobThatWasLostWithItsRunnerIsRunAgainAndNotForEver(t *testing.T) {
	for name, lose := range map[string]func(w *world){
		"the runner was removed as lost to the infrastructure": func(w *world) { _ = w.Remove("r1", scheduler.RemovedInfrastructure) },
		"the lease expired":                   func(w *world) { w.hand.move(time.Minute); w.Expire() },
		"the runner was cordoned by force":    func(w *world) { _, _ = w.Cordon("r1", "security", true) },
		"the worker was started anew":         func(w *world) { _, _, _ = w.Lease(over(), "r1", "another", "other"); _ = w.Return("r1", "other") },
		"the job was cut off with its runner": func(w *world) { _ = w.Finish("r1", "l1", worker.Result{ExitStatus: -1, Interrupted: true}) },
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

func TestACordonedRunnerGetsNothingUntilItIsUncordoned(t *testing.T) {
	w := newWorld(t)
	w.admit("r1", linux)
	before := w.Runners().Revision
	ack, err := w.Cordon("r1", "scale_down", false)
	if err != nil || ack <= before {
		t.Fatalf("the cordon is acknowledged as of %d, after %d: %v", ack, before, err)
	}
	if again, _ := w.Cordon("r1", "scale_down", false); again != ack {
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
	if _, err := w.Cordon("r1", "scale_down", false); err != nil || w.leases("r1") != 1 {
		t.Errorf("a cordon without force took the job away: %d leases, %v", w.leases("r1"), err)
	}
	if _, err := w.Cordon("nobody", "x", false); !isKind(err, queue.UnknownRunner) {
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
	// The fourth lease is nobody's job: acme has three.
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
	w.submit(queue.Submission{Requirement: forgeyard.Requirement{Capabilities: []string{"b", "a", "a"}}, Command: []string{"other"}, Env: map[string]string{"A": "secret"}})
	w.submit(queue.Submission{Requirement: forgeyard.Requirement{Capabilities: []string{"a"}}})
	two, one := 2, 1
	want := forgeyard.QueuedList{
		{Requirement: forgeyard.Requirement{Capabilities: []string{"a", "b"}}, Count: 2, Admissible: &two, OldestWaitSeconds: 30},
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
		t.Errorf("the waiting one is %s; the other's runner has %d leases before it has ended it", w.job(waiting).State, w.leases("r1"))
	}
	if err := w.Finish("r1", "l1", worker.Result{ExitStatus: -1}); err != nil || w.job(leased).State != queue.Cancelled {
		t.Errorf("the leased one is %s, %v", w.job(leased).State, err)
	}
	if len(w.Demand().Queued) != 0 {
		t.Error("a cancelled job is demand")
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
	if _, err := w.Cordon("r1", queue.Interruption, false); err != nil {
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
