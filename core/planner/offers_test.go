package planner

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func usd(micros int64) fleet.Money { return fleet.Money{Micros: micros, Currency: "USD"} }

// lot is an offer for a price in thousandths of a dollar.
func lot(zone, machineType string, price int64) fleet.Offer {
	return fleet.Offer{
		Zone:        zone,
		Region:      "eu",
		MachineType: machineType,
		Lifetime:    fleet.LifetimeStable,
		Price:       usd(price * 1000),
		Resources:   fleet.ResourceCapacity{CPUMilli: 4000, MemoryBytes: 16 << 30},
	}
}

// trading is a fleet of burst hosts whose provider has a market.
func trading(min, max int) fleet.ManagedFleet {
	f := burst(min, max, 0)
	f.Market, f.Lifetime, f.Instance = true, fleet.LifetimeStable, json.RawMessage(`{"a":1}`)
	f.Placement.Spread = fleet.SpreadNone
	return f
}

// selling is an input in which the fleet's market has the offers.
func selling(f fleet.ManagedFleet, circuits market.Circuits, offers ...fleet.Offer) input {
	return input{
		Now:          now,
		Fleets:       []fleet.ManagedFleet{f},
		AgentVersion: agentVersion,
		Demand:       demand(),
		Circuits:     circuits,
		Offers: map[fleet.MarketKey]fleet.OfferList{
			f.MarketKey(): {Offers: offers, Read: now.Add(-time.Minute), Next: now.Add(time.Minute)},
		},
	}
}

// without are circuits that opened so long ago for lack of room in "zone type".
func without(since time.Duration, places ...string) market.Circuits {
	cs := market.Circuits{}
	for _, place := range places {
		words := append(strings.Fields(place), "", "")
		offer := fleet.Offer{Zone: words[0], MachineType: words[1], Lifetime: fleet.LifetimeStable}
		if place == "" {
			offer = fleet.Offer{Lifetime: fleet.LifetimeStable}
		}
		cs.RecordShortage(
			market.Attempt{Operation: "k0", Provider: "local.here", Offers: []fleet.Offer{offer}},
			market.Shortage{
				Class:       fleet.ErrorCapacity,
				Message:     "insufficient capacity",
				Zone:        words[0],
				MachineType: words[1],
			},
			now.Add(-since),
			func() float64 { return 0 },
		)
	}
	return cs
}

// requested is the requests of a plan in words.
func requested(p FleetPlan) string {
	var all []string
	for _, r := range p.Requests {
		var names []string
		for _, o := range r.Offers {
			names = append(names, o.Zone+"/"+o.MachineType)
		}
		all = append(all, strings.Join(names, " "))
	}
	return strings.Join(all, " | ")
}

func TestARequestHoldsWhatTheFleetMayUseTheBestFirst(t *testing.T) {
	a, b, c := lot("a", "m", 200), lot("b", "m", 100), lot("c", "m", 100)
	spot := lot("a", "m", 10)
	spot.Lifetime = fleet.LifetimePreemptible
	small := lot("a", "small", 1)
	small.Resources.CPUMilli = 2000
	silent := fleet.Offer{Zone: "d", Region: "eu", MachineType: "m", Lifetime: fleet.LifetimeStable}
	abroad := lot("x", "m", 1)
	abroad.Region = "us"
	euro := lot("a", "m", 1)
	euro.Price.Currency = "EUR"
	gone, none := lot("a", "gone", 1), int64(0)
	gone.Available = &none
	arm, mac, same := lot("a", "arm", 1), lot("a", "mac", 1), lot("a", "same", 1)
	arm.Platform.Arch, mac.Platform, same.Platform = "arm64", fleet.Platform{
		OS:   "darwin",
		Arch: "x86_64",
	}, fleet.Platform{
		OS:   "linux",
		Arch: "x86_64",
	}
	gpu := lot("a", "gpu", 900)
	gpu.Resources.GPU, gpu.Resources.Named = 1, map[string]int64{"gpu/l4": 1}
	with := func(change func(*fleet.ManagedFleet)) fleet.ManagedFleet {
		f := trading(1, 4)
		change(&f)
		return f
	}
	f := trading(1, 4)
	for _, test := range []struct {
		name   string
		fleet  fleet.ManagedFleet
		offers []fleet.Offer
		want   string
	}{
		{"the cheapest first, and equals by their names", f, []fleet.Offer{a, c, b}, "b/m c/m a/m"},
		{"never another lifetime, however cheap", f, []fleet.Offer{spot, a}, "a/m"},
		{"a preemptible fleet takes nothing else either", with(func(f *fleet.ManagedFleet) {
			f.Lifetime = fleet.LifetimePreemptible
		}), []fleet.Offer{spot, a}, "a/m"},
		{"never what is too small for the class", f, []fleet.Offer{small, a}, "a/m"},
		{"what isn't said of cpu and memory is taken on trust, and the price last", f, []fleet.Offer{silent, a}, "a/m d/m"},
		{"a gpu that isn't said isn't there", with(func(f *fleet.ManagedFleet) {
			f.Class.Resources.GPU = 1
		}), []fleet.Offer{a, silent, gpu}, "a/gpu"},
		{"never another region", with(func(f *fleet.ManagedFleet) {
			f.Placement.Regions = []string{"eu"}
		}), []fleet.Offer{abroad, a}, "a/m"},
		{"never another zone", with(func(f *fleet.ManagedFleet) {
			f.Placement.Zones = []string{"c"}
		}), []fleet.Offer{a, b, c}, "c/m"},
		{"never a price that can't be compared with the fleet's", with(func(f *fleet.ManagedFleet) {
			f.Cost.Hourly = usd(1)
		}), []fleet.Offer{euro, b}, "b/m"},
		{"the fleet's own price stands in for one that isn't said", with(func(f *fleet.ManagedFleet) {
			f.Cost.Hourly = usd(150_000)
		}), []fleet.Offer{silent, a, b}, "b/m d/m a/m"},
		{"never another processor, whatever it costs", f, []fleet.Offer{arm, a}, "a/m"},
		{"never another system", f, []fleet.Offer{mac, a}, "a/m"},
		{"what it runs on isn't asked of an offer that says what the class is of", f, []fleet.Offer{same, a}, "a/same a/m"},
		{"nothing that is sold out", f, []fleet.Offer{gone, a}, "a/m"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := planInput(selling(test.fleet, nil, test.offers...)).Fleets[0]
			if got := requested(p); got != test.want || p.Create != 1 {
				t.Errorf("requests %q, want %q\n%+v", got, test.want, p.Offers)
			}
		})
	}
}

func TestASpreadFleetGoesWhereItHasTheFewest(t *testing.T) {
	f := trading(4, 8)
	f.Placement.Spread = fleet.SpreadZone
	a, b := lot("a", "m", 100), lot("b", "m", 200)
	at := func(n int, zone string) snapshot.Instance {
		i := instance(f, n, fleet.Healthy)
		i.Zone = zone
		return i
	}
	heading := instance(f, 1, fleet.Provisioning)
	heading.HeadsFor = "a"
	in := selling(f, nil, a, b)
	in.Instances = []snapshot.Instance{at(0, "a"), heading}
	if got, want := requested(planInput(in).Fleets[0]), "b/m a/m | b/m a/m"; got != want {
		t.Errorf("two are in a: requests %q, want %q", got, want)
	}
	in.Instances = nil
	if got, want := requested(planInput(in).Fleets[0]), "a/m b/m | b/m a/m | a/m b/m | b/m a/m"; got != want {
		t.Errorf("from nothing: requests %q, want %q", got, want)
	}
	f.Placement.Required = true
	in.Fleets, in.Circuits = []fleet.ManagedFleet{f}, without(time.Second, "b m")
	if got, want := requested(planInput(in).Fleets[0]), "a/m"; got != want {
		t.Errorf("required, and b has no room: requests %q, want %q: a second one in a would be uneven", got, want)
	}
}

func TestNoRequestHoldsAnOfferWithoutRoomButTheOneProbe(t *testing.T) {
	a, b := lot("a", "m", 100), lot("b", "m", 200)
	f := trading(3, 8)
	for _, test := range []struct {
		name     string
		circuits market.Circuits
		want     string
		code     reason.Code
	}{
		{"room everywhere", nil, "a/m b/m | a/m b/m | a/m b/m", ""},
		{"none in the cheaper zone", without(time.Second, "a m"), "b/m | b/m | b/m", ""},
		{"none in the whole zone", without(time.Second, "a"), "b/m | b/m | b/m", ""},
		{"half open: one request tries", without(time.Minute, "a m"), "a/m b/m | b/m | b/m", ""},
		{"all half open: one request tries, and the others wait", without(time.Minute, "a m", "b m"), "a/m b/m",
			"one_request_first"},
		{"none anywhere", without(time.Second, "a m", "b m"), "", "no_offer"},
		{"none of the provider", without(time.Second, ""), "", "no_offer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := planInput(selling(f, test.circuits, a, b)).Fleets[0]
			if got := requested(p); got != test.want || p.Create != len(p.Requests) {
				t.Errorf("requests %q, want %q; %d are created", got, test.want, p.Create)
			}
			if test.code != "" && (len(p.Waiting) != 1 || p.Waiting[0].Code() != test.code) {
				t.Errorf("it waits for %+v, want %s", p.Waiting, test.code)
			}
		})
	}
}

func TestAFleetWithoutRoomNamesItsOffersAndTheNextTry(t *testing.T) {
	f := trading(1, 4)
	p := planInput(selling(f, without(2*time.Second, "a m", "b m"), lot("a", "m", 1), lot("b", "m", 2))).Fleets[0]
	want := "no offer has capacity: a m stable (no capacity), b m stable (no capacity); last error: insufficient " +
		"capacity; next try in 3s"
	if p.Constrained == nil || reason.WithNextTry(p.Constrained.Reason, p.Constrained.Until, now) != want ||
		p.Waiting[0].TextAt(now) != "1 instance missing: "+want {
		t.Errorf("constrained %+v, waiting %+v\nwant %s", p.Constrained, p.Waiting, want)
	}
	if got, want := p.Offers.Considered[0].Reason.TextAt(now), "no capacity since 11:59 UTC, next try in 3s"; got != want {
		t.Errorf("the offer says %q, want %q", got, want)
	}
	for name, in := range map[string]input{
		"the provider has no offer": selling(f, nil),
		"a arm stable: its arch is arm64, and the class requires x86_64": selling(f, nil,
			fleet.Offer{Zone: "a", MachineType: "arm", Lifetime: fleet.LifetimeStable, Platform: fleet.Platform{Arch: "arm64"}}),
		"a mac stable: its os is darwin, and the class requires linux": selling(f, nil,
			fleet.Offer{Zone: "a", MachineType: "mac", Lifetime: fleet.LifetimeStable,
				Platform: fleet.Platform{OS: "darwin", Arch: "x86_64"}}),
		"1 offer unsuitable: a m preemptible": selling(f, nil,
			fleet.Offer{Zone: "a", MachineType: "m", Lifetime: fleet.LifetimePreemptible}),
		"the provider's offers are not known yet": {Now: now, Fleets: []fleet.ManagedFleet{f}, Demand: demand(),
			Offers: map[fleet.MarketKey]fleet.OfferList{}},
		"the provider's offers are not known: boom": {Now: now, Fleets: []fleet.ManagedFleet{f}, Demand: demand(),
			Offers: map[fleet.MarketKey]fleet.OfferList{f.MarketKey(): {Failure: "boom.", Next: now.Add(time.Second)}}},
	} {
		p := planInput(in).Fleets[0]
		if p.Create != 0 || p.Constrained == nil || !strings.Contains(p.Constrained.Reason.Text(), name) {
			t.Errorf("%s: create %d, %+v", name, p.Create, p.Constrained)
		}
	}
	if p := planInput(input{Now: now, Fleets: []fleet.ManagedFleet{f}, Demand: demand()}).Fleets[0]; p.Create != 1 ||
		p.Constrained != nil ||
		p.Offers != nil {
		t.Errorf("where no one can ask: create %d, %+v, %+v", p.Create, p.Constrained, p.Offers)
	}
}

func TestWithoutAMarketAFleetHasOneOfferOfItsOwnPrice(t *testing.T) {
	f := burst(2, 4, 0)
	f.Cost.Hourly = usd(7)
	in := input{Now: now, Fleets: []fleet.ManagedFleet{f}, Demand: demand(), AgentVersion: agentVersion}
	p := planInput(in).Fleets[0]
	if p.Create != 2 || len(p.Requests[0].Offers) != 0 || len(p.Offers.Considered) != 1 ||
		p.Offers.Considered[0].Hourly != usd(7) ||
		p.Offers.Worth() {
		t.Errorf("create %d, %+v", p.Create, p.Offers)
	}
	in.Circuits = without(time.Second, "")
	if p := planInput(in).Fleets[0]; p.Create != 0 || p.Constrained == nil || !p.Offers.Worth() {
		t.Errorf("without room: create %d, %+v", p.Create, p.Constrained)
	}
	in.Circuits = without(time.Minute, "")
	if p := planInput(in).Fleets[0]; p.Create != 1 || len(p.Requests[0].Probes) != 1 {
		t.Errorf("half open: create %d, %+v", p.Create, p.Requests)
	}
}

func TestOldOffersAreUsedAndCalledOutdated(t *testing.T) {
	f := trading(1, 4)
	in := selling(f, nil, lot("a", "m", 1))
	list := in.Offers[f.MarketKey()]
	list.Read, list.Failure = now.Add(-time.Hour), "the market is closed"
	in.Offers[f.MarketKey()] = list
	p := planInput(in).Fleets[0]
	if p.Create != 1 || !p.Offers.Outdated || p.Offers.Failure == "" || !p.Offers.Of.Equal(now.Add(-time.Hour)) {
		t.Errorf("create %d, %+v", p.Create, p.Offers)
	}
}

// pair is a cheap fleet with a market and a dear one, for the same jobs.
func pair() (cheap, dear fleet.ManagedFleet) {
	cheap, dear = trading(0, 8), trading(0, 8)
	cheap.ID, cheap.Address = "cheap", "fleet.cheap"
	dear.ID, dear.Address, dear.Provider, dear.Market, dear.Cost.Hourly = "dear", "fleet.dear", "other.there", false, usd(
		1_000_000,
	)
	return cheap, dear
}

func TestDemandThatAFleetHasNoRoomForGoesToTheNextInTheSamePlan(t *testing.T) {
	cheap, dear := pair()
	for _, test := range []struct {
		name        string
		circuits    market.Circuits
		there       []snapshot.Instance
		cheap, dear int
	}{
		{"room: the cheaper one takes all", nil, nil, 3, 0},
		{"no room: the dearer one does", without(time.Second, "a m"), nil, 0, 3},
		{"half open: one tries, and the rest doesn't wait for it", without(time.Minute, "a m"), nil, 1, 2},
		{"what boots at the dearer one isn't covered twice when there is room again", nil,
			[]snapshot.Instance{instance(dear, 0, fleet.Provisioning), instance(dear, 1, fleet.Bootstrapping)}, 1, 0},
		{"all is on its way: nothing more comes", nil,
			instances(dear, fleet.Provisioning, fleet.Provisioning, fleet.Provisioning), 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := selling(cheap, test.circuits, lot("a", "m", 100))
			in.Fleets = append(in.Fleets, dear)
			in.Demand, in.Instances = demand(waiting(6)), test.there // two on a host
			out := planInput(in)
			if out.Fleets[0].Create != test.cheap || out.Fleets[1].Create != test.dear || len(out.Unplaced) > 0 {
				t.Errorf(
					"cheap makes %d, dear %d, want %d and %d; unplaced %+v",
					out.Fleets[0].Create,
					out.Fleets[1].Create,
					test.cheap,
					test.dear,
					out.Unplaced,
				)
			}
		})
	}
}

func TestOneProbeIsForOneFleet(t *testing.T) {
	f, g := trading(1, 4), trading(1, 4)
	g.ID, g.Address = "f2", "fleet.two"
	in := selling(f, without(time.Minute, "a m"), lot("a", "m", 1))
	in.Fleets = []fleet.ManagedFleet{g, f}
	out := planInput(in)
	if out.Fleets[0].Create != 1 || out.Fleets[1].Create != 0 || len(out.Fleets[1].Waiting) != 1 ||
		out.Fleets[1].Waiting[0].Code() != "one_request_first" {
		t.Errorf(
			"%s makes %d, %s makes %d and waits for %+v",
			out.Fleets[0].Address,
			out.Fleets[0].Create,
			out.Fleets[1].Address,
			out.Fleets[1].Create,
			out.Fleets[1].Waiting,
		)
	}
}

// TestWhateverTheOffersNoRequestBreaksARule draws fleets, markets and circuits.
func TestWhateverTheOffersNoRequestBreaksARule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := trading(rapid.IntRange(0, 5).Draw(t, "min"), 8)
		f.Placement.Spread = rapid.SampledFrom([]string{fleet.SpreadNone, fleet.SpreadZone, fleet.SpreadRegion}).
			Draw(t, "spread")
		f.Placement.Required = rapid.Bool().Draw(t, "required")
		f.Placement.Zones = rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}}).Draw(t, "zones")
		var offers []fleet.Offer
		for _, zone := range []string{"a", "b", "c"} {
			for _, machineType := range []string{"m", "big"} {
				if o := lot(zone, machineType, rapid.Int64Range(0, 3).Draw(t, "price")); rapid.Bool().Draw(t, "offered") {
					o.Lifetime = rapid.SampledFrom([]fleet.LifetimeClass{fleet.LifetimeStable, fleet.LifetimePreemptible}).
						Draw(t, "lifetime")
					offers = append(offers, o)
				}
			}
		}
		var places []string
		for _, place := range []string{"a", "b", "a m", "b m", "c big"} {
			if rapid.Bool().Draw(t, "short") {
				places = append(places, place)
			}
		}
		circuits := without(time.Duration(rapid.IntRange(1, 10).Draw(t, "since"))*time.Second, places...)
		in := selling(f, circuits, offers...)
		in.Demand = demand(waiting(rapid.IntRange(0, 12).Draw(t, "jobs")))
		out := planInput(in)
		p := out.Fleets[0]
		if len(p.Requests) != p.Create {
			t.Fatalf("%d requests for %d", len(p.Requests), p.Create)
		}
		probed := map[market.Scope]bool{}
		for _, r := range p.Requests {
			if len(r.Offers) == 0 {
				t.Fatal("a request without offers")
			}
			for _, s := range r.Probes {
				if probed[s] {
					t.Fatalf("%+v is probed twice", s)
				}
				probed[s] = true
			}
			for _, o := range r.Offers {
				if o.Lifetime != f.Lifetime || f.Placement.Zones != nil && !slices.Contains(f.Placement.Zones, o.Zone) {
					t.Fatalf("%s breaks a rule of the fleet", o.Name())
				}
				for _, c := range circuits.Affecting(f.Provider, o) {
					if c.State(now) != market.HalfOpen || !slices.Contains(r.Probes, c.Scope) {
						t.Fatalf("%s has no room, and the request isn't its probe", o.Name())
					}
				}
			}
		}
		in.Offers[f.MarketKey()] = fleet.OfferList{
			Offers: rapid.Permutation(offers).Draw(t, "in another order"),
			Read:   now.Add(-time.Minute),
			Next:   now.Add(time.Minute),
		}
		again := planInput(in)
		if diff := cmp.Diff(out, again); diff != "" {
			t.Fatalf("the order of the offers matters:\n%s", diff)
		}
	})
}
