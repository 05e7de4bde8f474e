package loop

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// Each test here is named for a failure that must not come back.

// running makes every live runner busy.
func (w *world) running() {
	for _, i := range w.live() {
		w.beat(i.Runner, func(r *fleet.Runner) { r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseRunning, false })
	}
}

func TestARunnerThatBeatsIsNotGoneBecauseAListLacksIt(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	i := w.only()
	w.hidden[i.Key] = true
	w.calls = nil
	w.pass(time.Hour, w.running)
	if got := w.only(); got.ID != i.ID || got.State != fleet.Healthy ||
		!reason.Is[reason.NotListedNotSilent](got.Conflict) {
		t.Fatalf("an hour of beats, and not listed: %s", w.describe())
	}
	w.pass(fleet.DefaultTimeouts().Heartbeat+time.Minute, nil)
	if got := w.store.instances[i.ID]; got.State != fleet.Terminated {
		t.Errorf("neither listed nor heard for a heartbeat: %s %s", got.State, got.Conflict)
	}
}

func TestAListFromWhichMostThingsVanishedIsNotBelieved(t *testing.T) {
	w := newWorld(t, demoFleet(4, 8))
	w.settle()
	w.calls = nil
	for _, i := range w.live()[:3] {
		w.hidden[i.Key] = true
	}
	w.pass(10*time.Minute, w.running)
	if len(w.calls) != 0 || len(w.live()) != 4 ||
		!matches(w.last.Observations.Unobserved[local], reason.ResourcesVanished{Missing: 3, Known: 4}) {
		t.Errorf("%s, unobserved %v", w.describe(), w.last.Observations.Unobserved)
	}
}

func TestAManagerThatHearsNobodyReplacesNobody(t *testing.T) {
	w := newWorld(t, demoFleet(4, 8))
	w.settle()
	w.running()
	w.calls = nil
	w.pass(3*24*time.Hour, nil)
	if len(w.calls) != 0 || len(w.live()) != 4 ||
		!reason.Is[reason.RunnersSilentTogether](w.last.Observations.Unobserved[local]) {
		t.Fatalf("after three days of silence from all: %s, unobserved %v", w.describe(), w.last.Observations.Unobserved)
	}
	w.pass(5*time.Minute, w.running)
	for _, i := range w.live() {
		if i.State != fleet.Healthy {
			t.Errorf("heard again, and %s", i.State)
		}
	}
}

func TestSleepOfTheManagerIsNotSilenceOfItsRunners(t *testing.T) {
	for _, gap := range []time.Duration{60 * time.Hour, -2 * time.Hour} {
		w := newWorld(t, demoFleet(1, 2))
		w.settle()
		i := w.only()
		w.running()
		w.remove()
		w.step()
		w.calls = nil
		w.now = w.now.Add(gap) // the lid closed for a weekend, or the clock was set back
		w.step()
		if got := w.store.instances[i.ID]; got.State != fleet.Draining || len(w.calls) != 0 {
			t.Errorf("after %s the busy runner is %s: %s", gap, got.State, got.Reason)
		}
		w.beat(i.Runner, func(r *fleet.Runner) { r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseIdle, true })
		w.settle()
		if len(w.live()) != 0 {
			t.Errorf("after %s the drain doesn't end: %s", gap, w.describe())
		}
	}
}

func TestABusyRunnerIsNotEndedByItsQuarantine(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.settle()
	i := w.only()
	w.beat(i.Runner, func(r *fleet.Runner) {
		r.Report.Phase, r.Report.GroupEmpty, r.Report.Unhealthy = fleet.PhaseRunning, false,
			"could not remove the files of a job"
	})
	w.pass(30*time.Hour, func() { w.beat(i.Runner, func(*fleet.Runner) {}) })
	if got := w.store.instances[i.ID]; got.State != fleet.Quarantined || got.Cause != string(lifecycle.RunnerUnfit) {
		t.Errorf("a runner whose agent complains is %s: %s", got.State, got.Reason)
	}
}

func TestAnOldReportOfHavingStoppedProvesNothing(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	i := w.only()
	w.remove()
	w.step() // draining: the order to stop has a name
	w.beat(i.Runner, func(r *fleet.Runner) {
		r.Report.Phase, r.Report.GroupEmpty, r.Report.Heard, r.Report.Order = fleet.PhaseStopped, true, "stop",
			"stop-of-another-drain"
	})
	w.step()
	if got := w.only(); got.State != fleet.Draining {
		t.Errorf("the echo of another drain ended this one: %s", got.Reason)
	}
}

func TestALostRunnerComesBackByABeatAndNotByARestart(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.settle()
	i := w.only()
	w.pass(20*time.Minute, nil)
	w.restart()
	if got := w.store.instances[i.ID]; got.State != fleet.Quarantined {
		t.Fatalf("after a restart without a beat: %s", got.State)
	}
	w.beat(i.Runner, func(*fleet.Runner) {})
	w.step()
	if got := w.store.instances[i.ID]; got.State != fleet.Healthy {
		t.Errorf("after a beat: %s", got.State)
	}
}

func TestWhatAPersonMustCheckIsNotGivenUpAtADeadline(t *testing.T) {
	w, p := begun(t, func(f *fleet.ProviderFacts) { f.Idempotency = fleet.IdempotencyNone })
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true})
	w.inspect()
	first, commits := w.only().ID, w.store.commits
	w.inspect()
	w.inspect()
	if w.store.commits != commits {
		t.Errorf("looking again wrote %d times", w.store.commits-commits)
	}
	w.pass(time.Hour, nil)
	if got := w.store.instances[first]; !got.Live() || !reason.Is[reason.CannotRepeat](got.Conflict) {
		t.Errorf("an hour later it is %s: %s", got.State, got.Conflict)
	}
}

func TestAnAcceptedOrderIsNotForgotten(t *testing.T) {
	w, p := begun(t, nil)
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionAccepted, CallOver: true})
	first := w.only().ID
	w.pass(20*time.Minute, nil)
	if !w.store.instances[first].Live() {
		t.Fatalf("the order is off the books: %s", w.describe())
	}
	w.make(p) // it arrives after its deadline
	w.settle()
	if _, left := w.cloud[p.Operation.ID]; left || len(w.live()) != 1 {
		t.Errorf("what arrived late is left behind: %s", w.describe())
	}
}

func TestWhatWasFoundIsNotGoneBeforeTheListSettles(t *testing.T) {
	w, p := begun(t, func(f *fleet.ProviderFacts) { f.ListSettle = time.Minute })
	w.make(p)
	w.restart()
	w.inspect()
	w.hidden[p.Operation.ID] = true
	w.inspect()
	if i := w.only(); !i.Live() {
		t.Errorf("seen, then missing from a list that lags: %s", i.Reason)
	}
}

func TestWhatWasSeenIsNotForgottenOnAPluginsWord(t *testing.T) {
	w, p := begun(t, nil)
	w.make(p)
	w.inFlight[p.Operation.ID] = true
	w.inspect()
	delete(w.inFlight, p.Operation.ID)
	first := w.only().ID
	w.step(
		ProvisionAnswered{
			Operation: p.Operation.ID,
			Outcome:   fleet.ProvisionNotCreated,
			Failure:   &Failure{Class: fleet.ErrorTransient, Message: "start failed"},
			CallOver:  true,
		},
	)
	w.pass(10*time.Minute, nil)
	if i := w.store.instances[first]; !i.Live() && w.cloud[p.Operation.ID].Key != "" {
		t.Errorf("%s, and the resource is left behind", i.Reason)
	}
}

func TestHostsThatDieAtOnceAreNotBoughtWithoutAPause(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.calls = nil
	for end := w.now.Add(5 * time.Minute); w.now.Before(end); {
		var events []Event
		for _, e := range w.effects {
			events = append(events, w.run(e))
		}
		w.effects = nil
		for key, res := range w.cloud {
			res.State = fleet.ResourceStopped
			w.cloud[key] = res
		}
		w.step(events...)
		w.wait()
	}
	provisions := 0
	for _, c := range w.calls {
		if strings.HasPrefix(c, "provision") {
			provisions++
		}
	}
	if provisions > 10 {
		t.Errorf("%d hosts bought in five minutes", provisions)
	}
}

func TestARequestPendingAtItsDeadlineEnds(t *testing.T) {
	w, p := begun(t, nil)
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true})
	w.inspect() // absent: it waits to go out again
	first := w.only().ID
	w.step(ProviderDown{Provider: local, Reason: "it died"})
	w.pass(11*time.Minute, nil)
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	w.settle()
	if i := w.store.instances[first]; i.Live() {
		t.Errorf("it is %s: %s", i.State, i.Reason)
	}
}

// ambiguous is a store whose commit is stored and fails all the same.
type ambiguous struct {
	*fakeStore
	armed bool
}

func (a *ambiguous) Commit(ctx context.Context, c store.Change) error {
	err := a.fakeStore.Commit(ctx, c)
	if a.armed && len(c.Operations) > 0 {
		a.armed = false
		return errors.Join(err, errFenced)
	}
	return err
}

func TestACommitThatFailedAndWasStoredWedgesNothing(t *testing.T) {
	w := newWorld(t)
	w.loop.store = &ambiguous{fakeStore: w.store, armed: true}
	w.store.fleets["f1"] = demoFleet(1, 2)
	if _, err := w.loop.Step(t.Context(), w.now, nil); err == nil {
		t.Fatal("the commit should fail")
	}
	w.settle()
	if i := w.only(); i.State != fleet.Healthy {
		t.Errorf("it is %s", i.State)
	}
}

func TestACallAnsweredAfterItsInstanceEndedFreesItsSlot(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	w.remove()
	e := terminating(w)
	delete(w.cloud, e.Key)
	w.inspect()
	if len(w.live()) != 0 {
		t.Fatalf("not proven gone: %s", w.describe())
	}
	if w.step(TerminateAnswered{Operation: e.Operation, Outcome: fleet.TerminateGone}); w.last.Calls != 0 {
		t.Errorf("%d calls under way", w.last.Calls)
	}
}

func TestARestartDoesNotFailWhatIsComingUp(t *testing.T) {
	w, p := begun(t, nil)
	w.step(w.run(p))
	i := w.only()
	id := w.enroll(i)
	w.step()
	w.now = w.now.Add(10 * time.Minute) // the manager was away
	w.restart()
	w.beat(id, func(*fleet.Runner) {})
	w.settle()
	if got := w.only(); got.ID != i.ID {
		t.Errorf("thrown away: %s", w.store.instances[i.ID].Reason)
	}
}
