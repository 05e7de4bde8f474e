package loop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// announce lets the agents of instances report notices, and nothing else.
func (w *world) announce(id fleet.CapacityInstanceID, notices ...fleet.Notice) {
	w.beat(w.store.instances[id].Runner, func(r *fleet.Runner) { r.Report.Notices = notices })
}

func (w *world) reclaim(in time.Duration) fleet.Notice {
	return fleet.Notice{
		ID:       "spot-1",
		Kind:     fleet.NoticeInterruption,
		Deadline: w.now.Add(in),
		Detail:   "aws spot terminate",
	}
}

// busyRunner is a world with one runner of a scheduler that has a job on it.
func busyRunner(t *testing.T) (*world, fleet.CapacityInstance) {
	t.Helper()
	w := newWorld(t, ciFleet(1, 2))
	w.settle()
	i := w.only()
	w.ci.lease(i.ID, 1)
	w.goOn(5 * time.Second)
	return w, w.store.instances[i.ID]
}

func TestANoticeOfTheAgentCordonsTheRunnerAtOnceAndItIsReplaced(t *testing.T) {
	w, i := busyRunner(t)
	w.announce(i.ID, w.reclaim(2*time.Minute))
	w.goOn(5 * time.Second)
	got := w.store.instances[i.ID]
	if got.State != fleet.Draining || got.Cause != string(lifecycle.ForInterruption) ||
		!announces(got.Reason, "aws spot terminate") {
		t.Fatalf("it is %s (%s: %s)", got.State, got.Cause, got.Reason)
	}
	if !got.Scheduling.Interrupted || !w.ci.runners[i.ID].Cordoned || got.Scheduling.Forced {
		t.Errorf("its scheduler was told %v, which is stored as %+v", w.ci.told, got.Scheduling)
	}
	if n := len(w.live()); n != 2 {
		t.Errorf("%d instances: a runner that goes away is not capacity, and another should come\n%s", n, w.describe())
	}
	if w.ci.runners[i.ID].Leases != 1 || slices.ContainsFunc(w.calls, isTerminate) {
		t.Errorf("its job was not left its time: %v", w.calls)
	}
}

func isTerminate(call string) bool { return strings.HasPrefix(call, "terminate") }

func TestInterruptedJobIsTakenBackBeforeItsMachineEnds(t *testing.T) {
	w, i := busyRunner(t)
	w.announce(i.ID, w.reclaim(2*time.Minute))
	w.goOn(90 * time.Second)
	if slices.ContainsFunc(w.ci.told, isForce) {
		t.Fatalf("before the deadline: %v", w.ci.told)
	}
	w.goOn(60 * time.Second)
	told := strings.Join(w.ci.told, "\n")
	force, removed := strings.Index(
		told,
		"cordon by force "+string(i.ID),
	), strings.Index(
		told,
		fmt.Sprintf("remove %s infrastructure", i.ID),
	)
	if force < 0 || removed < force {
		t.Errorf("the scheduler was told:\n%s", told)
	}
	if got := w.store.instances[i.ID]; got.State != fleet.Terminated || got.Ended != string(lifecycle.Preempted) {
		t.Errorf("it is %s, ended by %q\n%s", got.State, got.Ended, w.describe())
	}
}

func isForce(told string) bool { return strings.HasPrefix(told, "cordon by force") }

func TestAnInterruptionSurvivesTheManagersDeath(t *testing.T) {
	w, i := busyRunner(t)
	w.announce(i.ID, w.reclaim(2*time.Minute))
	w.step()
	w.restart()
	w.goOn(3 * time.Minute)
	if got := w.store.instances[i.ID]; got.Ended != string(lifecycle.Preempted) ||
		!slices.ContainsFunc(w.ci.told, isForce) {
		t.Errorf("it is %s (%s), and the scheduler was told %v", got.State, got.Reason, w.ci.told)
	}
}

func TestAWithdrawnNoticeTakesNoJobAwayAndTheRunnerLeavesAfterIt(t *testing.T) {
	w, i := busyRunner(t)
	w.announce(i.ID, w.reclaim(2*time.Minute))
	w.goOn(10 * time.Second)
	w.announce(i.ID)
	w.goOn(5 * time.Minute)
	got := w.store.instances[i.ID]
	if got.State != fleet.Draining || got.Interruption == nil || got.Interruption.Withdrawn.IsZero() ||
		slices.ContainsFunc(w.ci.told, isForce) {
		t.Fatalf("it is %s with %+v, and the scheduler was told %v", got.State, got.Interruption, w.ci.told)
	}
	w.ci.lease(i.ID, 0)
	w.goOn(time.Minute)
	if got := w.store.instances[i.ID]; got.Ended != string(lifecycle.IdleProven) {
		t.Errorf("after its job it is %s (%s)", got.State, got.Reason)
	}
}

func TestRebalanceAndMaintenanceDrainAndNeverTakeAJobAway(t *testing.T) {
	for _, kind := range []fleet.NoticeKind{fleet.NoticeRebalance, fleet.NoticeMaintenance} {
		t.Run(string(kind), func(t *testing.T) {
			w, i := busyRunner(t)
			w.announce(i.ID, fleet.Notice{ID: "n", Kind: kind, Deadline: w.now.Add(time.Minute)})
			w.goOn(10 * time.Minute)
			got := w.store.instances[i.ID]
			if got.State != fleet.Draining || got.Cause != string(lifecycle.CauseOf(kind)) ||
				slices.ContainsFunc(w.ci.told, isForce) ||
				got.Scheduling.Interrupted {
				t.Errorf("it is %s (%s), and the scheduler was told %v", got.State, got.Cause, w.ci.told)
			}
		})
	}
}

func TestInterruptionMakesADrainFinal(t *testing.T) {
	w, i := busyRunner(t)
	w.announce(i.ID, fleet.Notice{ID: "r", Kind: fleet.NoticeRebalance})
	w.goOn(5 * time.Second)
	w.announce(i.ID, fleet.Notice{ID: "r", Kind: fleet.NoticeRebalance}, w.reclaim(time.Minute))
	w.goOn(5 * time.Second)
	if got := w.store.instances[i.ID]; got.Cause != string(lifecycle.ForInterruption) || !got.Scheduling.Interrupted {
		t.Errorf("it drains for %s, and its scheduler heard of the interruption: %v", got.Cause, got.Scheduling.Interrupted)
	}
}

func TestNoticeBeforeTheAnswerFindsItsInstance(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.step()
	p := take[Provision](w)
	res := w.make(p)
	n := w.reclaim(time.Hour)
	w.step(
		Noticed{Provider: local, Instance: res.ID, Notice: n},
		Noticed{Provider: local, Instance: "vm-of-nobody", Notice: n},
	)
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionCreated, Resource: res, CallOver: true})
	id := w.store.operations[p.Operation.ID].Instance
	w.goOn(10 * time.Second)
	got := w.store.instances[id]
	if got.Interruption == nil || got.Interruption.Source != fleet.NoticedByProvider || got.State != fleet.Terminated {
		t.Errorf("it is %s (%s) with %+v", got.State, got.Reason, got.Interruption)
	}
}

func TestTheSameEventTwiceIsOneAndChangesNothing(t *testing.T) {
	w, i := busyRunner(t)
	e := Noticed{Provider: local, Instance: i.ProviderInstance, Notice: w.reclaim(time.Hour)}
	w.step(e)
	first := w.store.instances[i.ID]
	commits := w.store.commits
	for range 3 {
		w.step(e)
	}
	if got := w.store.instances[i.ID]; got.Since != first.Since || *got.Interruption != *first.Interruption ||
		w.store.commits > commits+1 {
		t.Errorf("it moved again: %+v, %d commits", got.Interruption, w.store.commits-commits)
	}
}

func TestNoticeFloodIsBoundedAndHintsAreSpaced(t *testing.T) {
	w, _ := busyRunner(t)
	var flood []Event
	for n := range 5000 {
		flood = append(
			flood,
			Noticed{
				Provider: local,
				Instance: fleet.ProviderInstanceRef(fmt.Sprintf("vm-%d", n)),
				Notice:   fleet.Notice{ID: fmt.Sprint(n), Kind: fleet.NoticeRebalance},
			},
		)
	}
	w.step(flood...)
	if kept := len(w.loop.provider(local).Notices(w.now)); kept > inventory.MaxNotices {
		t.Errorf("%d notices are kept", kept)
	}
	looks := 0
	for end := w.now.Add(10 * time.Second); w.now.Before(end); w.now = w.now.Add(10 * time.Millisecond) {
		if has[Inspect](w) {
			take[Inspect](w)
			looks++
			w.step(w.look())
		}
		w.step(Noticed{Provider: local, Instance: "vm-1"})
	}
	if looks < 5 || looks > 21 {
		t.Errorf("%d inspections in 10 s", looks)
	}
}

func TestAHintIsAnInspectionNow(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.settle()
	w.now = w.now.Add(2 * time.Second)
	w.step()
	if has[Inspect](w) {
		t.Fatal("an inspection was due anyway")
	}
	w.step(Noticed{Provider: local, Instance: "whatever"})
	if !has[Inspect](w) {
		t.Error("nothing is inspected")
	}
}

// TestForceComesFromTheCausesOfSection35Alone walks every move of the lifecycle:
// whatever brought a runner where it is, its jobs are taken away for a preemption, a
// machine that failed, and an operator's force, and for nothing else.
func TestForceComesFromTheCausesOfSection35Alone(t *testing.T) {
	allowed := []lifecycle.Cause{lifecycle.Preempted, lifecycle.ResourceStopped, lifecycle.Forced}
	walked := 0
	for _, edge := range lifecycle.Edges() {
		for _, interrupted := range []bool{false, true} {
			w := newWorld(t, ciFleet(1, 1))
			i := fleet.CapacityInstance{ID: "i1", State: edge.From, Admission: fleet.Admission{State: fleet.AdmissionVerified},
				Scheduling: fleet.Scheduling{Scheduler: queueCI, Ref: "i1"}}
			if interrupted {
				i.Interruption = &fleet.Interruption{
					Notice: fleet.Notice{Kind: fleet.NoticeInterruption, Deadline: w.now.Add(-time.Hour)},
				}
			}
			if err := lifecycle.Move(&i, edge.To, edge.Cause, w.now, reason.Plain("x")); err != nil {
				t.Fatal(err)
			}
			r := &row{CapacityInstance: i, fleet: w.store.fleets["f1"]}
			told, _ := ci.NextCall(
				queueCI,
				w.loop.schedulers[queueCI],
				&w.loop.row(i.ID).runner,
				w.loop.subject(&step{now: w.now}, r),
				w.now,
			)
			want := edge.To == fleet.Terminating && slices.Contains(allowed, edge.Cause)
			if told.Force != want {
				t.Errorf("%s → %s by %s: force is %t", edge.From, edge.To, edge.Cause, told.Force)
			}
			if want {
				walked++
			}
		}
	}
	if walked < 2*len(allowed) {
		t.Errorf("force was seen %d times", walked)
	}
}

func TestForcedDrainTakesTheJobBackBeforeTheMachineEnds(t *testing.T) {
	w, i := busyRunner(t)
	w.tell(Order{Kind: DrainInstance, Instance: i.ID})
	w.goOn(5 * time.Second)
	if slices.ContainsFunc(w.ci.told, isForce) {
		t.Fatalf("a drain without force: %v", w.ci.told)
	}
	wantDone(t, w.tell(Order{Kind: ForceDrain, Instance: i.ID}))
	if slices.ContainsFunc(w.calls, isTerminate) {
		t.Fatalf("the machine ends before its job was taken back: %v", w.calls)
	}
	w.goOn(10 * time.Second)
	if !slices.ContainsFunc(w.ci.told, isForce) || !slices.ContainsFunc(w.calls, isTerminate) {
		t.Errorf("the scheduler was told %v, and the calls are %v", w.ci.told, w.calls)
	}
}

func TestAnEmergencyDoesNotWaitForASchedulerThatIsAway(t *testing.T) {
	w, i := busyRunner(t)
	w.announce(i.ID, w.reclaim(time.Minute))
	w.goOn(10 * time.Second)
	w.ci.down = "connection refused"
	w.goOn(3 * time.Minute)
	if !slices.ContainsFunc(w.calls, isTerminate) {
		t.Fatalf("the machine is kept: %s", w.describe())
	}
	w.ci.down = ""
	w.goOn(2 * time.Minute)
	if _, there := w.ci.runners[i.ID]; there ||
		!slices.Contains(w.ci.told, fmt.Sprintf("remove %s infrastructure", i.ID)) {
		t.Errorf("the scheduler was told %v", w.ci.told)
	}
}

func TestAHostThatIsTakenAwayWhileItBootsIsReplacedWithoutADrain(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.step()
	p := take[Provision](w)
	res := w.make(p)
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionCreated, Resource: res, CallOver: true})
	i := w.only()
	w.step(Noticed{Provider: local, Instance: res.ID, Notice: w.reclaim(time.Minute)})
	if got := w.store.instances[i.ID]; got.State != fleet.Terminating || got.Ended != string(lifecycle.Withdrawn) {
		t.Errorf("it is %s (%s)", got.State, got.Reason)
	}
	w.settle()
	if got := w.only(); got.ID == i.ID || got.State != fleet.Healthy {
		t.Errorf("there is %s, %s", got.ID, got.State)
	}
}
