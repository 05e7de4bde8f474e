package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// paced is a world whose provider declares what its inspections cost.
func paced(t *testing.T, wanted int, change func(*fleet.ProviderFacts)) *world {
	w := newWorld(t, demoFleet(0, 0))
	change(&w.facts)
	w.restart()
	w.store.fleets["f1"] = demoFleet(wanted, wanted)
	w.inspections(time.Second)
	return w
}

// inspections counts the complete inspections and those by keys that go out within a
// time. Each is answered at once.
func (w *world) inspections(d time.Duration) (complete, byKeys int) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(100 * time.Millisecond) {
		for has[Inspect](w) {
			e := take[Inspect](w)
			if len(e.Keys) > 0 {
				byKeys++
			} else {
				complete++
			}
			w.step(w.lookFor(e.Keys))
		}
		w.step()
	}
	return complete, byKeys
}

// lookFor answers an Inspect effect for keys; none: everything.
func (w *world) lookFor(keys []fleet.OperationID) Inspected {
	e := w.look()
	if e.Keys = keys; len(keys) == 0 {
		return e
	}
	all := e.Inspection.Resources
	e.Inspection.Resources = nil
	for _, key := range keys {
		at := slices.IndexFunc(all, func(r fleet.Resource) bool { return r.Key == key })
		if at >= 0 {
			e.Inspection.Resources = append(e.Inspection.Resources, all[at])
		} else if !slices.Contains(e.Inspection.InFlight, key) {
			e.Inspection.Absent = append(e.Inspection.Absent, key)
		}
	}
	return e
}

// lose answers a provision: what became of it isn't known.
func (w *world) lose(p Provision) {
	w.step(ProvisionAnswered{
		Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true,
		Failure: &Failure{Class: fleet.ErrorTransient, Message: "the connection broke"},
	})
}

func TestInspectionsKeepTheDeclaredInterval(t *testing.T) {
	const minute = time.Minute
	lag := func(f *fleet.ProviderFacts) { f.ListSettle = time.Hour }
	count := func(change func(*fleet.ProviderFacts)) int {
		w := paced(t, 1, func(f *fleet.ProviderFacts) { lag(f); change(f) })
		w.lose(take[Provision](w))
		complete, byKeys := w.inspections(minute)
		if byKeys != 0 {
			t.Errorf("%d inspections by keys, which the provider doesn't offer", byKeys)
		}
		return complete
	}
	eager := count(func(*fleet.ProviderFacts) {})
	spaced := count(func(f *fleet.ProviderFacts) { f.InspectionInterval = 10 * time.Second })
	if eager < 20 || spaced > 6 || spaced < 5 {
		t.Errorf("%d inspections in a minute without an interval, %d with one of 10s; want over 20, and 5 or 6", eager,
			spaced)
	}
}

func TestInspectionsWaitForAsLongAsTheProviderAsks(t *testing.T) {
	w := paced(t, 1, func(*fleet.ProviderFacts) {})
	w.lose(take[Provision](w))
	w.wait()
	w.step()
	take[Inspect](w)
	asked := w.now
	w.step(Inspected{Provider: local, Began: w.now, Failure: &Failure{
		Class: fleet.ErrorRateLimit, Message: "429", RetryAfter: 40 * time.Second,
	}})
	if w.last.Wake.After(asked.Add(41 * time.Second)) {
		t.Errorf("wakes %s after the answer", w.last.Wake.Sub(asked))
	}
	if complete, _ := w.inspections(39 * time.Second); complete != 0 {
		t.Errorf("%d inspections within the 40s that the provider asked for", complete)
	}
	if complete, _ := w.inspections(2 * time.Second); complete == 0 {
		t.Error("no inspection when they were over")
	}
}

func TestUnknownOutcomesAreAskedForByKey(t *testing.T) {
	w := paced(t, 2, func(f *fleet.ProviderFacts) { f.InspectsByKey, f.InspectionInterval = true, 20*time.Second })
	made, lost := take[Provision](w), take[Provision](w)
	w.make(made)
	w.lose(made)
	w.lose(lost)
	complete, byKeys := w.inspections(8 * time.Second)
	if complete != 0 || byKeys == 0 {
		t.Fatalf("%d complete inspections and %d by keys", complete, byKeys)
	}
	if op := w.store.operations[made.Operation.ID]; op.State != fleet.OperationSucceeded {
		t.Errorf("what was made is %s", op.State)
	}
	if again := take[Provision](w); again.Operation.ID != lost.Operation.ID || again.Operation.Attempts != 2 {
		t.Errorf("then %s goes out, attempt %d; want %s again", again.Operation.ID, again.Operation.Attempts,
			lost.Operation.ID)
	}
}

func TestAbsenceByKeyWaitsForTheSettleTime(t *testing.T) {
	w := paced(t, 1, func(f *fleet.ProviderFacts) {
		f.InspectsByKey, f.InspectionInterval, f.ListSettle = true, time.Hour, 30*time.Second
	})
	w.lose(take[Provision](w))
	w.inspections(29 * time.Second)
	if has[Provision](w) {
		t.Fatal("the request went out again within the settle time")
	}
	w.inspections(20 * time.Second)
	if !has[Provision](w) {
		t.Errorf("the request never goes out again: %s", w.describe())
	}
}

func TestManyKeysAreAskedForByOneList(t *testing.T) {
	w := paced(t, 8, func(f *fleet.ProviderFacts) { f.InspectsByKey, f.ListSettle = true, time.Hour })
	for range 8 {
		w.lose(take[Provision](w))
	}
	if complete, byKeys := w.inspections(10 * time.Second); byKeys != 0 || complete == 0 {
		t.Errorf("%d complete inspections and %d by keys", complete, byKeys)
	}
}

func TestAFailedResourceRestsItsOffer(t *testing.T) {
	w := trading(t, 1, "a", "b")
	w.open()
	p := take[Provision](w)
	res := w.make(p)
	res.State, res.Zone, res.MachineType = fleet.ResourceFailed, "a", "m"
	res.Failure = &fleet.ResourceFailure{Class: fleet.ErrorCapacity, Message: "no host has room", Zone: "a"}
	w.cloud[p.Operation.ID] = res
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionAccepted, CallOver: true})
	w.inspect()
	failed := w.store.instances[p.Operation.Instance]
	want := reason.ResourceFailed{Class: string(fleet.ErrorCapacity), Message: "no host has room"}
	if got, ok := reason.As[reason.ResourceFailed](failed.Reason); failed.State != fleet.Terminating || !ok ||
		got != want {
		t.Fatalf("it is %s: %s", failed.State, failed.Reason)
	}
	if hold, held := w.last.Holds()["f1"]; held {
		t.Errorf("the fleet is held: %s", hold.Reason)
	}
	for !has[Provision](w) {
		if has[Terminate](w) {
			w.step(w.run(take[Terminate](w)))
		}
		w.inspect()
	}
	if got := zones(take[Provision](w)); got != "b" {
		t.Errorf("the next request has the offers %q, want b", got)
	}
}

// meter counts requests by the second, as an API does that allows so many a minute.
type meter struct {
	allowed int
	at      []time.Time
}

// room says whether another request is allowed at a time.
func (m *meter) room(now time.Time) bool {
	return len(m.at) < m.allowed || now.Sub(m.at[len(m.at)-m.allowed]) >= time.Minute
}

// busiest is the largest number of requests within a minute.
func (m *meter) busiest() (most int) {
	for n, last := range m.at {
		in := 0
		for _, at := range m.at[:n+1] {
			if last.Sub(at) < time.Minute {
				in++
			}
		}
		most = max(most, in)
	}
	return most
}

// The plugin holds creates back for as long as its budget is used up. What the manager
// has in its hands is how often it asks for lists, and these always find room.
func TestFiftyInstancesStartWithinARequestBudget(t *testing.T) {
	const budget, wanted = 60, 50
	start := func(interval time.Duration) (busiest, refused int, took time.Duration) {
		w := newWorld(t, demoFleet(0, 0))
		w.facts.InspectionInterval, w.facts.ListSettle = interval, 20*time.Second
		w.restart()
		m := &meter{allowed: budget}
		made := map[fleet.OperationID]time.Time{}
		w.store.fleets["f1"] = demoFleet(wanted, wanted)
		began := w.now
		for len(w.cloud) < wanted || len(w.hidden) > 0 {
			if w.now.Sub(began) > 10*time.Minute {
				t.Fatalf("%d instances after %s", len(w.cloud), w.now.Sub(began))
			}
			w.step()
			for has[Inspect](w) {
				take[Inspect](w)
				if !m.room(w.now) {
					refused++
				}
				m.at = append(m.at, w.now)
				w.step(w.look())
			}
			for has[Provision](w) && m.room(w.now) {
				m.at = append(m.at, w.now)
				p := take[Provision](w)
				made[p.Operation.ID], w.hidden[p.Operation.ID] = w.now, true // the list lags behind
				w.step(w.run(p))
			}
			for key, at := range made {
				if w.now.Sub(at) > w.facts.ListSettle*9/10 {
					delete(w.hidden, key)
				}
			}
			w.now = w.now.Add(200 * time.Millisecond)
		}
		return m.busiest(), refused, w.now.Sub(began)
	}
	busiest, refused, took := start(10 * time.Second)
	if busiest > budget || refused > 0 || took > 2*time.Minute {
		t.Errorf("%d requests in a minute of %d that are allowed, %d lists without room, %s in all", busiest, budget, refused,
			took)
	}
	if eager, _, _ := start(0); eager <= budget {
		t.Errorf("without an interval there are %d requests in a minute: this test shows nothing", eager)
	}
}
