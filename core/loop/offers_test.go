package loop

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// lots are offers in zones, the dearer the later.
func lots(zones ...string) []fleet.Offer {
	var out []fleet.Offer
	for n, zone := range zones {
		out = append(
			out,
			fleet.Offer{
				Zone:        zone,
				MachineType: "m",
				Lifetime:    fleet.LifetimeStable,
				Price:       fleet.Money{Micros: int64(n), Currency: "USD"},
			},
		)
	}
	return out
}

// trading is a world whose provider has a market with offers in the zones, and a
// fleet that wants so many hosts.
func trading(t *testing.T, wanted int, zones ...string) *world {
	f := demoFleet(wanted, wanted)
	f.Market, f.Lifetime = true, fleet.LifetimeStable
	w := newWorld(t, f)
	w.offers = lots(zones...)
	return w
}

// open answers the question for offers.
func (w *world) open() {
	w.t.Helper()
	w.step(w.run(take[ListOffers](w)))
}

// zones are the offers of a request.
func zones(p Provision) string {
	var out []string
	for _, o := range p.Intent.Offers {
		out = append(out, o.Zone)
	}
	return strings.Join(out, " ")
}

// full answers a provision: there is no room in the zone.
func full(p Provision, zone string) ProvisionAnswered {
	return ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionNotCreated, CallOver: true,
		Failure: &Failure{Class: fleet.ErrorCapacity, Message: "insufficient capacity", Zone: zone}}
}

func TestOffersThatOnlyAPersonCanMendEndTheWait(t *testing.T) {
	for class, person := range map[fleet.ErrorClass]bool{
		fleet.ErrorAuth: true, fleet.ErrorPermission: true, fleet.ErrorInvalid: true,
		fleet.ErrorTransient: false, fleet.ErrorRateLimit: false,
	} {
		w := trading(t, 1, "a")
		e := take[ListOffers](w)
		asked := w.now
		w.step(OffersListed{Market: e.Market, Failure: &Failure{Class: class, Message: "no"}})
		if got := w.last.Holds()["f1"]; got.NeedsPerson != person || !reason.Is[reason.OffersUnknown](got.Reason) {
			t.Errorf("%s: hold %+v", class, got)
		}
		next := w.last.Observations.Offers[e.Market].Next
		if soon := next.Sub(asked) < market.RefreshInterval; soon == person {
			t.Errorf("%s: asked again after %s", class, next.Sub(asked))
		}
	}
}

func TestNothingIsRequestedBeforeTheMarketHasAnswered(t *testing.T) {
	w := trading(t, 1, "a", "b")
	if len(w.live()) != 0 || w.last.Holds()["f1"].Reason != reason.Of(reason.OffersUnknown{}) {
		t.Fatalf("before: %s, holds %+v", w.describe(), w.last.Holds())
	}
	w.open()
	if got := zones(take[Provision](w)); got != "a b" {
		t.Errorf("offers %q", got)
	}
}

func TestAfterAShortageTheNextInstanceGoesOutAtOnceWithWhatIsLeft(t *testing.T) {
	w := trading(t, 1, "a", "b", "c")
	w.open()
	first := take[Provision](w)
	began := w.now
	w.step(full(first, "a"))
	second := take[Provision](w)
	w.step(full(second, "b"))
	third := take[Provision](w)
	if zones(second) != "b c" || zones(third) != "c" || w.now.Sub(began) > time.Second {
		t.Errorf("then %q, then %q, after %s; want b c, c, at once", zones(second), zones(third), w.now.Sub(began))
	}
	if first.Operation.ID == second.Operation.ID || second.Operation.ID == third.Operation.ID {
		t.Error("a key was used again with other offers")
	}
	w.step(full(third, "c"))
	hold := w.last.Holds()["f1"]
	if len(w.live()) != 0 || !hold.Constrained || hold.NeedsPerson ||
		!strings.Contains(
			hold.Reason.Text(),
			"a m stable (no capacity), b m stable (no capacity), c m stable (no capacity)",
		) {
		t.Fatalf("without room anywhere: %s, hold %+v", w.describe(), hold)
	}
	if w.last.Wake.After(hold.Until) {
		t.Errorf("wakes at %s, after the next try at %s", w.last.Wake, hold.Until)
	}
}

func TestOneProbesAndItsSuccessBringsTheOthers(t *testing.T) {
	w := trading(t, 3, "a")
	w.open()
	var calls []Provision
	for range 3 {
		calls = append(calls, take[Provision](w))
	}
	for _, p := range calls {
		w.step(full(p, ""))
	}
	if len(w.last.Observations.Circuits) != 1 || len(w.live()) != 0 {
		t.Fatalf("circuits %+v, %s", w.last.Observations.Circuits, w.describe())
	}
	for _, c := range w.last.Observations.Circuits {
		if c.Failures != 1 {
			t.Errorf("three requests that were under way together count as %d failures", c.Failures)
		}
	}
	w.now = w.now.Add(6 * time.Second)
	w.step()
	probe := take[Provision](w)
	if w.step(); has[Provision](w) || len(w.live()) != 1 {
		t.Fatalf("more than one probes: %s", w.describe())
	}
	w.step(w.run(probe))
	if len(w.last.Observations.Circuits) != 0 || len(w.live()) != 3 {
		t.Errorf("after its success: %+v, %s", w.last.Observations.Circuits, w.describe())
	}
}

func TestAProbeWhoseAnswerIsLostStaysTheOnlyOneUntilItIsResolved(t *testing.T) {
	w := trading(t, 2, "a")
	w.open()
	for range 2 {
		w.step(full(take[Provision](w), ""))
	}
	w.now = w.now.Add(6 * time.Second)
	w.step()
	probe := take[Provision](w)
	w.step(ProvisionAnswered{Operation: probe.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true})
	w.make(probe) // it was made, and no one heard
	w.now = w.now.Add(time.Minute)
	if w.step(); len(w.live()) != 1 {
		t.Fatalf("another one probes: %s", w.describe())
	}
	w.effects = slices.DeleteFunc(w.effects, func(e Effect) bool { _, asks := e.(ListOffers); return asks })
	w.inspect()
	if len(w.last.Observations.Circuits) != 0 || len(w.live()) != 2 {
		t.Errorf("after it was found: %+v, %s", w.last.Observations.Circuits, w.describe())
	}
}

func TestTheSameOffersGoOutAgainUnderTheSameKey(t *testing.T) {
	w := trading(t, 1, "a", "b")
	w.open()
	first := take[Provision](w)
	w.offers = lots("z") // the market has changed
	w.restart()          // and the answer is lost
	w.settle()
	again := w.operation(first.Operation.ID)
	if string(again.Request) != string(first.Operation.Request) || again.Attempts != 2 {
		t.Errorf("attempt %d: %s\nfirst: %s", again.Attempts, again.Request, first.Operation.Request)
	}
}

func TestARefreshThatFailsLeavesTheOldOffersWithTheReason(t *testing.T) {
	w := trading(t, 1, "a")
	w.open()
	key := w.store.fleets["f1"].MarketKey()
	read := w.last.Observations.Offers[key].Read
	w.step(w.run(take[Provision](w)))
	w.now = w.now.Add(market.RefreshInterval)
	w.step()
	for n, failure := range []time.Duration{market.FirstRetry, 2 * market.FirstRetry} {
		take[ListOffers](w)
		w.step(OffersListed{Market: key, Failure: &Failure{Class: fleet.ErrorTransient, Message: "503"}})
		list := w.last.Observations.Offers[key]
		if len(list.Offers) != 1 || !list.Read.Equal(read) || list.Failure != "503" || list.Next.Sub(w.now) != failure {
			t.Fatalf("failure %d: %+v", n, list)
		}
		w.now = list.Next
		w.step()
	}
	w.offers = lots("a", "b")
	w.open()
	if list := w.last.Observations.Offers[key]; len(list.Offers) != 2 || list.Failure != "" ||
		list.Next.Sub(w.now) != market.RefreshInterval {
		t.Errorf("well again: %+v", list)
	}
}

func TestAMarketOfAnotherAccountIsForgotten(t *testing.T) {
	w := trading(t, 0, "a")
	w.open()
	w.facts.Account = "another"
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	if list := w.last.Observations.Offers[w.store.fleets["f1"].MarketKey()]; len(list.Offers) != 0 || !has[ListOffers](w) {
		t.Errorf("it keeps %+v", list)
	}
}

func TestAStepThatCouldNotBeStoredDoesNotCountAShortageTwice(t *testing.T) {
	w := trading(t, 1, "a", "b")
	w.open()
	p := take[Provision](w)
	w.store.fail = errors.New("disk full")
	w.now = w.now.Add(time.Millisecond)
	if _, err := w.loop.Step(t.Context(), w.now, []Event{full(p, "a")}); err == nil {
		t.Fatal("the step was stored")
	}
	w.store.fail = nil
	w.now = w.now.Add(10 * time.Second)
	w.step()
	scope := market.Scope{Provider: local, Zone: "a", Lifetime: fleet.LifetimeStable}
	if c := w.last.Observations.Circuits[scope]; c.Failures != 1 {
		t.Errorf("%+v", w.last.Observations.Circuits)
	}
}

// A restart loses the circuits: each offer is tried once more, and that is all.
func TestARestartTriesEachOfferOnceMore(t *testing.T) {
	w := trading(t, 1, "a", "b")
	w.open()
	for range 2 { // two lives
		tries := 0
		for has[Provision](w) {
			p := take[Provision](w)
			tries++
			w.step(full(p, p.Intent.Offers[0].Zone))
		}
		if tries != 2 || !w.last.Holds()["f1"].Constrained {
			t.Fatalf("%d tries, holds %+v", tries, w.last.Holds())
		}
		w.restart()
		w.inspect()
		w.open()
	}
}

func TestShortageWithoutMarketHoldsProviderAndLifetime(t *testing.T) {
	f, other := demoFleet(1, 1), demoFleet(1, 1)
	other.ID, other.Address, other.Lifetime = "f2", "fleet.other", fleet.LifetimePreemptible
	w := newWorld(t, f, other)
	calls := []Provision{take[Provision](w), take[Provision](w)}
	for _, p := range calls {
		if p.Intent.Offers != nil {
			t.Errorf("offers %v without a market", p.Intent.Offers)
		}
		if p.Operation.Fleet == "f1" {
			w.step(full(p, "a zone that no one asked for"))
		} else {
			w.step(w.run(p))
		}
	}
	if len(w.live()) != 1 || !w.last.Holds()["f1"].Constrained || w.last.Holds()["f2"].Constrained {
		t.Errorf("%s, holds %+v", w.describe(), w.last.Holds())
	}
}

func TestAFleetThatIsBeingRemovedIsNotHeldBack(t *testing.T) {
	w := trading(t, 1, "a")
	w.remove()
	w.step()
	if hold, held := w.last.Holds()["f1"]; held {
		t.Errorf("it wants nothing, and is held back: %s", hold.Reason)
	}
}
