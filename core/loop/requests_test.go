package loop

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

func TestARequestSentLateHasATokenThatIsGood(t *testing.T) {
	w := newWorld(t)
	w.step(ProviderDown{Provider: local, Reason: "broken"})
	w.store.fleets["f1"] = demoFleet(1, 2)
	w.step()
	w.now = w.now.Add(24 * time.Hour)
	w.restart()
	if p := take[Provision](w); !p.Operation.TokenExpires.After(w.now) {
		t.Errorf("sent at %s with a token until %s", w.now, p.Operation.TokenExpires)
	}
}

func TestARequestFromAnOlderDefinitionIsNotSent(t *testing.T) {
	w := newWorld(t)
	w.step(ProviderDown{Provider: local, Reason: "broken"})
	w.store.fleets["f1"] = demoFleet(1, 2)
	w.step()
	f := w.store.fleets["f1"]
	f.Instance, f.Immutable, f.Serial = []byte(`{"nice":9}`), []byte(`{"nice":9}`), 2
	w.store.fleets["f1"] = f
	w.step()
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	w.step()
	if p := take[Provision](w); string(p.Intent.Instance) != `{"nice":9}` {
		t.Errorf("sent %s", p.Intent.Instance)
	}
}

func TestACorrectedFileDoesNotWaitForTheOldRequest(t *testing.T) {
	w, p := begun(t, nil)
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true})
	w.inspect() // absent: the same request waits to go out again
	f := w.store.fleets["f1"]
	f.Instance, f.Immutable, f.Serial = []byte(`{"nice":1}`), []byte(`{"nice":1}`), 2
	w.store.fleets["f1"] = f
	w.settle()
	for _, call := range w.calls[1:] {
		if call == "provision "+string(p.Operation.ID) {
			t.Errorf("the old request went out again: %v", w.calls)
		}
	}
	if i := w.only(); i.InstanceDigest != f.InstanceDigest() {
		t.Errorf("left with %s", i.InstanceDigest)
	}
}

func TestAFrozenFleetMakesNoCall(t *testing.T) {
	w := newWorld(t)
	w.step(ProviderDown{Provider: local, Reason: "broken"})
	w.store.fleets["f1"] = demoFleet(1, 2)
	w.step()
	f := w.store.fleets["f1"]
	f.Operational = fleet.FleetFrozen
	w.store.fleets["f1"] = f
	if w.step(ProviderReady{Provider: local, Facts: w.facts}); len(w.calls) != 0 {
		t.Errorf("calls %v", w.calls)
	}
}

func TestOneBadRowStopsNoOtherFleet(t *testing.T) {
	good := demoFleet(1, 2)
	good.ID, good.Address = "f2", "fleet.good"
	w := newWorld(t, demoFleet(1, 2), good)
	w.store.instances["bad"] = fleet.CapacityInstance{
		ID:       "bad",
		Fleet:    "f1",
		Key:      "nowhere",
		State:    fleet.Healthy,
		Provider: local,
	}
	w.pass(time.Minute, nil)
	if len(w.last.Damaged) != 1 || !w.last.Holds()["f1"].NeedsPerson || !w.last.Holds()["f2"].Reason.IsZero() {
		t.Errorf("damaged %v, holds %v", w.last.Damaged, w.last.Holds())
	}
}

func TestWhatCouldNotBeDeletedIsNotMade(t *testing.T) {
	w := newWorld(t)
	w.facts.Ownership = fleet.OwnershipNone
	w.restart()
	w.store.fleets["f1"] = demoFleet(1, 2)
	w.step()
	w.step()
	if i := w.only(); len(w.calls) != 0 || !reason.Is[reason.NotDeletable](i.Conflict) {
		t.Errorf("calls %v, %s", w.calls, i.Conflict)
	}
}

func TestAHostOfAnotherClassIsNotAdmittedIntoTheNewOne(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.step(w.run(take[Provision](w)))
	first := w.only()
	w.enroll(first)
	f := w.store.fleets["f1"]
	f.Class.Trust, f.Serial = "release", 2
	w.store.fleets["f1"] = f
	w.settle()
	if got := w.store.instances[first.ID]; got.Live() || w.only().Class != f.Class.ID() {
		t.Errorf("the host made for trust %q is %s", "standard", got.State)
	}
}

func TestApplyDoesNotSettleOnAgentsThatItHasNotHeard(t *testing.T) {
	w := newWorld(t, demoFleet(2, 3))
	w.settle()
	w.now = w.now.Add(72 * time.Hour)
	w.restart()
	if w.inspect(); w.last.Settled {
		t.Fatal("settled without a beat since the start")
	}
	w.all()
	w.settle()
	if len(w.live()) != 2 {
		t.Errorf("once heard: %s", w.describe())
	}
}

func TestALateInspectionDoesNotHideThatTheProviderIsDown(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	seen := w.look()
	if w.step(
		ProviderDown{Provider: local, Reason: "it died"},
		seen,
	); w.last.Observations.Unobserved[local] != reason.Of(
		reason.PluginDown{Message: "it died"},
	) {
		t.Errorf("unobserved %v", w.last.Observations.Unobserved)
	}
}

func TestARequestThatCouldNotBeSentGoesOutAgainUnderItsKey(t *testing.T) {
	w, p := begun(t, func(f *fleet.ProviderFacts) { f.Idempotency = fleet.IdempotencyNone })
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionNotSent, CallOver: true})
	w.now = w.now.Add(2 * time.Second)
	w.step()
	if again := take[Provision](w); again.Operation.ID != p.Operation.ID {
		t.Errorf("sent as %s, was %s", again.Operation.ID, p.Operation.ID)
	}
}

// A plugin that died too often waits for a person; the rest of the world doesn't.
func TestTheFleetsOfABrokenProviderHoldStillAndTheOthersGoOn(t *testing.T) {
	broken := demoFleet(1, 3)
	w := newWorld(t, broken)
	w.settle()
	old := w.only()
	const elsewhere = fleet.ProviderAddress("local.elsewhere")
	other := demoFleet(1, 2)
	other.ID, other.Address, other.Provider = "f2", "fleet.other", elsewhere
	empty := demoFleet(0, 2)
	empty.ID, empty.Address = "f3", "fleet.empty"
	grown := w.store.fleets["f1"]
	grown.Scaling.Min = 2
	w.store.fleets["f1"], w.store.fleets["f2"], w.store.fleets["f3"] = grown, other, empty
	w.calls = nil

	w.step(
		ProviderDown{
			Provider:    local,
			Reason:      "It died 5 times.",
			Detail:      "It died 5 times.\n    panic: oh",
			NeedsPerson: true,
		},
		ProviderReady{Provider: elsewhere, Facts: w.facts},
	)
	for range 20 {
		w.step()
	}
	if len(w.calls) != 1 {
		t.Errorf("calls %v, want one for the other fleet", w.calls)
	}
	for _, i := range w.live() {
		if i.Fleet == "f1" && i.ID != old.ID {
			t.Errorf("instance %s was asked for of a provider that is broken", i.ID)
		}
	}
	hold := w.last.Holds()["f1"]
	if !hold.NeedsPerson || !reason.Is[reason.ProviderDown](hold.Reason) || !w.last.Holds()["f2"].Reason.IsZero() {
		t.Errorf("holds %v", w.last.Holds())
	}
	if got := w.last.Observations.Unobserved[local]; got != reason.Of(reason.PluginDown{Message: "It died 5 times."}) {
		t.Errorf("status would say %q", got)
	}
	if got := w.last.Observations.Blocked[local]; !strings.Contains(got, "panic: oh") {
		t.Errorf("apply says %q", got)
	}

	w.step(ProviderReady{Provider: local, Facts: w.facts})
	w.inspect()
	w.step()
	if hold := w.last.Holds()["f1"]; !hold.Reason.IsZero() || len(w.last.Observations.Blocked) != 0 {
		t.Errorf("after its return it is held: %+v, blocked %v", hold, w.last.Observations.Blocked)
	}
	if len(w.calls) != 2 {
		t.Errorf("calls %v, want one for what was missing", w.calls)
	}
}
