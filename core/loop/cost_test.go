package loop

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

func dollars(micros int64) fleet.Money { return fleet.Money{Micros: micros, Currency: "USD"} }

func TestTheDaysCostsOutliveTheManagerAndTheHosts(t *testing.T) {
	f := demoFleet(1, 9)
	f.Cost = fleet.CostPolicy{Hourly: dollars(1_000_000), MaxDaily: dollars(13_000_000)}
	w := newWorld(t, f) // noon: 12 of the day's 24 hours are left
	w.settle()
	if got := w.only().Cost; got != (fleet.InstanceCost{Hourly: dollars(1_000_000)}) {
		t.Fatalf("it is recorded at %+v", got)
	}
	w.now = w.now.Add(6 * time.Hour)
	gone := w.only()
	stopped := w.cloud[gone.Key]
	stopped.State = fleet.ResourceStopped // and the next one costs 6 USD until the day ends
	w.cloud[gone.Key] = stopped
	w.restart()
	w.settle()
	if ended := w.store.instances[gone.ID]; ended.State != fleet.Terminated {
		t.Fatalf("it is gone, and the books have it as %s", ended.State)
	}
	cost := w.last.Plan.Fleets[0].Cost
	if cost == nil || cost.Today.Micros < 6_000_000 || len(w.live()) != 1 {
		t.Fatalf("what ended costs %+v: %s", cost, w.describe())
	}
	f.Scaling.Min = 3
	w.store.fleets[f.ID] = f
	for range 2 {
		w.restart()
		p := w.last.Plan.Fleets[0]
		if len(w.live()) != 1 || len(p.Waiting) == 0 ||
			!strings.Contains(p.Waiting[0].Text(), "limited by max_daily = 13 USD: today (UTC) costs 12.0") {
			t.Fatalf("after a restart in the middle of the day: %+v, %s", p.Waiting, w.describe())
		}
	}
	commits := w.store.commits
	for range 5 {
		w.step()
	}
	if w.store.commits != commits {
		t.Error("idle steps wrote the day's costs")
	}
	w.now = w.now.Add(6*time.Hour + time.Minute)
	w.restart()
	if p := w.last.Plan.Fleets[0]; p.Create != 0 || !reason.Is[reason.MaxDailyReached](p.Waiting[0]) ||
		p.Cost.Today.Micros > 100_000 {
		t.Errorf("a new day begins: %+v, %+v", p.Waiting, p.Cost)
	}
}

func TestWhatEndsInTheVeryStepThatMakesAnotherIsPaidForToo(t *testing.T) {
	f := demoFleet(1, 1) // so that the other one comes in the step in which this one is gone
	f.Cost = fleet.CostPolicy{Hourly: dollars(1_000_000), MaxDaily: dollars(13_000_000), BillingPeriod: 12 * time.Hour}
	w := newWorld(t, f) // noon: it is paid for until midnight
	w.settle()
	w.now = w.now.Add(6 * time.Hour)
	gone := w.only()
	stopped := w.cloud[gone.Key]
	stopped.State = fleet.ResourceStopped
	w.cloud[gone.Key] = stopped
	for range 20 {
		var events []Event
		for _, e := range w.effects {
			events = append(events, w.run(e))
		}
		w.effects = nil
		w.wait()
		w.step(events...)
	}
	if ended := w.store.instances[gone.ID]; ended.State != fleet.Terminated {
		t.Fatalf("it is gone, and the books have it as %s", ended.State)
	}
	if p := w.last.Plan.Fleets[0]; len(w.live()) > 0 || len(p.Waiting) == 0 ||
		!reason.Is[reason.MaxDailyReached](p.Waiting[0]) {
		t.Errorf("the day has cost 12 USD of 13, and for 6 more there is %s; it waits for %v", w.describe(), p.Waiting)
	}
}

func TestRequestCostsItsDearestOfferUntilSeen(t *testing.T) {
	f := demoFleet(2, 9)
	f.Market, f.Lifetime = true, fleet.LifetimeStable
	f.Cost = fleet.CostPolicy{MaxHourly: dollars(600_000), Minimum: time.Minute}
	w := newWorld(t, f)
	dear := fleet.Offer{
		Zone:              "b",
		MachineType:       "m",
		Lifetime:          fleet.LifetimeStable,
		Price:             dollars(500_000),
		MinimumCommitment: 24 * time.Hour,
	}
	w.offers = []fleet.Offer{{Zone: "a", MachineType: "m", Lifetime: fleet.LifetimeStable, Price: dollars(100_000)}, dear}
	w.open()
	first := take[Provision](w)
	if zones(first) != "a b" || zones(take[Provision](w)) != "a" {
		t.Fatalf("requests: %s", w.describe())
	}
	i := w.store.instances[first.Operation.Instance]
	if i.Cost != (fleet.InstanceCost{Hourly: dollars(500_000), Minimum: 24 * time.Hour}) ||
		w.last.Plan.Fleets[0].Cost.Then != dollars(600_000) {
		t.Errorf("before an answer: %+v, %+v", i.Cost, w.last.Plan.Fleets[0].Cost)
	}
	made := w.make(first)
	made.Zone, made.MachineType = "a", "m"
	w.cloud[first.Operation.ID] = made
	w.step(
		ProvisionAnswered{Operation: first.Operation.ID, Outcome: fleet.ProvisionCreated, Resource: made, CallOver: true},
	)
	i = w.store.instances[i.ID]
	if i.Cost != (fleet.InstanceCost{Hourly: dollars(100_000), Minimum: time.Minute}) {
		t.Errorf("made in the cheap zone: %+v", i.Cost)
	}
	if got := w.last.Plan.Fleets[0].Cost.Hourly; got != dollars(200_000) {
		t.Errorf("an hour costs %s", got)
	}
	w.offers[0].Price = dollars(900_000) // what runs keeps its price
	w.wait()
	w.all()
	if got := w.store.instances[i.ID].Cost.Hourly; got != dollars(100_000) {
		t.Errorf("the market's price changed, and what runs costs %s", got)
	}
}
