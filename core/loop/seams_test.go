package loop

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
)

// Failures at the seams: between accounts, between schedulers, and between an
// instance's end and the last who must know of it.

// What was seen in one account proves nothing of another.
func TestATerminationThatWasHeldBackNeverGoesToAnotherAccount(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.facts.Account = "acme/eu"
	w.loop = nil
	w.restart()
	w.settle()
	f := w.store.fleets["f1"]
	f.Operational = fleet.FleetDraining
	w.store.fleets["f1"] = f
	w.step()
	i := w.only()
	w.stop(i)
	w.step() // Terminating
	f.Operational = fleet.FleetFrozen
	w.store.fleets["f1"] = f
	w.inspect()
	w.inspect()
	f.Operational = fleet.FleetDraining
	w.store.fleets["f1"] = f
	w.facts.Account = "acme/us"
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	if has[Terminate](w) {
		e := take[Terminate](w)
		w.step(TerminateAnswered{Operation: e.Operation, Outcome: fleet.TerminateGone})
		t.Errorf(
			"terminate %s went to the account acme/us; instances: %s; left in the cloud: %d",
			e.Resource,
			w.describe(),
			len(w.cloud),
		)
	}
}

// A person may be wrong about an id.
func TestAVolumeIsNoInstanceWhateverAPersonSays(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.facts.Idempotency = fleet.IdempotencyNone
	w.restart()
	w.inspect()
	w.inspect()
	w.others = append(w.others, fleet.Resource{ID: "vol-9", Kind: "volume", State: fleet.ResourceRunning})
	i := w.only()
	w.step(
		Ordered{
			Order: Order{
				ID:       "o",
				Kind:     ResolveCreated,
				Instance: i.ID,
				Resource: "vol-9",
				By:       "ada",
				Until:    w.now.Add(time.Minute),
			},
		},
	)
	var outcome OrderOutcome
	for range 5 {
		res := w.inspect()
		if len(res.Orders) > 0 {
			outcome = res.Orders[0]
			break
		}
	}
	w.inspect()
	w.inspect()
	if !outcome.Done.IsZero() {
		t.Errorf("a volume became the instance's machine: %s", outcome.Done)
	}
}

// A list may lag behind a creation for as long as the provider says. A clock that
// is set ahead doesn't shorten that.
func TestAClockThatIsSetAheadBySecondsProvesNothingGone(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.facts.ListSettle = 20 * time.Second
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	p := take[Provision](w)
	res := w.make(p)
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionCreated, Resource: res, CallOver: true})
	w.hidden[p.Operation.ID] = true // the list lags
	w.now = w.now.Add(25 * time.Second)
	w.step(ClockSet{By: 25 * time.Second})
	w.inspect()
	if i := w.store.instances[p.Operation.Instance]; !i.Live() {
		t.Errorf("no time passed, and it is %s: %s", i.State, i.Reason)
	}
	w.now = w.now.Add(25 * time.Second)
	w.inspect()
	w.inspect()
	if i := w.store.instances[p.Operation.Instance]; i.Live() {
		t.Errorf("25 s passed, and it is %s: %s", i.State, i.Reason)
	}
}

// Five are taken at once; the sixth is of a fleet that the same step forgets.
func TestAnOrphanOfAFleetThatWasForgottenIsLeftToAPerson(t *testing.T) {
	w, _, _ := ended(t)
	f2 := demoFleet(0, 1)
	f2.ID, f2.Address = "f2", "fleet.old"
	w.store.fleets["f2"] = f2
	for n := range 5 {
		id := fmt.Sprintf("lost%d", n)
		w.others = append(w.others, stranger("vm-"+id, tagsOf(w.keys, "demo", "f1", id, id)))
	}
	w.others = append(w.others, stranger("vm-z", tagsOf(w.keys, "demo", "f2", "z", "z")))
	w.inspect()
	w.pass(inventory.DefaultOrphanGrace-time.Minute, nil)
	w.now = w.now.Add(50 * time.Second)
	w.step()
	w.now = w.now.Add(50 * time.Second)
	f2.Operational = fleet.FleetDraining // its block was removed while the inspection ran
	w.store.fleets["f2"] = f2
	take[Inspect](w)
	w.step(w.look())
	w.step()
	w.step()
	for _, i := range w.live() {
		if i.Key == "z" {
			t.Errorf("%s is of the fleet %q; damaged: %v", i.ID, i.Fleet, w.last.Damaged)
		}
	}
}

// A runner belongs to the scheduler that was told of it, whatever its fleet says now.
func TestADrainEndsThoughTheFleetHasAnotherSchedulerNow(t *testing.T) {
	w, i := up(t)
	f := w.store.fleets["f1"]
	f.Scheduler, f.Operational = "", fleet.FleetDraining
	w.store.fleets["f1"] = f
	w.goOn(3 * time.Minute)
	got := w.store.instances[i.ID]
	if got.Live() {
		t.Errorf("%s since %s: %+v, told %v", got.State, w.now.Sub(got.Since), got.Scheduling, w.ci.told)
	}
}

// A block that left the file is not a word of the scheduler: its lease continues.
func TestASchedulerWithoutABlockProvesNoHostIdle(t *testing.T) {
	w, i := up(t)
	w.ci.lease(i.ID, 1)
	w.goOn(5 * time.Second)
	f := w.store.fleets["f1"]
	f.Operational = fleet.FleetDraining
	w.store.fleets["f1"] = f
	w.effects = nil
	for !has[CallScheduler](w) {
		w.now = w.now.Add(time.Second)
		w.step()
	}
	e := take[CallScheduler](w)
	w.step(SchedulerAnswered{Answer: ci.Answer{Scheduler: e.Scheduler, Instance: e.Instance, Kind: e.Kind, Gone: true}})
	w.pass(20*time.Minute, nil)
	if len(w.terminations()) > 0 {
		t.Error("a host was terminated whose scheduler has a lease on it and was never asked")
	}
}

// Its scheduler promised no new lease, and no one said that the old one is over.
func TestASilentHostOfASchedulerThatListsNothingIsKept(t *testing.T) {
	w, _ := up(t)
	f := w.store.fleets["f1"]
	f.Operational = fleet.FleetDraining
	w.store.fleets["f1"] = f
	w.effects = nil
	w.loop.schedulers[queueCI].Observing = false
	for end := w.now.Add(20 * time.Minute); w.now.Before(end); {
		w.now = w.now.Add(5 * time.Second)
		var events []Event
		for _, e := range w.effects {
			switch e := e.(type) {
			case Inspect:
				events = append(events, w.look())
			case Observe:
				o := w.ci.look(w.now)
				o.Lists, o.Snapshot.Running = false, nil
				events = append(events, o)
			case CallScheduler:
				events = append(events, w.ci.tell(e))
			}
		}
		w.effects = nil
		w.step(events...)
	}
	if len(w.terminations()) > 0 {
		t.Error("neither side said that the host is idle: the scheduler lists nothing and the agent is silent for lost_grace")
	}
}

// Our deadline is over, and the call continues inside the plugin.
func TestNobodyClosesARequestWhoseCallStillRuns(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	for !has[Provision](w) {
		w.inspect()
	}
	p := take[Provision](w)
	// our deadline: the call continues
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown})
	w.inFlight[p.Operation.ID] = true
	i := w.only()
	w.step(
		Ordered{Order: Order{ID: "o", Kind: ResolveNotCreated, Instance: i.ID, By: "ada", Until: w.now.Add(time.Minute)}},
	)
	var outcome OrderOutcome
	for range 5 {
		if res := w.inspect(); len(res.Orders) > 0 {
			outcome = res.Orders[0]
			break
		}
	}
	if !outcome.Done.IsZero() {
		t.Error("the plugin lists the key as in flight, and the instance was closed as never made")
	}
}

// It is gone for us and not yet for its scheduler when its resource shows again.
func TestAResourceThatComesBackTakesItsDepartingRowUp(t *testing.T) {
	w, i := up(t)
	w.facts.Ownership = fleet.OwnershipNamed
	res := w.cloud[i.Key]
	w.ci.down = "away"
	delete(w.cloud, i.Key)
	w.pass(30*time.Minute, nil)
	w.cloud[i.Key] = res
	for range 80 {
		w.now = w.now.Add(20 * time.Second)
		events := []Event{}
		for _, e := range w.effects {
			events = append(events, w.run(e))
		}
		w.effects = nil
		w.step(events...)
		ids := map[fleet.CapacityInstanceID]int{}
		for _, r := range w.last.Instances {
			ids[r.ID]++
		}
		for id, n := range ids {
			if n > 1 {
				t.Fatalf("%d rows of %s in one step", n, id)
			}
		}
	}
}

// An agent that leaves says that it had no job; its scheduler knows better, and
// after a restart it has to be asked first.
func TestLeftAgentKeepsItsHostWhileALeaseIsShown(t *testing.T) {
	w, i := up(t)
	w.ci.lease(i.ID, 1)
	w.goOn(5 * time.Second)
	w.beat(w.store.instances[i.ID].Runner, func(r *fleet.Runner) { r.Left, r.LeftReason = w.now, "signal" })
	w.restart()
	w.goOn(10 * time.Minute)
	if at := w.store.instances[i.ID]; at.State != fleet.Draining || !at.Scheduling.Cordoned {
		t.Fatalf("under a lease: %s", w.describe())
	}
	w.ci.lease(i.ID, 0) // its job is over, or was lost with its worker
	w.goOn(time.Minute)
	if want := "remove " + string(i.ID) + " normal"; w.store.instances[i.ID].Live() || !slices.Contains(w.ci.told, want) {
		t.Errorf("told %v, want %q; %s", w.ci.told, want, w.describe())
	}
}

// A person's word that a machine is gone waits for a look at the provider, which a
// manager that has just started gives soon.
func TestGoneIsNotBelievedBeforeTheProviderWasLookedAt(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.settle()
	i := w.only()
	w.loop = New(w.store, enrollment{}, w.loop.settings)
	w.effects = nil
	w.now = w.now.Add(time.Hour) // its agent hasn't been heard: no manager listened
	if res := w.step(
		Ordered{Order: Order{ID: "o", Kind: ResolveGone, Instance: i.ID, By: "ada", Until: w.now.Add(time.Minute)}},
	); len(
		res.Orders,
	) > 0 {
		t.Fatalf("decided without a look: %+v", res.Orders)
	}
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	var outcome OrderOutcome
	for range 5 {
		if res := w.inspect(); len(res.Orders) > 0 {
			outcome = res.Orders[0]
			break
		}
	}
	if outcome.Refused.IsZero() || !w.store.instances[i.ID].Live() {
		t.Errorf("%+v; the instance is %s", outcome, w.store.instances[i.ID].State)
	}
}

// A list that lags showed a machine's volume and not the machine. The volume went
// first, and what the provider said of it was taken for the machine's end.
func TestAVolumeStaysUntilItsMachineIsSurelyGone(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.facts.ListSettle = 20 * time.Second
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	p := take[Provision](w)
	res := w.make(p)
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionCreated, Resource: res, CallOver: true})
	w.hidden[p.Operation.ID] = true // the list lags
	w.others = append(
		w.others,
		fleet.Resource{
			ID:        "vol-1",
			Key:       p.Operation.ID,
			Kind:      "volume",
			BelongsTo: res.ID,
			State:     fleet.ResourceRunning,
			Tags:      p.Intent.Tags,
		},
	)
	w.remove()
	w.inspect()
	w.inspect()
	if has[Terminate](w) {
		t.Errorf("%s is removed, and its machine may be there", take[Terminate](w).Resource)
	}
	w.now = w.now.Add(25 * time.Second)
	w.inspect()
	w.inspect()
	if !has[Terminate](w) || take[Terminate](w).Resource != "vol-1" {
		t.Errorf("the volume is left behind: %s", w.describe())
	}
}
