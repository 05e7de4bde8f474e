package loop

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

func TestTerminationNeedsAnInspectionAfterItsIntent(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	w.remove()
	w.step()
	w.stop(w.only())
	stale := w.look()
	w.step(stale)
	if i := w.only(); i.State != fleet.Terminating || has[Terminate](w) {
		t.Fatalf("with an inspection from before the intent: %s", w.describe())
	}
	w.inspect()
	if !has[Terminate](w) {
		t.Errorf("with an inspection from after the intent: %s", w.describe())
	}
}

// A request was sent again, and its resource seen meanwhile. What is removed under a call
// that still runs, the call may make once more.
func TestNothingIsTerminatedWhileACallOfItsKeyStillRuns(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	w.remove()
	w.step()
	w.stop(w.only())
	key := w.only().Key
	w.inFlight[key] = true
	w.inspect()
	w.inspect()
	if i := w.only(); i.State != fleet.Terminating || has[Terminate](w) {
		t.Fatalf("the plugin lists the key as in flight: %s", w.describe())
	}
	delete(w.inFlight, key)
	w.inspect()
	if !has[Terminate](w) {
		t.Errorf("the call is over: %s", w.describe())
	}
}

func TestAListThatBrokeOffProvesNoOwnership(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	w.remove()
	w.step()
	w.stop(w.only())
	w.step()
	half := w.look() // the copy with the same key may be on the page that failed
	half.Began, half.Inspection.Complete = w.now.Add(time.Second), false
	w.now = w.now.Add(2 * time.Second)
	w.step(half)
	if i := w.only(); i.State != fleet.Terminating || has[Terminate](w) {
		t.Errorf("after half a list: %s", w.describe())
	}
}

func TestACopyWithTheSameKeyLeavesBothUntouched(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	i := w.only()
	copied := w.cloud[i.Key]
	copied.ID = "vm-copy"
	w.twins = append(w.twins, copied)
	w.calls = nil
	w.remove()
	for range 30 {
		w.behave(w.only())
		w.inspectIfDue()
		w.wait()
		w.step()
	}
	if got := w.only(); !reason.Is[reason.KeyShared](got.Conflict) || len(w.calls) != 0 {
		t.Fatalf("with a copy: %s", w.describe())
	}
	w.twins = nil
	w.settle()
	if len(w.live()) != 0 {
		t.Errorf("once the copy is gone: %s", w.describe())
	}
}

func TestARenamedResourceIsNotTakenForOurs(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	i := w.only()
	other := w.cloud[i.Key]
	other.ID = "vm-other"
	w.cloud[i.Key] = other
	w.calls = nil
	w.remove()
	for range 30 {
		w.behave(w.only())
		w.inspectIfDue()
		w.wait()
		w.step()
	}
	if got := w.only(); !reason.Is[reason.ResourceMismatch](got.Conflict) &&
		!reason.Is[reason.ResourceTaken](got.Conflict) ||
		len(w.calls) != 0 {
		t.Errorf("with another id under our key: %s", w.describe())
	}
}

func TestCredentialsForAnotherAccountMakeNothingLookGone(t *testing.T) {
	w := newWorld(t)
	w.facts.Account = "account A"
	w.restart()
	w.store.fleets["f1"] = demoFleet(2, 4)
	w.settle()
	w.calls = nil
	mine := w.cloud
	w.cloud, w.facts.Account = map[fleet.OperationID]fleet.Resource{}, "account B"
	w.restart()
	for range 10 {
		for id := range w.store.runners {
			w.beat(id, func(*fleet.Runner) {})
		}
		w.inspect()
	}
	if len(w.calls) != 0 || len(w.live()) != 2 || !reason.Is[reason.WrongAccount](w.live()[0].Conflict) {
		t.Fatalf("seen from another account: %s", w.describe())
	}
	w.cloud, w.facts.Account = mine, "account A"
	w.restart()
	w.settle()
	if len(w.calls) != 0 || len(w.live()) != 2 || !w.live()[0].Conflict.IsZero() {
		t.Errorf("back in the right account: %s", w.describe())
	}
}
