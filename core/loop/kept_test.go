package loop

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// What a freeze, an old notice and a clock that is set do to each other.

func frozenFleet(w *world) {
	w.store.overrides.Freezes = []fleet.Freeze{{Fleet: "f1", Attribution: ada}}
}

func TestAJobDoesNotRunTwiceWhileAFreezeKeepsItsMachine(t *testing.T) {
	for name, end := range map[string]func(*world, fleet.CapacityInstanceID){
		"preempted": func(w *world, id fleet.CapacityInstanceID) { w.announce(id, w.reclaim(-time.Second)) },
		"forced": func(w *world, id fleet.CapacityInstanceID) {
			w.tell(Order{Kind: DrainInstance, Instance: id})
			wantDone(t, w.tell(Order{Kind: ForceDrain, Instance: id}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, i := busyRunner(t)
			frozenFleet(w)
			end(w, i.ID)
			w.goOn(3 * time.Minute)
			if got := w.store.instances[i.ID].State; got != fleet.Terminating || len(w.cloud) != 1 {
				t.Fatalf("it is %s, and the cloud has %d machines", got, len(w.cloud))
			}
			if at, there := w.ci.runners[i.ID]; !there || at.Leases != 1 {
				t.Fatalf("the machine runs on, and its job was given to another: %v", w.ci.told)
			}
			w.store.overrides.Freezes = nil
			w.goOn(time.Minute)
			if got := w.store.instances[i.ID].State; got != fleet.Terminated || !slices.ContainsFunc(w.ci.told, isForce) {
				t.Errorf("after the clear it is %s, and the scheduler was told %v", got, w.ci.told)
			}
		})
	}
}

func TestAJobOfAMachineThatEndsUnderAFreezeIsTakenBack(t *testing.T) {
	w, i := busyRunner(t)
	frozenFleet(w)
	w.announce(i.ID, w.reclaim(-time.Second))
	w.goOn(10 * time.Second)
	res := w.cloud[i.Key]
	res.State = fleet.ResourceStopped
	w.cloud[i.Key] = res
	w.goOn(time.Minute)
	if !slices.ContainsFunc(w.ci.told, isForce) || slices.ContainsFunc(w.calls, isTerminate) {
		t.Errorf("the scheduler was told %v, the provider %v", w.ci.told, w.calls)
	}
}

func TestARequestThatAFreezeKeepsIsNotLateForIt(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.step()
	p := take[Provision](w)
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionNotSent, CallOver: true})
	frozenFleet(w)
	deadline := w.store.fleets["f1"].Timeouts.Provision
	i := w.only()
	w.pass(3*deadline, nil)
	if got := w.store.instances[i.ID]; got.State != fleet.Provisioning {
		t.Fatalf("frozen it is %s: %s", got.State, got.Reason)
	}
	w.store.overrides.Freezes = nil
	w.step()
	if again := take[Provision](w); again.Operation.ID != p.Operation.ID {
		t.Errorf("after the clear %s went out, want %s again", again.Operation.ID, p.Operation.ID)
	}
}

// An inventory hands out the same machine under the same name.
func TestOldNoticeIsNotForTheNextInstanceOfItsMachine(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	machine := fleet.ProviderInstanceRef(fmt.Sprintf("vm-id%06d", w.ids+2)) // of the next key
	w.step(Noticed{Provider: local, Instance: machine, Notice: fleet.Notice{ID: "m", Kind: fleet.NoticeMaintenance}})
	w.goOn(inventory.NoticeLife + time.Minute)
	f := w.store.fleets["f1"]
	f.Scaling.Min = 2
	w.store.fleets["f1"] = f
	w.settle()
	n := slices.IndexFunc(w.live(), func(i fleet.CapacityInstance) bool { return i.ProviderInstance == machine })
	if n < 0 {
		t.Fatalf("there is no %s: %s", machine, w.describe())
	}
	if i := w.live()[n]; i.State != fleet.Healthy || i.Interruption != nil {
		t.Errorf("it is %s (%s)", i.State, i.Reason)
	}
}

func TestNoticesOfAWholeZoneAtOnceAreAllHeard(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	i := w.only()
	events := []Event{Noticed{Provider: local, Instance: i.ProviderInstance, Notice: w.reclaim(time.Hour)}}
	for n := range inventory.MaxNotices + 100 {
		events = append(
			events,
			Noticed{Provider: local, Instance: fleet.ProviderInstanceRef(fmt.Sprint("other-", n)), Notice: w.reclaim(time.Hour)},
		)
	}
	w.step(events...)
	if got := w.store.instances[i.ID]; got.Interruption == nil {
		t.Errorf("the first of %d notices was forgotten before it was taken in: it is %s", len(events), got.State)
	}
	if kept := len(w.loop.provider(local).Notices(w.now)); kept > inventory.MaxNotices {
		t.Errorf("%d notices are kept", kept)
	}
}

func TestAClockThatIsSetBackKeepsNoEmergencyWaiting(t *testing.T) {
	w, i := busyRunner(t)
	w.announce(i.ID, w.reclaim(-time.Second))
	w.ci.down = "connection refused"
	w.step()
	if got := w.store.instances[i.ID]; got.Ended != string(lifecycle.Preempted) {
		t.Fatalf("it is %s", got.State)
	}
	w.now = w.now.Add(-time.Hour)
	w.goOn(5 * time.Minute)
	if !slices.ContainsFunc(w.calls, isTerminate) {
		t.Errorf("the machine is kept for its scheduler: %s", w.describe())
	}
}

func TestAClockThatIsSetBackHoldsNoFleetBack(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.step()
	p := take[Provision](w)
	w.step(
		ProvisionAnswered{
			Operation: p.Operation.ID,
			Outcome:   fleet.ProvisionNotCreated,
			Failure:   &Failure{Class: fleet.ErrorTransient, Message: "503"},
			CallOver:  true,
		},
	)
	if w.last.Holds()["f1"].Reason.IsZero() {
		t.Fatal("nothing holds it")
	}
	w.now = w.now.Add(-6 * time.Hour)
	w.step()
	if held := w.last.Holds()["f1"]; !held.Reason.IsZero() {
		t.Errorf("it is held until %s, and it is %s: %s", held.Until, w.now, held.Reason)
	}
}

func TestDrainOfAFrozenFleetSaysWhatWaits(t *testing.T) {
	for _, frozen := range []bool{true, false} {
		w, i := busyRunner(t)
		if frozen {
			w.store.overrides.Freezes = []fleet.Freeze{{Fleet: i.Fleet, Attribution: ada}}
			w.step()
		}
		got := w.tell(Order{Kind: DrainInstance, Instance: i.ID, By: "ada"})
		if want := reason.Of(reason.DrainStarted{Frozen: frozen}); got.Done != want {
			t.Errorf("frozen %t: %q, want %q", frozen, got.Done, want)
		}
	}
}
