package planner

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// limited is a fleet whose hosts cost 0.192 USD an hour, with cost guardrails in
// cents; 0: none.
func limited(min, max int, hourly, daily int64) fleet.ManagedFleet {
	f := sampleFleet(min, max, 0)
	f.Cost.Hourly = usd(192_000)
	if hourly > 0 {
		f.Cost.MaxHourly = usd(hourly * 10_000)
	}
	if daily > 0 {
		f.Cost.MaxDaily = usd(daily * 10_000)
	}
	return f
}

// hosts are n healthy ones of a fleet that were made at a time for the fleet's price.
func hosts(f fleet.ManagedFleet, n int, created time.Time) []snapshot.Instance {
	var out []snapshot.Instance
	for k := range n {
		i := instance(f, k, fleet.Healthy)
		i.Created, i.Cost, i.ProviderInstance = created, f.Cost.Of(), "p"
		out = append(out, i)
	}
	return out
}

func costOverride(f fleet.ManagedFleet, hourly, daily fleet.Money, until time.Time) fleet.Overrides {
	return fleet.Overrides{
		CostOverrides: []fleet.CostOverride{
			{Fleet: f.ID, MaxHourly: hourly, MaxDaily: daily, Until: until, Attribution: ada},
		},
	}
}

func TestAGuardrailSaysWhatItLeavesInOneSentence(t *testing.T) {
	morning := now.Add(-6 * time.Hour) // now is noon
	mac := limited(1, 9, 0, 400)
	mac.Cost.Minimum = 24 * time.Hour
	euro := limited(5, 9, 500, 0)
	abroad := hosts(euro, 1, morning)
	abroad[0].Cost.Hourly.Currency = "EUR"
	unknown := limited(5, 9, 500, 0)
	unknown.Cost.Hourly = fleet.Money{}
	two := limited(5, 40, 100, 0)
	ended := func(f fleet.ManagedFleet, hours int) []fleet.Commitment {
		return []fleet.Commitment{
			{Instance: "e", Fleet: f.ID, From: now.Add(-time.Duration(hours) * time.Hour), Until: now, Hourly: usd(1_000_000)},
		}
	}
	for _, test := range []struct {
		name        string
		fleet       fleet.ManagedFleet
		instances   []snapshot.Instance
		commitments []fleet.Commitment
		overrides   fleet.Overrides
		create      int
		desired     int
		says        string
		next        time.Time
	}{
		{"26 hosts, and no other fits into the hour", limited(30, 40, 500, 0), hosts(limited(30, 40, 500, 0), 26, morning),
			nil, fleet.Overrides{}, 0, 26,
			"limited by max_hourly = 5 USD: 26 instances cost 4.992 USD an hour, and one more costs 0.192 USD", time.Time{}},
		{"two more fit", limited(30, 40, 500, 0), hosts(limited(30, 40, 500, 0), 24, morning), nil, fleet.Overrides{}, 2, 26,
			"limited by max_hourly = 5 USD: with 2 more, 26 instances cost 4.992 USD an hour, and another one costs 0.192 USD",
			time.Time{}},
		{"a host costs more than the hour may", limited(1, 4, 10, 0), nil, nil, fleet.Overrides{}, 0, 0,
			"limited by max_hourly = 0.1 USD: one instance costs 0.192 USD an hour", time.Time{}},
		// 18 hours of each of ten, and 12 hours of another: 34.56 and 2.304.
		{"the day is spent if all run on", limited(30, 40, 0, 3500), hosts(limited(30, 40, 0, 3500), 10, morning), nil,
			fleet.Overrides{}, 0, 10,
			"limited by max_daily = 35 USD: today (UTC) costs 34.56 USD if all instances run on, and one more fits from " +
				"21:43 UTC on", now.Add(9*time.Hour + 42*time.Minute + 30*time.Second)},
		// Neither of two that wait has started: both fit from when each costs half of what is left.
		{"one more fits into the day", limited(30, 40, 0, 3700), hosts(limited(30, 40, 0, 3700), 10, morning), nil,
			fleet.Overrides{}, 1, 11,
			"limited by max_daily = 37 USD: today (UTC) costs 36.87 USD if all instances and 1 more run on, and one more fits " +
				"from 23:18 UTC on", now.Add(5*time.Hour + 38*time.Minute + 45*time.Second)},
		{"what has ended today counts", limited(1, 4, 0, 600), nil, ended(limited(1, 4, 0, 600), 6), fleet.Overrides{}, 0, 0,
			"limited by max_daily = 6 USD: today (UTC) has cost 6 USD, and no other fits before 00:00 UTC",
			now.Add(12 * time.Hour)},
		{"what ended yesterday doesn't, but for its part of today", limited(1, 4, 0, 2400), nil,
			ended(limited(1, 4, 0, 2400), 36), fleet.Overrides{}, 1, 1, "", now.Add(time.Hour + 35*time.Minute)},
		{"a minimum counts whole, though the day ends before", mac, nil, nil, fleet.Overrides{}, 0, 0,
			"limited by max_daily = 4 USD: today (UTC) has cost 0 USD, and no other fits before 00:00 UTC",
			now.Add(12 * time.Hour)},
		{"no one says what a new host costs", unknown, nil, nil, fleet.Overrides{}, 0, 0, "", time.Time{}},
		{"currencies don't mix", euro, abroad, nil, fleet.Overrides{}, 0, 1,
			"limited by max_hourly = 5 USD, which can't be checked: today's costs are in USD and in EUR, and nothing converts " +
				"between currencies", time.Time{}},
		{"a cost override raises it", two, hosts(two, 5, morning)[:4], nil,
			costOverride(two, usd(2_000_000), fleet.Money{}, now.Add(time.Hour)), 1, 5, "", now.Add(time.Hour)},
		{"and is named where the raised limit binds", limited(40, 40, 100, 0), hosts(two, 5, morning), nil,
			costOverride(two, usd(2_000_000), fleet.Money{}, now.Add(time.Hour)), 5, 10,
			"limited by max_hourly = 2 USD (cost override by ada until 2026-11-29 13:00 UTC: incident 12): with 5 more, 10 " +
				"instances cost 1.92 USD an hour, and another one costs 0.192 USD", now.Add(time.Hour)},
		{"an expired cost override no longer counts", two, hosts(two, 5, morning)[:5], nil,
			costOverride(two, fleet.Money{}, fleet.Money{}, now), 0, 5, "", time.Time{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input{
				Now:          now,
				AgentVersion: agentVersion,
				Fleets:       []fleet.ManagedFleet{test.fleet},
				Instances:    test.instances,
				Commitments:  test.commitments,
				Overrides:    test.overrides,
			}
			p := planInput(in).Fleets[0]
			said := ""
			for _, b := range p.Bounds {
				if b.Name == "cost_guardrail" {
					said = b.Reason.Text()
				}
			}
			if test.says != "" && said != test.says {
				t.Errorf("it says\n%s, want\n%s", said, test.says)
			}
			if p.Create != test.create || p.Desired != test.desired || len(p.Actions) > 0 {
				t.Errorf("%s, desired %d; want %d more and %d", story(p), p.Desired, test.create, test.desired)
			}
			if !p.Next.Equal(test.next) {
				t.Errorf("next %s, want %s", p.Next, test.next)
			}
		})
	}
}

func TestHostsWithoutAPriceHoldStartsUntilThePriceIsKnown(t *testing.T) {
	f := trading(5, 9)
	f.Cost.MaxHourly = usd(5_000_000)
	old := hosts(f, 2, now.Add(-time.Hour)) // from before there was a guardrail
	in := selling(f, nil, lot("a", "m", 100))
	in.Instances = old
	p := planInput(in).Fleets[0]
	want := reason.Of(reason.CostUnknown{Missing: 3, Limit: reason.CostLimit{Attribute: "max_hourly", Amount: "5 USD"},
		Because: reason.Of(reason.InstancesUnpriced{Unpriced: 2, Instances: 2})})
	if story(p) != "cost_unknown" || p.Waiting[0] != want || p.Cost.Unpriced != 2 {
		t.Errorf("%s: %+v", story(p), p.Waiting)
	}
	f.Cost.Hourly = usd(100_000)
	in = selling(f, nil, lot("a", "m", 100))
	in.Instances = old
	if p := planInput(in).Fleets[0]; p.Create != 3 || p.Cost.Hourly != usd(200_000) || p.Cost.Then != usd(500_000) {
		t.Errorf("with a price of the file: %s, %+v", story(p), p.Cost)
	}
}

func TestAnOfferWithoutAPriceIsNoneWhereCostsAreLimited(t *testing.T) {
	f := trading(1, 9)
	f.Cost.MaxDaily = usd(5_000_000)
	mute := lot("a", "m", 0)
	mute.Price = fleet.Money{}
	p := planInput(selling(f, nil, mute)).Fleets[0]
	if p.Create != 0 || p.Constrained == nil ||
		!strings.Contains(
			p.Constrained.Reason.Text(),
			"it has no price, and the fleet's costs are limited; set hourly in the cost block",
		) {
		t.Errorf("%s: %+v", story(p), p.Constrained)
	}
	p = planInput(selling(f, nil, mute, lot("b", "m", 100))).Fleets[0]
	if requested(p) != "b/m" {
		t.Errorf("requests %q", requested(p))
	}
}

func TestOffersThatDontFitAreLeftOutBeforeAHostIs(t *testing.T) {
	f := trading(4, 9)
	f.Cost.MaxHourly = usd(700_000)
	cheap, dear := lot("a", "m", 100), lot("b", "m", 300)
	for name, test := range map[string]struct {
		in   input
		want string
	}{
		// Of 0.7 USD the three that follow take 0.3 at least.
		"the dear one is an alternative as far as all can be paid for": {selling(f, nil, cheap, dear),
			"a/m b/m | a/m | a/m | a/m"},
		"the cheap one has no room, and two dear ones fit": {selling(f, without(time.Second, "a"), cheap, dear), "b/m | b/m"},
	} {
		if p := planInput(test.in).Fleets[0]; requested(p) != test.want {
			t.Errorf("%s: %q, want %q (%+v)", name, requested(p), test.want, p.Waiting)
		}
	}
}

func TestWhatAFleetMayNotPayForGoesToAnotherOrWaitsAndSaysWhy(t *testing.T) {
	cheap, other := burst(0, 9, 0), burst(0, 9, 0)
	cheap.Cost = fleet.CostPolicy{Hourly: usd(100_000), MaxHourly: usd(150_000)}
	other.ID, other.Address, other.Cost.Hourly = "f2", "fleet.other", usd(400_000)
	in := input{Now: now, Fleets: []fleet.ManagedFleet{cheap, other}, Demand: demand(waiting(6))}
	if out := planInput(in); out.Fleets[0].Create != 1 || out.Fleets[1].Create != 2 || len(out.Unplaced) != 0 {
		t.Errorf("two fleets: %s; %s; unplaced %v", story(out.Fleets[0]), story(out.Fleets[1]), out.Unplaced)
	}
	in.Fleets = in.Fleets[:1]
	out := planInput(in)
	const want = "4 queued jobs without capacity: fleet.demo can't grow now, limited by max_hourly = 0.15 USD: with 1 " +
		"more, 1 instance costs 0.1 USD an hour, and another one costs 0.1 USD"
	if len(out.Unplaced) != 1 || out.Unplaced[0].Reason.Text() != want {
		t.Errorf("one fleet: %+v", out.Unplaced)
	}
	if got := chain(out.Fleets[0]); got != "demand 3 → cost_guardrail 1" {
		t.Error(got)
	}
}

func TestAGuardrailThatNoAmountFitsIntoNeverWraps(t *testing.T) {
	huge := fleet.Money{Micros: math.MaxInt64 - 1, Currency: "USD"}
	f := sampleFleet(9, 9, 0)
	f.Cost = fleet.CostPolicy{Hourly: huge, MaxHourly: huge, MaxDaily: huge, Minimum: 1000 * time.Hour}
	p := planInput(
		input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f},
			Instances: hosts(f, 3, now.Add(-time.Hour))}).Fleets[0]
	if p.Create != 0 || p.Cost.Hourly.Micros != math.MaxInt64 || p.Cost.Whole.Micros != math.MaxInt64 {
		t.Errorf("%s, %+v", story(p), p.Cost)
	}
	f.Cost = fleet.CostPolicy{Hourly: usd(0), MaxHourly: usd(1)}
	if p := planInput(input{Now: now, Fleets: []fleet.ManagedFleet{f}}).Fleets[0]; p.Create != 9 {
		t.Errorf("hosts that cost nothing: %s", story(p))
	}
}

// drawCosts gives the fleets of an input prices, guardrails and minimums.
func drawCosts(t *rapid.T, in input) input {
	amount := func(most int64) fleet.Money {
		if n := rapid.Int64Range(-most/3, most).Draw(t, "amount"); n > 0 {
			return usd(n)
		}
		return fleet.Money{}
	}
	in.Offers = map[fleet.MarketKey]fleet.OfferList{}
	for n := range in.Fleets {
		f := &in.Fleets[n]
		f.Cost = fleet.CostPolicy{
			Hourly:    amount(30),
			MaxHourly: amount(120),
			MaxDaily:  amount(1500),
			Minimum:   time.Duration(rapid.IntRange(0, 3).Draw(t, "minimum")) * 20 * time.Minute,
		}
		f.Lifetime, f.Market = fleet.LifetimeStable, rapid.Bool().Draw(t, "market")
		f.Instance = json.RawMessage(fmt.Sprintf("%d", n))
		var offers []fleet.Offer
		for _, zone := range []string{"a", "b"} {
			o := fleet.Offer{Zone: zone, Lifetime: fleet.LifetimeStable, Price: amount(40)}
			o.MinimumCommitment = time.Duration(rapid.IntRange(0, 2).Draw(t, "lease")) * 10 * time.Hour
			offers = append(offers, o)
		}
		in.Offers[f.MarketKey()] = fleet.OfferList{Offers: offers, Read: now}
		if rapid.IntRange(0, 3).Draw(t, "cost override") == 0 {
			in.Overrides.CostOverrides = append(
				in.Overrides.CostOverrides,
				costOverride(
					*f,
					amount(200),
					amount(2000),
					now.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "until"))*time.Minute),
				).CostOverrides...)
		}
		for k := range rapid.IntRange(0, 4).Draw(t, "ended") {
			at := now.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "ago")) * time.Hour)
			in.Commitments = append(
				in.Commitments,
				fleet.Commitment{
					Instance: fleet.CapacityInstanceID(fmt.Sprintf("e%d%d", n, k)),
					Fleet:    f.ID,
					From:     at,
					Until:    at.Add(2 * time.Hour),
					Hourly:   usd(int64(10 * k)),
				},
			)
		}
	}
	for n := range in.Instances {
		i := &in.Instances[n]
		i.Cost = fleet.InstanceCost{
			Hourly:        amount(40),
			Minimum:       time.Duration(rapid.IntRange(0, 3).Draw(t, "paid")) * time.Minute,
			BillingPeriod: time.Duration(rapid.IntRange(0, 2).Draw(t, "period")) * time.Hour,
		}
	}
	return in
}

// cost is what an hour of a fleet costs by its rows and requests alone, and what its
// day does; known says that every price is.
func costOf(in input, f fleet.ManagedFleet, requests []Request) (hour, day int64, known bool) {
	begins, ends := fleet.DayOf(in.Now)
	known = true
	add := func(price fleet.Money, time time.Duration) {
		known = known && price.Currency != ""
		hour, day = hour+price.Micros, day+price.During(time).Micros
	}
	for _, i := range in.Instances {
		if i.Fleet == f.ID && lifecycle.Footprint(i.State) {
			add(hourlyOf(f, i), fleet.Overlap(i.Created, ends, begins, ends))
		}
	}
	for _, r := range requests {
		add(f.Cost.Of(r.Offers...).Hourly, ends.Sub(in.Now))
	}
	for _, l := range in.Commitments {
		if l.Fleet == f.ID {
			day += l.Between(begins, ends).Micros
		}
	}
	return hour, day, known
}

func TestCostGuardrailLimitsStartsAndEndsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDemand(t)
		if rapid.Bool().Draw(t, "without a scheduler") {
			in = world(t)
		}
		if rapid.Bool().Draw(t, "people") {
			in = drawOverrides(t, in)
		}
		in = drawCosts(t, in)
		free := in
		free.Fleets = slices.Clone(in.Fleets)
		for n := range free.Fleets {
			free.Fleets[n].Cost.MaxHourly, free.Fleets[n].Cost.MaxDaily = fleet.Money{}, fleet.Money{}
		}
		out, unlimited := planInput(in), planInput(free)
		for n, p := range out.Fleets {
			f := in.Fleets[slices.IndexFunc(in.Fleets, func(f fleet.ManagedFleet) bool { return f.ID == p.Fleet })]
			hourly, daily := in.Overrides.CostLimits(f, in.Now)
			hour, day, known := costOf(in, f, p.Requests)
			switch {
			case p.Create == 0 || hourly.IsZero() && daily.IsZero():
			case !known:
				t.Fatalf("%s starts %d, and no one knows what it costs", f.Address, p.Create)
			case !hourly.IsZero() && hour > hourly.Micros || !daily.IsZero() && day > daily.Micros:
				t.Fatalf(
					"%s starts %d and costs %d an hour and %d a day, beyond %s and %s",
					f.Address,
					p.Create,
					hour,
					day,
					hourly,
					daily,
				)
			}
			if floor := min(p.Counts.Capacity, unlimited.Fleets[n].Desired); p.Desired < floor {
				t.Fatalf("%s should have %d, and without guardrails at least %d", f.Address, p.Desired, floor)
			}
			for _, a := range p.Actions {
				if a.Kind == Drain && a.Cause != lifecycle.ForRollout &&
					!slices.ContainsFunc(
						unlimited.Fleets[n].Actions,
						func(b Action) bool { return b.Kind == a.Kind && b.Cause == a.Cause },
					) {
					t.Fatalf("a guardrail drains %s (%s): %s", a.Instance, a.Cause, a.Reason)
				}
			}
			isPaidFor(t, in, f, p)
		}
	})
}

// isPaidFor holds that no scale-down takes what a minimum is paid for.
func isPaidFor(t *rapid.T, in input, f fleet.ManagedFleet, p FleetPlan) {
	if f.Operational == fleet.FleetDraining {
		return
	}
	for _, a := range p.Actions {
		i := in.Instances[slices.IndexFunc(in.Instances, func(i snapshot.Instance) bool { return i.ID == a.Instance })]
		outdated := slices.ContainsFunc(p.Drifted, func(d Drift) bool { return d.Instance == i.ID })
		down := a.Cause == lifecycle.ForScaleDown || a.Cause == lifecycle.ForOperator ||
			a.Cause == lifecycle.Withdrawn && !outdated
		if down && i.Cost.Minimum > 0 && i.State != fleet.Requested && i.Created.Add(i.Cost.Minimum).After(in.Now) {
			t.Fatalf("%s of %s, made at %s for %s at least", a.Kind, i.ID, i.Created, i.Cost.Minimum)
		}
	}
}

func TestACostOverrideIsShownWithTheLimitsThatHold(t *testing.T) {
	f, later := limited(1, 4, 100, 900), now.Add(time.Hour)
	for name, test := range map[string]struct {
		hourly, daily         fleet.Money
		wantHourly, wantDaily string
	}{
		"nothing is limited":  {},
		"a larger max_hourly": {hourly: usd(7_000_000), wantHourly: "7 USD", wantDaily: "9 USD"},
		"a larger max_daily":  {daily: usd(70_000_000), wantHourly: "1 USD", wantDaily: "70 USD"},
		// Less than the file's, or of another currency, is what the file may say since.
		"less than the file's": {usd(1), fleet.Money{Micros: 99_000_000, Currency: "EUR"}, "1 USD", "9 USD"},
	} {
		p := planInput(
			input{Now: now, Fleets: []fleet.ManagedFleet{f},
				Overrides: costOverride(f, test.hourly, test.daily, later)}).Fleets[0]
		want := reason.Of(
			reason.CostOverrideInForce{
				Fleet:     "demo",
				MaxHourly: test.wantHourly,
				MaxDaily:  test.wantDaily,
				Decided:   until(ada, later),
			},
		)
		if len(p.Overrides) != 1 || p.Overrides[0] != want {
			t.Errorf("%s: %q, want %q", name, p.Overrides, want)
		}
	}
}
