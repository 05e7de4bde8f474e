package loop

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// What the fault simulation found, each as small as it gets.

func TestARunnerThatWasThereBeforeDoesNotForgiveNewFailures(t *testing.T) {
	w := newWorld(t, demoFleet(1, 3))
	w.settle()
	w.pass(2*time.Minute, w.all)
	f := w.store.fleets["f1"]
	f.Scaling.Min, f.Serial = 2, f.Serial+1
	w.store.fleets["f1"] = f
	w.calls = nil
	for end := w.now.Add(5 * time.Minute); w.now.Before(end); {
		var events []Event
		for _, e := range w.effects {
			if p, ok := e.(Provision); ok {
				events = append(
					events,
					ProvisionAnswered{
						Operation: p.Operation.ID,
						Outcome:   fleet.ProvisionNotCreated,
						Failure:   &Failure{Class: fleet.ErrorCapacity, Message: "full"},
						CallOver:  true,
					},
				)
				continue
			}
			events = append(events, w.run(e))
		}
		w.effects = nil
		w.all()
		w.now = w.now.Add(time.Second)
		w.step(events...)
	}
	if n := strings.Count(strings.Join(w.calls, ","), "provision"); n > 8 {
		t.Errorf("asked %d times in five minutes for what isn't to be had", n)
	}
}

func TestAClockThatIsSetForwardDoesNotLetAListSettle(t *testing.T) {
	w, p := begun(t, func(f *fleet.ProviderFacts) { f.ListSettle = time.Minute })
	w.make(p)
	w.inspect()
	w.step(
		ProvisionAnswered{
			Operation: p.Operation.ID,
			Outcome:   fleet.ProvisionCreated,
			Resource:  w.cloud[p.Operation.ID],
			CallOver:  true,
		},
	)
	w.hidden[p.Operation.ID] = true // another replica answers
	w.now = w.now.Add(20 * time.Minute)
	w.step()
	w.inspect()
	if i := w.only(); i.Key != p.Operation.ID {
		t.Errorf("the first is called gone, and is there: %s", w.describe())
	}
}

func TestAClockThatIsSetForwardDoesNotMakeAVanishedListBelieved(t *testing.T) {
	w := newWorld(t, demoFleet(4, 8))
	w.settle()
	w.calls = nil
	for _, i := range w.live()[:3] {
		w.hidden[i.Key] = true
	}
	w.pass(time.Minute, w.running)
	w.now = w.now.Add(time.Hour)
	w.step()
	w.inspect()
	if len(w.live()) != 4 || w.last.Observations.Unobserved[local].IsZero() {
		t.Errorf("%s, unobserved %v", w.describe(), w.last.Observations.Unobserved)
	}
}

func TestAHalfMadeHostIsNotAskedForAgainBeforeTheListSettles(t *testing.T) {
	w, p := begun(t, func(f *fleet.ProviderFacts) { f.ListSettle = time.Minute })
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true})
	over := w.now
	half := w.make(p)
	half.State = fleet.ResourcePending
	w.cloud[p.Operation.ID] = half
	for range 1000 {
		if has[Provision](w) {
			break
		}
		w.inspect()
	}
	if again := take[Provision](w); again.Operation.ID != p.Operation.ID || w.now.Sub(over) < time.Minute {
		t.Errorf(
			"%s goes out %s after the call was over: the plugin may not find what it made",
			again.Operation.ID,
			w.now.Sub(over),
		)
	}
}

func TestInspectionBeforeClockSetBackProvesNothingAbsent(t *testing.T) {
	w, p := begun(t, func(f *fleet.ProviderFacts) { f.ListSettle = time.Minute })
	w.make(p)
	w.step(
		ProvisionAnswered{
			Operation: p.Operation.ID,
			Outcome:   fleet.ProvisionCreated,
			Resource:  w.cloud[p.Operation.ID],
			CallOver:  true,
		},
	)
	w.hidden[p.Operation.ID] = true
	for !has[Inspect](w) {
		w.wait()
		w.step()
	}
	take[Inspect](w)
	early := w.look()
	w.now = w.now.Add(-20 * time.Minute)
	w.step()
	w.now = w.now.Add(time.Second)
	w.step(early)
	if i := w.only(); i.Key != p.Operation.ID {
		t.Errorf("the first is called gone, and is there: %s", w.describe())
	}
}

func TestTwoThatDiedTogetherAreLetGoOnceTheyAreTheMajority(t *testing.T) {
	w := newWorld(t, demoFleet(5, 9))
	w.settle()
	dead := map[fleet.CapacityInstanceID]bool{}
	for _, i := range w.live()[:2] {
		dead[i.ID] = true
	}
	others := func() {
		for _, i := range w.live() {
			if !dead[i.ID] {
				w.behave(i)
			}
		}
		for _, e := range w.effects {
			if _, inspect := e.(Inspect); !inspect {
				w.step(w.run(e))
			}
		}
		w.effects = slices.DeleteFunc(w.effects, func(e Effect) bool { _, inspect := e.(Inspect); return !inspect })
	}
	w.pass(time.Hour, others)
	f := w.store.fleets["f1"]
	f.Scaling.Min, f.Serial = 1, f.Serial+1
	w.store.fleets["f1"] = f
	w.pass(30*time.Hour, others)
	for _, i := range w.live() {
		if dead[i.ID] {
			t.Errorf("%s is %s after 31 hours: %s", i.ID, i.State, w.last.Observations.Unobserved[local])
		}
	}
}

func TestSchedulerResetDuringManagerDowntimeRecovers(t *testing.T) {
	w, _ := up(t)
	w.ci.revision = 1000
	i := drained(t, w)
	w.step(w.ci.tell(take[CallScheduler](w)))
	if w.ci = newSimpleScheduler(); !w.store.instances[i.ID].Scheduling.Cordoned {
		t.Fatal("the cordon wasn't acknowledged")
	}
	w.restart()
	w.goOn(10 * time.Minute)
	if len(w.live()) != 0 {
		t.Errorf("still there: %s", w.describe())
	}
}

func TestClockSetBackStopsNoInspection(t *testing.T) {
	w, _ := up(t)
	w.now = w.now.Add(-time.Hour)
	w.goOn(time.Minute)
	if looked := w.loop.scheduler(queueCI).LastObservation(); looked.IsZero() || looked.After(w.now) {
		t.Errorf("the scheduler was looked at last at %s, and it is %s", looked, w.now)
	}
	if looked := w.loop.provider(local).LastInspection(); looked.IsZero() || looked.After(w.now) {
		t.Errorf("the provider was looked at last at %s, and it is %s", looked, w.now)
	}
}
