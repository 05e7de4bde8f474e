package loop

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

var ada = fleet.Attribution{By: "ada", Reason: "incident 12"}

func TestAFrozenProviderGetsNoCallOfAnyCauseAndIsInspectedOn(t *testing.T) {
	for name, freeze := range map[string]fleet.Freeze{
		"the fleet": {Fleet: "f1", Attribution: ada}, "the provider": {Provider: local, Attribution: ada},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, demoFleet(3, 6))
			w.settle()
			healthy := w.live()
			f := w.store.fleets["f1"]
			f.Scaling.Min = 4 // one is requested, and its call is on its way to be sent
			w.store.fleets["f1"] = f
			w.store.overrides.Freezes = []fleet.Freeze{freeze}
			before := len(w.calls)
			// An operator's drain, a removal by the provider, more wanted, and less.
			wantDone(t, w.tell(Order{Kind: DrainInstance, Instance: healthy[0].ID}))
			wantDone(t, w.tell(Order{Kind: DrainInstance, Instance: healthy[1].ID}))
			wantDone(t, w.tell(Order{Kind: ForceDrain, Instance: healthy[1].ID}))
			looks := 0
			for range 100 {
				if has[Inspect](w) {
					take[Inspect](w)
					w.step(w.look())
					looks++
				}
				w.pass(time.Minute, nil)
			}
			if len(w.calls) != before {
				t.Errorf("it was called: %v", w.calls[before:])
			}
			if looks == 0 {
				t.Error("it was never looked at")
			}
			if got := w.store.instances[healthy[1].ID].State; got != fleet.Terminating {
				t.Errorf("the intent waits, so it should be terminating and is %s", got)
			}
			w.store.overrides.Freezes = nil
			w.settle()
			if len(w.calls) == before {
				t.Error("nothing went out after the clear")
			}
		})
	}
}

func TestAFreezeOutlivesTheManager(t *testing.T) {
	w := newWorld(t, demoFleet(0, 2))
	w.store.overrides.Freezes = []fleet.Freeze{{Fleet: "f1", Attribution: ada}}
	f := demoFleet(2, 2)
	w.store.fleets["f1"] = f
	w.restart()
	w.pass(time.Minute, nil)
	if len(w.calls) != 0 || len(w.live()) != 0 {
		t.Errorf("calls %v, %s", w.calls, w.describe())
	}
}

func TestAQuarantinedInstanceGetsNoJobKeepsItsOwnAndIsReplaced(t *testing.T) {
	w := newWorld(t, demoFleet(1, 3))
	w.settle()
	first := w.only()
	w.store.overrides.Quarantines = []fleet.Quarantine{{Instance: first.ID, Attribution: ada}}
	w.step()
	got := w.store.instances[first.ID]
	if got.State != fleet.Quarantined || got.Reason != reason.Of(reason.QuarantinedBy{By: "ada", Comment: "incident 12"}) {
		t.Fatalf("it is %s: %s", got.State, got.Reason)
	}
	if lifecycle.InstructionFor(got) != lifecycle.Stop {
		t.Errorf("its agent is told to %s", lifecycle.InstructionFor(got))
	}
	if len(w.live()) != 2 {
		t.Errorf("another one should be on its way: %s", w.describe())
	}
	terminations := slices.DeleteFunc(
		slices.Clone(w.calls),
		func(c string) bool { return !strings.Contains(c, "terminate") },
	)
	if len(terminations) != 0 {
		t.Errorf("its job continues, and it is terminated: %v", terminations)
	}
}

func TestAQuarantinedFleetLosesAllItsRunnersAndMakesNone(t *testing.T) {
	w := newWorld(t, demoFleet(2, 4))
	w.settle()
	other := demoFleet(1, 2)
	other.ID, other.Address = "f2", "fleet.other"
	w.store.fleets["f2"] = other
	w.store.overrides.Quarantines = []fleet.Quarantine{{Fleet: "f1", Attribution: ada}}
	made := len(w.live())
	w.step()
	w.step()
	quarantined, others := 0, 0
	for _, i := range w.live() {
		switch {
		case i.Fleet == "f2":
			others++
		case i.State == fleet.Quarantined && i.Cause == string(lifecycle.ForQuarantine):
			quarantined++
		}
	}
	if quarantined != made || others != 1 || len(w.live()) != made+1 {
		t.Errorf("%d of %d quarantined, %d in the other fleet: %s", quarantined, made, others, w.describe())
	}
}

func TestAHostOfAQuarantinedFleetThatStillBootsIsNeverAdmitted(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.step(w.run(take[Provision](w)))
	w.store.overrides.Quarantines = []fleet.Quarantine{{Fleet: "f1", Attribution: ada}}
	w.enroll(w.only())
	w.inspect()
	for range 5 {
		w.step()
		if i := w.only(); i.State == fleet.Healthy || i.Admission.State == fleet.AdmissionVerified {
			t.Fatalf("it is %s, admission %s", i.State, i.Admission.State)
		}
	}
	if i := w.only(); i.State != fleet.Quarantined {
		t.Errorf("it is %s", i.State)
	}
}

func TestARequestThatWasNotSentIsNotSentForAQuarantinedImage(t *testing.T) {
	f := demoFleet(1, 2)
	f.Image.Digest = "sha256:bad"
	w := newWorld(t)
	w.step(ProviderDown{Provider: local, Reason: "broken"})
	w.store.fleets["f1"] = f
	w.step()
	if i := w.only(); i.State != fleet.Requested || i.ImageDigest != "sha256:bad" {
		t.Fatalf("%s of %s", i.State, i.ImageDigest)
	}
	w.store.overrides.Quarantines = []fleet.Quarantine{{Image: "sha256:bad", Attribution: ada}}
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	w.pass(time.Minute, nil)
	if len(w.calls) != 0 || len(w.live()) != 0 {
		t.Errorf("calls %v, %s", w.calls, w.describe())
	}
}

func TestAReleasedInstanceLeavesAndIsNotTrustedAgain(t *testing.T) {
	w := newWorld(t, demoFleet(1, 3))
	w.settle()
	first := w.only()
	w.store.overrides.Quarantines = []fleet.Quarantine{{Instance: first.ID, Attribution: ada}}
	w.step()
	w.store.overrides.Quarantines = nil
	w.step()
	if got := w.store.instances[first.ID].State; got != fleet.Quarantined {
		t.Fatalf("before its agent has stopped it is %s", got)
	}
	w.settle()
	if got := w.store.instances[first.ID]; got.State != fleet.Terminated || got.Ended != string(lifecycle.IdleProven) {
		t.Errorf("it is %s, ended by %q: %s", got.State, got.Ended, w.describe())
	}
	if w.only().ID == first.ID {
		t.Error("it came back")
	}
}
