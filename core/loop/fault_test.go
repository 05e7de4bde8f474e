package loop

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// The cause was a line of the log alone: fleets were held because the market "is
// being asked", and the provider of fleets without instances was nowhere.
func TestProviderThatNeverStartsIsReportedWithItsReason(t *testing.T) {
	w := trading(t, 1, "a")
	const message = "no credentials were found"
	why := reason.Of(reason.PluginDown{Message: message})
	failed := reason.Of(reason.OffersUnknown{Because: why})
	w.step(ProviderDown{Provider: local, Reason: "it is being started", Starting: true})
	if len(w.last.Observations.Faults) > 0 || len(w.last.Observations.Unobserved) > 0 ||
		w.last.Holds()["f1"].Reason != reason.Of(reason.OffersUnknown{}) {
		t.Errorf(
			"one that is only being started has failed: %v, unobserved %v, holds %v",
			w.last.Observations.Faults,
			w.last.Observations.Unobserved,
			w.last.Holds(),
		)
	}
	w.step(ProviderDown{Provider: local, Reason: message})
	if w.last.Observations.Faults[local] != why || w.last.Observations.Unobserved[local] != why ||
		w.last.Holds()["f1"].Reason != failed {
		t.Errorf(
			"faults %v, unobserved %v, holds %v",
			w.last.Observations.Faults,
			w.last.Observations.Unobserved,
			w.last.Holds(),
		)
	}
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	if len(w.last.Observations.Faults) > 0 || len(w.last.Observations.Unobserved) > 0 ||
		w.last.Holds()["f1"].Reason == failed {
		t.Errorf(
			"after it came back: faults %v, unobserved %v, holds %v",
			w.last.Observations.Faults,
			w.last.Observations.Unobserved,
			w.last.Holds(),
		)
	}
}

func TestAnInspectionThatFailsIsAFaultOfItsProvider(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.settle()
	w.step(
		Inspected{Provider: local, Began: w.now, Failure: &Failure{Class: fleet.ErrorPermission, Message: "not allowed"}},
	)
	if got := w.last.Observations.Faults[local]; got != reason.Of(reason.InspectionFailed{Message: "not allowed"}) {
		t.Errorf("faults %v", w.last.Observations.Faults)
	}
	w.inspect()
	if len(w.last.Observations.Faults) > 0 {
		t.Errorf("after one that was complete: %v", w.last.Observations.Faults)
	}
}

// A corrected address of the manager waited for minutes, since the fleet itself was
// unchanged; only a restart helped.
func TestAnApplyTriesAtOnceWhatFailedBefore(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	refuse := func() {
		w.step(
			ProvisionAnswered{Operation: take[Provision](w).Operation.ID, Outcome: fleet.ProvisionNotCreated, CallOver: true,
				Failure: &Failure{Class: fleet.ErrorInvalid, Message: "no such address"}},
		)
	}
	refuse()
	if hold := w.last.Holds()["f1"]; !hold.NeedsPerson || len(w.live()) != 0 {
		t.Fatalf("a failure doesn't hold the fleet: %+v, %s", hold, w.describe())
	}
	w.step(Applied{})
	if _, held := w.last.Holds()["f1"]; held || len(w.live()) != 1 {
		t.Fatalf("after an apply: holds %v, %s", w.last.Holds(), w.describe())
	}
	refuse()
	if hold := w.last.Holds()["f1"]; !matches(hold.Reason, reason.FailuresInRow{Failures: 2}) {
		t.Errorf("what isn't mended counts on: %+v", hold)
	}
}

func TestAnApplyAsksAMarketAgainThatFailed(t *testing.T) {
	w := trading(t, 1, "a")
	asked := take[ListOffers](w)
	w.step(OffersListed{Market: asked.Market, Failure: &Failure{Class: fleet.ErrorPermission, Message: "not allowed"}})
	w.step(Applied{})
	w.open()
	if got := zones(take[Provision](w)); got != "a" {
		t.Errorf("offers %q", got)
	}
}

// Who applies every minute would otherwise ask as often.
func TestAnApplyAsksNobodyBeforeTheTimeThatHeNamed(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.step(
		ProvisionAnswered{Operation: take[Provision](w).Operation.ID, Outcome: fleet.ProvisionNotCreated, CallOver: true,
			Failure: &Failure{Class: fleet.ErrorRateLimit, Message: "slow down", RetryAfter: time.Hour}},
	)
	w.step(Applied{})
	if hold, held := w.last.Holds()["f1"]; !held || len(w.live()) != 0 {
		t.Errorf("it was to wait for an hour: %+v, %s", hold, w.describe())
	}
	m := trading(t, 1, "a")
	m.step(
		OffersListed{
			Market:  take[ListOffers](m).Market,
			Failure: &Failure{Class: fleet.ErrorRateLimit, Message: "slow down", RetryAfter: time.Hour},
		},
	)
	m.effects = nil
	m.step(Applied{})
	for _, e := range m.effects {
		if asked, again := e.(ListOffers); again {
			t.Errorf("%v is asked again, which said to wait for an hour", asked.Market)
		}
	}
}

// A termination under way was counted, and shown, as an unknown outcome.
func TestAnAcceptedTerminationIsNoUnknownOutcome(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.settle()
	id := w.only().ID
	w.remove()
	e := terminating(w)
	w.step(TerminateAnswered{Operation: e.Operation, Outcome: fleet.TerminateAccepted})
	if w.last.Unresolved != 0 || w.termination(id).State != fleet.OperationAccepted || w.last.Settled {
		t.Errorf(
			"%d unknown outcomes, the termination is %s, settled %v",
			w.last.Unresolved,
			w.termination(id).State,
			w.last.Settled,
		)
	}
	w.step(
		TerminateAnswered{
			Operation: e.Operation,
			Outcome:   fleet.TerminateUnknown,
			Failure:   &Failure{Class: fleet.ErrorTransient, Message: "cut off"},
		},
	)
	if w.last.Unresolved != 1 {
		t.Errorf("an answer that was lost: %d unknown outcomes", w.last.Unresolved)
	}
}

// "Held back" was said of a fleet that had nothing to start any more.
func TestTheFailuresOfAFleetThatIsBeingRemovedHoldNothingBack(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.step(
		ProvisionAnswered{Operation: take[Provision](w).Operation.ID, Outcome: fleet.ProvisionNotCreated, CallOver: true,
			Failure: &Failure{Class: fleet.ErrorTransient, Message: "503"}},
	)
	if len(w.last.Holds()) != 1 {
		t.Fatalf("holds %v", w.last.Holds())
	}
	w.remove()
	if w.step(); len(w.last.Holds()) != 0 {
		t.Errorf("holds %v", w.last.Holds())
	}
}
