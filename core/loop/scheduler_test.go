package loop

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func TestAFleetGrowsFromZeroForWaitingJobsAndGoesBackToZero(t *testing.T) {
	w := newWorld(t, ciFleet(0, 5))
	w.settle()
	if n := len(w.live()); n != 0 {
		t.Fatalf("%d instances without demand", n)
	}
	w.ci.waiting = 3
	w.ci.revision++
	w.goOn(10 * time.Second)
	if n := len(w.ci.runners); n != 3 {
		t.Fatalf("%d runners for 3 jobs: %s", n, w.describe())
	}
	w.ci.waiting = 0
	for id := range w.ci.runners {
		w.ci.lease(id, 1)
	}
	w.goOn(5 * time.Minute)
	if n := len(w.live()); n != 3 {
		t.Fatalf("%d instances while 3 jobs run: %s", n, w.describe())
	}
	for id := range w.ci.runners {
		w.ci.lease(id, 0)
	}
	w.goOn(5 * time.Minute)
	if len(w.live()) != 0 || len(w.ci.runners) != 0 || len(w.cloud) != 0 {
		t.Errorf("left: %d instances, %d runners, %d resources", len(w.live()), len(w.ci.runners), len(w.cloud))
	}
	for _, words := range w.ci.told {
		if strings.HasPrefix(words, "remove") && !strings.HasSuffix(words, "normal") {
			t.Errorf("told %q, and nothing was lost", words)
		}
	}
}

// up is a world with one healthy, admitted runner whose fleet wants none.
func up(t *testing.T) (*world, fleet.CapacityInstance) {
	w := newWorld(t, ciFleet(0, 1))
	w.ci.waiting, w.ci.revision = 1, 1
	w.goOn(5 * time.Second)
	w.ci.waiting = 0
	w.ci.revision++
	return w, w.only()
}

// drained lets time pass until the instance drains.
func drained(t *testing.T, w *world) fleet.CapacityInstance {
	t.Helper()
	for range 1000 {
		if i := w.only(); i.State == fleet.Draining {
			return i
		}
		w.tick(time.Second)
	}
	t.Fatalf("never drained: %s", w.describe())
	return fleet.CapacityInstance{}
}

func TestAJobThatIsLeasedInTheMomentOfTheDecisionIsNeverKilled(t *testing.T) {
	w, _ := up(t)
	i := drained(t, w)
	w.ci.lease(i.ID, 1) // before the cordon arrives
	w.goOn(10 * time.Minute)
	if i = w.only(); i.State != fleet.Draining || i.Drain != fleet.Cordoned {
		t.Fatalf("%s %s while its job runs", i.State, i.Drain)
	}
	if slices.ContainsFunc(w.calls, func(c string) bool { return strings.HasPrefix(c, "terminate") }) {
		t.Fatalf("terminated with a lease: %v", w.calls)
	}
	w.ci.lease(i.ID, 0)
	w.goOn(time.Minute)
	if len(w.live()) != 0 {
		t.Errorf("still there after its job: %s", w.describe())
	}
}

func TestAListingFromBeforeTheCordonProvesNothing(t *testing.T) {
	w, _ := up(t)
	i := drained(t, w)
	old := w.ci.look(w.now) // shows no lease, and was made before the cordon
	w.ci.lease(i.ID, 1)
	told := w.ci.tell(take[CallScheduler](w))
	w.effects = slices.DeleteFunc(w.effects, func(e Effect) bool { _, looks := e.(Observe); return looks })
	w.step(told, old)
	if i = w.only(); i.Drain != fleet.Cordoned {
		t.Fatalf(
			"the agent is told to stop by a listing of revision %d, and the cordon holds from %d on",
			old.Snapshot.Revision,
			told.Revision,
		)
	}
}

func TestACordonWhoseAnswerIsLostIsAskedForAgain(t *testing.T) {
	w, _ := up(t)
	i := drained(t, w)
	w.ci.tell(take[CallScheduler](w)) // it holds, and no one hears so
	w.step(
		SchedulerAnswered{
			Answer:  ci.Answer{Scheduler: queueCI, Instance: i.ID, Kind: ci.Cordon},
			Failure: &Failure{Class: fleet.ErrorTransient, Message: "timeout"},
		},
	)
	w.goOn(time.Minute)
	if len(w.live()) != 0 {
		t.Errorf("not drained: %s", w.describe())
	}
	if n := strings.Count(strings.Join(w.ci.told, ","), "cordon "+string(i.ID)); n < 2 {
		t.Errorf("asked %d times: %v", n, w.ci.told)
	}
}

func TestASchedulerThatDoesNotAnswerKeepsEverythingAsItIs(t *testing.T) {
	w, i := up(t)
	w.ci.down = "connection refused"
	w.goOn(time.Hour)
	if now := w.only(); now.State != fleet.Healthy || now.ID != i.ID {
		t.Fatalf("%s: %s", now.State, w.describe())
	}
	if why := w.last.Observations.Schedulers[queueCI]; why != reason.Of(
		reason.SchedulerError{Message: "connection refused"},
	) {
		t.Errorf("the result says %q", why)
	}
	w.ci.down = ""
	w.goOn(5 * time.Minute)
	if len(w.live()) != 0 {
		t.Errorf("not drained after it is back: %s", w.describe())
	}
}

// An apply waits until everything is settled: one that ended before the scheduler
// had said anything would leave its jobs without a host, and say that all is done.
func TestNothingIsSettledBeforeTheSchedulerHasAnsweredOrFailed(t *testing.T) {
	for name, down := range map[string]string{"it answers": "", "it fails": "connection refused"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ciFleet(0, 3))
			w.ci.down = down
			for range 3 { // its answer takes a while
				if w.step(); w.last.Settled {
					t.Fatal("settled before it said anything")
				}
			}
			w.goOn(5 * time.Second)
			if !w.last.Settled {
				t.Errorf("not settled by now: %s", w.describe())
			}
			var want reason.Reason
			if down != "" {
				want = reason.Of(reason.SchedulerError{Message: down})
			}
			if why := w.last.Observations.Schedulers[queueCI]; why != want {
				t.Errorf("it can't be seen: %q", why)
			}
		})
	}
}

func TestAFrozenDemandNeverOutlivesTheScheduler(t *testing.T) {
	w := newWorld(t, ciFleet(0, 3))
	w.ci.waiting, w.ci.revision = 1, 1
	w.ci.down = "503"
	w.goOn(time.Minute)
	if len(w.live()) != 0 {
		t.Errorf("grew by a demand that no one could see: %s", w.describe())
	}
}

func TestWorkThatComesBackTakesTheDrainBack(t *testing.T) {
	w, _ := up(t)
	i := drained(t, w)
	w.ci.waiting = 1
	w.ci.revision++
	w.goOn(10 * time.Second)
	now := w.only()
	if now.ID != i.ID || now.State != fleet.Healthy || w.ci.runners[i.ID].Cordoned {
		t.Fatalf("%s %s, cordoned %t: %s", now.ID, now.State, w.ci.runners[i.ID].Cordoned, w.describe())
	}
	if n := strings.Count(strings.Join(w.calls, ","), "provision"); n != 1 {
		t.Errorf("%d machines were made", n)
	}
}

func TestASchedulerThatForgotEverythingIsToldAgain(t *testing.T) {
	w, i := up(t)
	w.ci.waiting = 1
	restored := newSimpleScheduler()
	restored.waiting = 1
	w.ci = restored
	w.goOn(20 * time.Second)
	if w.ci.runners[i.ID] == nil {
		t.Fatalf("not admitted again: %v", w.ci.told)
	}
	if now := w.only(); now.State != fleet.Healthy {
		t.Errorf("%s", now.State)
	}
}

func TestASchedulerWhoseRevisionStaysIsNotToldWithoutEnd(t *testing.T) {
	w, _ := up(t)
	w.ci.waiting, w.ci.stuck, w.ci.told, w.ci.looks = 1, true, nil, 0
	for range 1000 { // of steps alone; a loop without end needs no time
		w.tick(time.Second)
	}
	if len(w.ci.told) == 0 || len(w.ci.told) > w.ci.looks+1 {
		t.Errorf("%d looks, and it was told %d times: %.5v", w.ci.looks, len(w.ci.told), w.ci.told)
	}
}

func TestAMachineThatIsLostIsReportedAsInfrastructure(t *testing.T) {
	w, i := up(t)
	w.ci.lease(i.ID, 1)
	w.goOn(5 * time.Second)
	res := w.cloud[i.Key]
	res.State = fleet.ResourceStopped
	w.cloud[i.Key] = res
	w.ci.waiting = 0
	w.goOn(3 * time.Minute)
	want := "remove " + string(i.ID) + " infrastructure"
	if !slices.Contains(w.ci.told, want) {
		t.Errorf("told %v, want %q", w.ci.told, want)
	}
}

func TestASchedulerIsToldOfAnEndEvenIfItWasAwayWhenItCame(t *testing.T) {
	w, _ := up(t)
	i := drained(t, w)
	for i.State != fleet.Terminating {
		w.tick(time.Second)
		i = w.store.instances[i.ID]
	}
	w.ci.down = "503"
	w.goOn(time.Minute)
	if i = w.store.instances[i.ID]; i.State != fleet.Terminated || i.Concluded() {
		t.Fatalf("%s, concluded %t", i.State, i.Concluded())
	}
	w.restart()
	w.ci.down = ""
	w.goOn(2 * time.Minute)
	if i = w.store.instances[i.ID]; !i.Concluded() || len(w.ci.runners) != 0 {
		t.Errorf("concluded %t, %d runners known: %v", i.Concluded(), len(w.ci.runners), w.ci.told)
	}
}

func TestADeadRunnerInADrainEndsOnceItsSchedulerShowsNoLease(t *testing.T) {
	w, _ := up(t)
	i := drained(t, w)
	res := w.cloud[i.Key]
	res.State = fleet.ResourceUnclear // alive for its provider, and its agent never beats again
	w.cloud[i.Key] = res
	w.goOn(time.Hour)
	if len(w.live()) != 0 {
		t.Errorf("still there: %s", w.describe())
	}
}

func TestTheRunnerOfAnAdmittedHostIsTheClassNotTheAgentsWord(t *testing.T) {
	w := newWorld(t, ciFleet(1, 1))
	for range 100 {
		if has[CallScheduler](w) {
			break
		}
		w.tick(time.Second)
	}
	got := take[CallScheduler](w)
	if got.Kind != ci.Admit || got.Runner.Class.Trust != "standard" || got.Runner.Name != w.only().ID {
		t.Errorf("%+v", got)
	}
	if s := w.only().Scheduling; s.Scheduler != queueCI {
		t.Errorf("the call went out before its intent was stored: %+v", s)
	}
}

// A clock that is set ahead, or a machine that slept, makes no one idle for long:
// what happened meanwhile wasn't seen.
func TestAClockThatIsSetAheadDoesNotCutTheIdleGrace(t *testing.T) {
	w, i := up(t)
	grace := w.store.fleets["f1"].Scaling.ScaleDown.IdleGrace
	w.ci.lease(i.ID, 1)
	w.goOn(time.Minute)
	w.ci.lease(i.ID, 0)
	w.goOn(grace / 3)
	w.now = w.now.Add(20 * time.Minute)
	w.goOn(grace / 2)
	if at := w.store.instances[i.ID]; at.State != fleet.Healthy {
		t.Errorf("idle for 50 s of 1 m, and the clock was set: it is %s: %s", at.State, at.Reason)
	}
	w.goOn(grace)
	if at := w.store.instances[i.ID]; at.State == fleet.Healthy {
		t.Error("it never leaves")
	}
}

// The time since which a runner was idle must not lie in the future after the clock
// was set back: idle runners stayed until it had caught up.
func TestARunnerIsLetGoThoughTheClockWasSetBackWhileItWasIdle(t *testing.T) {
	w, i := up(t)
	grace := w.store.fleets["f1"].Scaling.ScaleDown.IdleGrace
	w.goOn(grace / 2)
	w.now = w.now.Add(-20 * time.Minute)
	w.step()
	w.goOn(2 * grace)
	if at := w.store.instances[i.ID]; at.State == fleet.Healthy {
		t.Errorf("idle for 2 minutes since the clock was set back, and it is %s", at.State)
	}
}

// A fleet of several regions may run jobs that must stay in one of them, if the
// scheduler knows which one a runner is in.
func TestARunnersRegionIsThatOfTheOfferThatItsHostWasMadeOf(t *testing.T) {
	made := []fleet.Offer{{Zone: "z1", Region: "eu-1"}, {Zone: "z2", Region: "eu-2"}}
	request, err := json.Marshal(fleet.ProvisionIntent{Offers: made})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		zone    string
		regions []string
		want    string
	}{
		{"in the second zone", "z2", []string{"eu-1", "eu-2"}, "eu-2"},
		{"in a zone that no offer is of, of a fleet with one region", "z9", []string{"eu-1"}, "eu-1"},
		{"and of one with two", "z9", []string{"eu-1", "eu-2"}, ""},
		{"no one has said where", "", []string{"eu-1", "eu-2"}, ""},
	} {
		r := &row{CapacityInstance: fleet.CapacityInstance{Zone: test.zone}, provision: &fleet.Operation{Request: request}}
		r.fleet.Placement.Regions = test.regions
		if got := r.region(); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestASchedulerHearsWhetherARunnerMayRunHostileJobs(t *testing.T) {
	for name, test := range map[string]struct {
		isolation string
		policy    fleet.InstallationPolicy
		want      bool
	}{
		"no isolation":                {"", fleet.InstallationPolicy{}, false},
		"a machine of its own":        {"vm", fleet.InstallationPolicy{}, true},
		"not what the policy asks of": {"vm", fleet.InstallationPolicy{HostileIsolation: "microvm"}, false},
	} {
		r := &row{provision: &fleet.Operation{}}
		r.fleet.Class.Isolation = test.isolation
		w := &step{stored: snapshot.State{Policy: test.policy}}
		told := ci.Call{Runner: w.runnerOf(r, queueCI)}
		ci.NoteAdmission(&r.Scheduling, told)
		if told.Runner.Hostile != test.want || r.Scheduling.Hostile != test.want {
			t.Errorf("%s: told %t, noted %t", name, told.Runner.Hostile, r.Scheduling.Hostile)
		}
	}
}
