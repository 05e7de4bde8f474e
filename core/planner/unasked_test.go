package planner

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Who had no credentials was told for minutes that the market was being asked.
func TestAProviderThatFailsIsWhyItsOffersAreNotKnown(t *testing.T) {
	f := trading(1, 4)
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Demand:       demand(),
		Offers:       map[fleet.MarketKey]fleet.OfferList{},
	}
	noCredentials := reason.Of(reason.PluginDown{Message: "no credentials were found"})
	for _, test := range []struct {
		name  string
		fault reason.Reason
		want  reason.Reason
	}{
		{"nothing is known yet", reason.Reason{}, reason.Of(reason.OffersUnknown{})},
		{"it has failed", noCredentials, reason.Of(reason.OffersUnknown{Because: noCredentials})},
	} {
		in.Faults = map[fleet.ProviderAddress]reason.Reason{f.Provider: test.fault}
		p := planInput(in).Fleets[0]
		if p.Constrained == nil || p.Constrained.Reason != test.want ||
			p.Waiting[0] != reason.Of(reason.NoOffer{Missing: 1, Because: test.want}) ||
			p.Create != 0 {
			t.Errorf("%s: %s, held %+v, want %q", test.name, story(p), p.Constrained, test.want)
		}
	}
}

// A plan without a manager asked for a price in the file of a provider that quotes
// them, and started nothing.
func TestALimitIsNoMistakeOfTheFileBeforeTheProviderWasAsked(t *testing.T) {
	f := trading(2, 4)
	f.Scheduler, f.Cost.MaxHourly = "", usd(1_000_000)
	in := input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f}} // no offers: no one can ask
	p := planInput(in).Fleets[0]
	want := reason.Of(reason.PricesNotAsked{Limit: reason.CostLimit{Attribute: "max_hourly", Amount: "1 USD"}})
	if p.Create != 2 || p.Desired != 2 || len(p.Waiting) != 1 || p.Waiting[0] != want {
		t.Errorf("%s, %d wanted: %+v", story(p), p.Desired, p.Waiting)
	}

	// With the price of the file the limit holds as ever.
	in.Fleets[0].Cost.Hourly = usd(600_000)
	if p := planInput(in).Fleets[0]; p.Create != 1 || !reason.Is[reason.MaxHourlyReached](p.Waiting[0]) {
		t.Errorf("with a price of the file: %s: %+v", story(p), p.Waiting)
	}
}

// It said "demand 1", as if one job waited, and nothing of the scheduler.
func TestAPlanSaysThatItsSchedulerWasNotAsked(t *testing.T) {
	f := burst(0, 4, 0)
	one := instance(f, 0, fleet.Healthy)
	for _, test := range []struct {
		name   string
		demand map[fleet.SchedulerAddress]snapshot.Demand
		want   reason.Detail
	}{
		{"no one has asked it", nil, reason.SchedulerNotAsked{Scheduler: "forgeyard.ci"}},
		{"it doesn't answer",
			map[fleet.SchedulerAddress]snapshot.Demand{
				ci: {Unobserved: reason.Of(reason.SchedulerError{Message: "connection refused"})}},
			reason.SchedulerUnreachable{Scheduler: "forgeyard.ci",
				Because: reason.Of(reason.SchedulerError{Message: "connection refused"})}},
		{"it has answered", demand(), nil},
	} {
		p := planInput(
			input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f}, Instances: []snapshot.Instance{one},
				Demand: test.demand}).Fleets[0]
		if p.Unseen != reason.Of(test.want) {
			t.Errorf("%s: it says %q, want %q", test.name, p.Unseen, test.want)
		}
		if said := p.Bounds[0].Reason; test.want != nil &&
			(said != reason.Of(reason.DemandUnknown{Because: p.Unseen}) || p.Desired != 1) {
			t.Errorf("%s: %d wanted, since %q", test.name, p.Desired, said)
		}
	}
}

func TestAFleetThatIsBeingRemovedIsNotHeldForItsOffers(t *testing.T) {
	f := trading(1, 4)
	f.Operational = fleet.FleetDraining
	p := planInput(
		input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f},
			Offers: map[fleet.MarketKey]fleet.OfferList{}}).Fleets[0]
	if p.Constrained != nil || len(p.Waiting) > 0 || !p.Unseen.IsZero() {
		t.Errorf("held %+v, waits %+v, unseen %q", p.Constrained, p.Waiting, p.Unseen)
	}
}
