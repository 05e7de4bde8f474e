package loop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

const reviewed = fleet.SchedulerAddress("reviewos.main")

// onceScheduler lists no runner, takes no stop back, and gives each credential in
// one answer: what it acknowledged, and sums, are all that there is. It stands for
// ReviewOS by what a test sets, where testonly/standin is a server with runners and jobs,
// and the simulation has a model of its own.
type onceScheduler struct {
	// waiting and running are jobs, usable the runners that it counts as able to
	// take one.
	waiting, running, usable int
	lost                     bool
	down                     string
	// swallow is how many admissions are done and not answered; refuse says no.
	swallow int
	refuse  bool
	made    int
	told    []string
	// until ends goes before its time; nil: it doesn't.
	until func() bool
}

// run carries out an effect, on this scheduler where it is about one.
func (o *onceScheduler) run(w *world, e Effect) Event {
	switch e := e.(type) {
	case Observe:
		return o.look(w.now)
	case CallScheduler:
		return o.tell(e)
	}
	return w.run(e)
}

func (o *onceScheduler) look(now time.Time) Observed {
	out := Observed{Scheduler: reviewed}
	if o.down != "" {
		out.Failure = &Failure{Class: fleet.ErrorTransient, Message: o.down}
		return out
	}
	out.Snapshot = fleet.CapacityDemandSnapshot{ObservedAt: now, Queued: []fleet.QueuedDemand{{
		Requirement: fleet.SchedulingRequirementSet{Queue: "q", Class: "c"}, Count: o.waiting, Admissible: o.waiting,
		Unlisted: &fleet.UnlistedUsage{Jobs: o.running, Usable: o.usable},
	}}}
	if o.lost {
		out.Snapshot.Concerns = []fleet.DemandConcern{
			{Kind: fleet.RunnersLost, Class: "c", Sentence: "More and more are lost."},
		}
	}
	return out
}

func (o *onceScheduler) tell(e CallScheduler) SchedulerAnswered {
	words := fmt.Sprintf("%s %s", e.Kind, e.Instance)
	if e.Kind == ci.Admit {
		words = fmt.Sprintf("%s, attempt %d", words, e.Runner.Attempt)
	}
	if e.Force {
		words += " by force"
	}
	o.told = append(o.told, words)
	out := SchedulerAnswered{Answer: e.Answered()}
	switch {
	case e.Kind == ci.Uncordon:
		panic("no one can take a stop back here")
	case e.Kind == ci.Admit && o.refuse:
		out.Failure, out.NotDone = &Failure{Class: fleet.ErrorPermission, Message: "403"}, true
	case e.Kind == ci.Admit && o.swallow > 0:
		o.swallow--
		out.Failure = &Failure{Class: fleet.ErrorTransient, Message: "no answer"}
	case e.Kind == ci.Admit:
		o.made++
		o.usable++
		out.Ref = fleet.SchedulerRunnerRef(fmt.Sprint(o.made))
	case e.Known.Ref == "":
		out.Unknown = true
	}
	return out
}

// onceWorld is a world whose fleet follows such a scheduler.
func onceWorld(t *testing.T, min, max int) (*world, *onceScheduler) {
	f := demoFleet(min, max)
	f.Scheduler = reviewed
	f.Class.Resources.Slots = 1
	f.Scaling.ScaleDown = fleet.ScaleDownPolicy{IdleGrace: time.Minute, Cooldown: time.Second}
	return newWorld(t, f), &onceScheduler{}
}

// goes lets time pass; works says of agents whose worker runs, and continues until it
// ends by itself.
func (o *onceScheduler) goes(w *world, d time.Duration, works func(fleet.CapacityInstance) bool) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		if len(w.effects) == 0 {
			w.now = w.now.Add(max(time.Millisecond, min(w.last.Wake.Sub(w.now), end.Sub(w.now))))
		}
		var events []Event
		for _, e := range w.effects {
			events = append(events, o.run(w, e))
		}
		w.effects = nil
		for _, i := range w.live() {
			if r, enrolled := w.store.runners[i.Runner]; enrolled && works(i) {
				w.beat(r.ID, func(r *fleet.Runner) {
					w.hear(r, i)
					r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseRunning, false
				})
				continue
			} else if enrolled && r.Report.Phase == fleet.PhaseRunning {
				w.beat(r.ID, func(r *fleet.Runner) {
					r.Report.Phase, r.Report.GroupEmpty, r.Report.JobsRun = fleet.PhaseIdle, true, r.Report.JobsRun+1
				})
			}
			w.behave(i)
		}
		if w.step(events...); o.until != nil && o.until() {
			return
		}
	}
}

// always is a worker that runs where it was admitted, and ends for no one.
func always(i fleet.CapacityInstance) bool { return i.Scheduling.Ref != "" }

// untilStopped is a worker that ends by itself once its scheduler has stopped it.
func untilStopped(i fleet.CapacityInstance) bool {
	return i.Scheduling.Ref != "" && !i.Scheduling.Cordoned
}

func terminated(w *world) bool {
	return slices.ContainsFunc(w.calls, func(c string) bool { return strings.HasPrefix(c, "terminate") })
}

func TestUnlistedRunnerIsIdleOnceStoppedAndEnded(t *testing.T) {
	w, o := onceWorld(t, 0, 1)
	o.waiting = 1
	o.goes(w, 10*time.Second, always)
	o.waiting = 0
	busy := true
	o.goes(w, 10*time.Minute, func(i fleet.CapacityInstance) bool { return always(i) && busy })
	i := w.only()
	if i.State != fleet.Draining || i.Drain != fleet.Stopping || !i.Scheduling.Cordoned {
		t.Fatalf("%s %s, stopped %t, want it told to stop: %s", i.State, i.Drain, i.Scheduling.Cordoned, w.describe())
	}
	if terminated(w) {
		t.Fatalf("ended while its process ran: %v", w.calls)
	}
	o.waiting = 1 // nothing takes a stop back
	o.goes(w, time.Minute, func(i fleet.CapacityInstance) bool { return always(i) && busy })
	if i = w.only(); i.State != fleet.Draining {
		t.Fatalf("a stopped runner is %s again", i.State)
	}
	o.waiting, busy = 0, false
	o.goes(w, time.Minute, func(fleet.CapacityInstance) bool { return false })
	if len(w.live()) != 0 || !terminated(w) {
		t.Errorf("still there after its process ended: %s", w.describe())
	}
	if slices.ContainsFunc(o.told, func(words string) bool { return strings.HasSuffix(words, "by force") }) {
		t.Errorf("told %q", o.told)
	}
}

func TestProcessEndBeforeStopAcknowledgementProvesNothing(t *testing.T) {
	w, o := onceWorld(t, 0, 1)
	o.waiting = 1
	o.goes(w, 10*time.Second, always)
	o.waiting = 0
	o.until = func() bool { return w.only().State == fleet.Draining }
	o.goes(w, time.Hour, always)
	i := w.only()
	cordon := take[CallScheduler](w)
	w.beat(i.Runner, func(r *fleet.Runner) {
		w.hear(r, i)
		r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseStopped, true
	})
	w.step()
	if i = w.only(); i.Drain != fleet.Cordoned || i.State != fleet.Draining {
		t.Fatalf("%s %s, and %s wasn't answered", i.State, i.Drain, cordon.Kind)
	}
	o.down = "503"
	w.step(o.look(w.now), SchedulerAnswered{Answer: ci.Answer{Scheduler: reviewed, Instance: i.ID, Kind: ci.Cordon}})
	if i = w.only(); i.Drain != fleet.Cordoned {
		t.Errorf("told to stop while its scheduler can't be seen")
	}
}

func TestRunningJobsTakeRoomThoughNobodySaysWhere(t *testing.T) {
	w, o := onceWorld(t, 0, 5)
	o.waiting = 2
	o.goes(w, 10*time.Second, always)
	o.waiting, o.running = 1, 2
	o.goes(w, 10*time.Second, always)
	if n := len(w.live()); n != 3 {
		t.Errorf("2 jobs run and 1 waits, and there are %d hosts", n)
	}
	o.waiting, o.running = 0, 3
	o.goes(w, 20*time.Minute, always)
	if n := len(w.live()); n != 3 || terminated(w) {
		t.Errorf("3 jobs run, and there are %d hosts: %s", n, w.describe())
	}
}

func TestARunnerThatItsSchedulerDoesNotCountAsUsableIsNoCapacity(t *testing.T) {
	w, o := onceWorld(t, 0, 5)
	o.waiting = 1
	o.goes(w, 10*time.Second, always)
	o.usable = 0 // somebody disabled it
	o.goes(w, time.Minute, always)
	if n := len(w.live()); n != 1 {
		t.Fatalf("%d hosts before the scheduler has had its time to count the first", n)
	}
	o.goes(w, 2*time.Minute, always)
	if n := len(w.live()); n != 2 {
		t.Errorf("a job waits and the one runner takes none, and there are %d hosts", n)
	}
}

func TestNothingLeavesWhileMoreAndMoreRunnersAreLost(t *testing.T) {
	w, o := onceWorld(t, 0, 1)
	o.waiting = 1
	o.goes(w, 10*time.Second, always)
	o.waiting, o.lost = 0, true
	o.goes(w, time.Hour, untilStopped)
	if i := w.only(); i.State != fleet.Healthy {
		t.Fatalf("%s while runners are lost", i.State)
	}
	if p := w.last.Plan.Fleets[0]; !slices.ContainsFunc(p.Waiting, reason.Is[reason.RunnersLost]) {
		t.Errorf("the plan waits for %v", p.Waiting)
	}
	o.lost = false
	o.goes(w, 10*time.Minute, untilStopped)
	if n := len(w.live()); n != 0 {
		t.Errorf("%d are left", n)
	}
}

func TestLostCredentialIsRequestedTwiceThenQuarantined(t *testing.T) {
	for name, one := range map[string]struct {
		lost int
		want fleet.CapacityInstanceState
		told int
	}{"one answer lost": {1, fleet.Healthy, 2}, "both lost": {2, fleet.Quarantined, 2}} {
		t.Run(name, func(t *testing.T) {
			w, o := onceWorld(t, 1, 1)
			o.swallow = one.lost
			o.goes(w, 2*time.Minute, always)
			i := w.store.instances[w.live()[0].ID]
			if i.State != one.want {
				t.Errorf("%s, want %s: %s", i.State, one.want, i.Reason)
			}
			var admits []string
			for _, words := range o.told {
				if strings.HasPrefix(words, "admit "+string(i.ID)+",") {
					admits = append(admits, words)
				}
			}
			if len(admits) != one.told || !strings.HasSuffix(admits[len(admits)-1], "attempt 2") {
				t.Errorf("asked %q", admits)
			}
			if i.State == fleet.Quarantined && i.Cause != string(lifecycle.CredentialLost) {
				t.Errorf("because of %s", i.Cause)
			}
		})
	}
}

func TestACertainNoIsNoAttempt(t *testing.T) {
	w, o := onceWorld(t, 1, 1)
	o.refuse = true
	o.goes(w, 5*time.Minute, always)
	if i := w.only(); i.State != fleet.Healthy || i.Scheduling.Attempts > 1 {
		t.Fatalf("%s after %d attempts, and each was refused", i.State, i.Scheduling.Attempts)
	}
	o.refuse = false
	o.goes(w, 2*time.Minute, always)
	if i := w.only(); i.Scheduling.Ref == "" || i.Scheduling.Attempts != 1 {
		t.Errorf("ref %q after %d attempts", i.Scheduling.Ref, i.Scheduling.Attempts)
	}
}

func TestAnotherManagerAdmitsNobodyAgainWhoseRunnerGoesOn(t *testing.T) {
	w, o := onceWorld(t, 1, 1)
	o.goes(w, time.Minute, always)
	w.restart()
	o.goes(w, 10*time.Minute, always)
	if i := w.only(); o.made != 1 || i.State != fleet.Healthy || !w.last.Settled {
		t.Errorf("%d runners were made, it is %s, settled %t", o.made, i.State, w.last.Settled)
	}
	// Its process ends, and no one has the credential to start another with.
	o.goes(
		w,
		10*time.Minute,
		func(i fleet.CapacityInstance) bool { return i.Scheduling.Attempts == 2 && i.Scheduling.Ref != "" },
	)
	if i := w.only(); o.made != 2 || i.State != fleet.Healthy {
		t.Errorf("%d runners were made, it is %s: %s", o.made, i.State, i.Reason)
	}
}

func TestARunnerThatWasStoppedWhileItWasSilentLeavesWhenItIsBack(t *testing.T) {
	w, o := onceWorld(t, 1, 1)
	o.goes(w, time.Minute, always)
	i := w.only()
	res := w.cloud[i.Key]
	res.State = fleet.ResourceUnclear
	w.cloud[i.Key] = res
	quiet := func(fleet.CapacityInstance) bool { return false }
	for range 200 { // the agent is alive for no one
		if w.store.instances[i.ID].Scheduling.Cordoned {
			break
		}
		r := w.store.runners[i.Runner]
		r.LastBeat = i.Since
		w.store.runners[i.Runner] = r
		o.goes(w, time.Minute, quiet)
	}
	if at := w.store.instances[i.ID]; at.State != fleet.Quarantined || !at.Scheduling.Cordoned {
		t.Fatalf("%s, stopped %t", at.State, at.Scheduling.Cordoned)
	}
	res.State = fleet.ResourceRunning
	w.cloud[i.Key] = res
	o.goes(w, 5*time.Minute, untilStopped)
	if at := w.store.instances[i.ID]; at.Live() {
		t.Errorf("%s: %s", at.State, at.Reason)
	}
}

func TestAStopThatItsSchedulerHasForgottenIsSaidAgain(t *testing.T) {
	w, o := onceWorld(t, 0, 1)
	o.waiting = 1
	o.goes(w, 10*time.Second, always)
	o.waiting = 0
	o.until = func() bool { return w.only().Scheduling.Cordoned }
	o.goes(w, time.Hour, always)
	o.until, o.told = nil, nil // it was restored from a backup, and its process continues
	id := w.only().ID
	o.goes(w, 3*time.Minute, always)
	if len(o.told) > 0 {
		t.Errorf("a job that takes a while, and it was told %q", o.told)
	}
	o.goes(w, 8*time.Minute, always)
	if want := fmt.Sprintf("cordon %s", id); !slices.Equal(o.told, []string{want, want}) {
		t.Errorf("11 minutes after the stop it was told %q, want that stop once in five minutes", o.told)
	}
	o.goes(w, time.Minute, func(fleet.CapacityInstance) bool { return false })
	if len(w.live()) != 0 {
		t.Errorf("still there after its process ended: %s", w.describe())
	}
}

func TestForgottenRunnerGetsANewCredentialThenANewHost(t *testing.T) {
	w, o := onceWorld(t, 1, 1)
	o.goes(w, time.Minute, always)
	looks := 0
	flaps := func(i fleet.CapacityInstance) bool { // its process ends at once, again and again
		looks++
		return always(i) && looks%2 == 0
	}
	o.down = "503"
	o.goes(w, 5*time.Minute, flaps)
	if o.made != 1 {
		t.Fatalf("%d runners were made while no one could know why its process ends", o.made)
	}
	o.down = ""
	o.until = func() bool { return o.made == 2 }
	o.goes(w, 5*time.Minute, flaps)
	if i := w.only(); o.made != 2 || i.State != fleet.Healthy {
		t.Fatalf("%d runners were made, and it is %s: %s", o.made, i.State, i.Reason)
	}
	id := w.only().ID
	o.until = func() bool { return w.store.instances[id].State != fleet.Healthy }
	o.goes(w, 5*time.Minute, flaps)
	if i := w.store.instances[id]; i.State != fleet.Quarantined || i.Cause != string(lifecycle.CredentialLost) ||
		o.made != 2 {
		t.Errorf("%s because of %s, and %d runners were made", i.State, i.Cause, o.made)
	}
}

func TestAProcessThatEndsNowAndThenKeepsItsRunner(t *testing.T) {
	w, o := onceWorld(t, 1, 1)
	o.goes(w, time.Minute, always)
	for range 12 {
		o.goes(w, 11*time.Minute, always)
		looks := 0
		o.goes(w, 10*time.Second, func(i fleet.CapacityInstance) bool { looks++; return looks > 1 })
	}
	if i := w.only(); o.made != 1 || i.State != fleet.Healthy || w.store.runners[i.Runner].Report.JobsRun != 12 {
		t.Errorf(
			"%d runners were made, it is %s after %d processes",
			o.made,
			i.State,
			w.store.runners[i.Runner].Report.JobsRun,
		)
	}
}
