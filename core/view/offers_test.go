package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/market"
)

func TestAFleetWithoutRoomIsConstrainedAndShowsItsOffers(t *testing.T) {
	s := state(fleet.Healthy)
	f := &s.Fleets[0]
	f.Market, f.Lifetime, f.Instance = true, fleet.LifetimePreemptible, json.RawMessage(`{}`)
	s.Instances[0].InstanceDigest = f.InstanceDigest()
	offer := fleet.Offer{
		Zone:        "eu-central-1a",
		MachineType: "m7i.xlarge",
		Lifetime:    fleet.LifetimePreemptible,
		Price:       fleet.Money{Micros: 80000, Currency: "USD"},
	}
	m := observing()
	m.Offers = map[fleet.MarketKey]fleet.OfferList{
		f.MarketKey(): {Offers: []fleet.Offer{offer}, Read: now.Add(-2 * time.Minute)},
	}
	m.Circuits = market.Circuits{}
	m.Circuits.RecordShortage(
		market.Attempt{Operation: "k", Provider: f.Provider, Offers: []fleet.Offer{offer}},
		market.Shortage{
			Class:       fleet.ErrorCapacity,
			Message:     "insufficient",
			Zone:        offer.Zone,
			MachineType: offer.MachineType,
			RetryAfter:  4 * time.Minute,
		},
		now.Add(-time.Minute),
		func() float64 { return 0 },
	)
	got := Fleets(with(s, m))[0]
	reasons := said(got, now)
	if got.Health != CapacityConstrained || got.Hold == nil ||
		!strings.Contains(
			reasons,
			"eu-central-1a m7i.xlarge preemptible (no capacity); last error: insufficient; next try in 3m",
		) {
		t.Errorf("%s because of %q, hold %+v", got.Health, got.Reasons, got.Hold)
	}
	if n := strings.Count(reasons, "no offer has capacity"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, reasons)
	}
	if got.Offers == nil || len(got.Offers.Considered) != 1 || !got.Offers.Of.Equal(now.Add(-2*time.Minute)) {
		t.Fatalf("offers %+v", got.Offers)
	}
	if words := got.Offers.Considered[0].Reason.TextAt(now); words != "no capacity since 11:59 UTC, next try in 3m" {
		t.Errorf("the offer says %q", words)
	}
	shown, err := json.Marshal(got)
	if err != nil || !strings.Contains(string(shown), `"zone":"eu-central-1a","machine_type":"m7i.xlarge"`) ||
		!strings.Contains(
			string(shown),
			`"state":"no_room","reason":{"code":"offer_exhausted","params":{"class":"capacity",`,
		) {
		t.Errorf("as JSON: %s, %v", shown, err)
	}
}
