package market

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

const cloud = fleet.ProviderAddress("aws.here")

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func noJitter() float64 { return 0 }

func offer(zone, machineType string) fleet.Offer {
	return fleet.Offer{Zone: zone, MachineType: machineType, Lifetime: fleet.LifetimeStable}
}

// attempt is an operation with offers "zone/type", in their order.
func attempt(op fleet.OperationID, offers ...fleet.Offer) Attempt {
	return Attempt{Operation: op, Provider: cloud, Offers: offers}
}

func capacity(zone, machineType string) Shortage {
	return Shortage{Class: fleet.ErrorCapacity, Message: "full", Zone: zone, MachineType: machineType}
}

// state is what an offer may be used for: the worst of its circuits.
func state(cs Circuits, o fleet.Offer, now time.Time) State {
	worst := Closed
	for _, c := range cs.Affecting(cloud, o) {
		switch s := c.State(now); {
		case s == Open, s == Probing && worst != Open, worst == Closed:
			worst = s
		}
	}
	return worst
}

func TestAShortageIsOfWhatTheProviderSays(t *testing.T) {
	a, b := offer("a", "m"), offer("b", "m")
	big := offer("a", "big")
	for name, test := range map[string]struct {
		said             Shortage
		a, b, big, preem State
	}{
		"of a zone and a machine type": {capacity("a", "m"), Open, Closed, Closed, Closed},
		"of a zone":                    {capacity("a", ""), Open, Closed, Open, Closed},
		"of a machine type":            {capacity("", "m"), Open, Open, Closed, Closed},
		"of the provider":              {capacity("", ""), Open, Open, Open, Closed},
		"of a zone that wasn't asked":  {capacity("mars", ""), Open, Open, Open, Closed},
	} {
		t.Run(name, func(t *testing.T) {
			cs := Circuits{}
			cs.RecordShortage(attempt("k1", a, b), test.said, noon, noJitter)
			preemptible := a
			preemptible.Lifetime = fleet.LifetimePreemptible
			for _, one := range []struct {
				offer fleet.Offer
				want  State
			}{{a, test.a}, {b, test.b}, {big, test.big}, {preemptible, test.preem}} {
				if got := state(cs, one.offer, noon); got != one.want {
					t.Errorf("%s is %s, want %s", one.offer.Name(), got, one.want)
				}
			}
			if got := len((Circuits{}).Affecting(cloud, a)) + len(cs.Affecting("other.cloud", a)); got != 0 {
				t.Errorf("%d circuits over an offer of another provider", got)
			}
		})
	}
}

func TestAShortageOfAGroupRestsItsOffersOnly(t *testing.T) {
	in, out := offer("a", "m"), offer("b", "m")
	in.Scope, out.Scope = "placement-group/ci", "placement-group/other"
	cs := Circuits{}
	full := Shortage{Class: fleet.ErrorQuota, Message: "10 servers at most", Group: "placement-group/ci"}
	cs.RecordShortage(attempt("k1", in, out), full, noon, noJitter)
	if a, b := state(cs, in, noon), state(cs, out, noon); a != Open || b != Closed {
		t.Errorf("in the group %s, outside %s", a, b)
	}
	cs.RecordSuccess(attempt("k2", in), "a", "m", noon, noJitter)
	if got := state(cs, in, noon); got != Closed {
		t.Errorf("after a machine was made in the group: %s", got)
	}
	full.Group = "unheard of"
	cs.RecordShortage(attempt("k3", in, out), full, noon, noJitter)
	if a, b := state(cs, in, noon), state(cs, out, noon); a != Open || b != Open {
		t.Errorf("a group that no offer has: %s and %s, want all of them open", a, b)
	}
}

// TestEveryMove drives one circuit through the table and through time.
func TestEveryMove(t *testing.T) {
	a := offer("a", "m")
	open := func(fleet.OperationID) bool { return true }
	fail := func(op fleet.OperationID) func(Circuits, time.Time) {
		return func(cs Circuits, now time.Time) { cs.RecordShortage(attempt(op, a), capacity("a", "m"), now, noJitter) }
	}
	work := func(op fleet.OperationID) func(Circuits, time.Time) {
		return func(cs Circuits, now time.Time) { cs.RecordSuccess(attempt(op, a), "a", "m", now, noJitter) }
	}
	begin := func(op fleet.OperationID) func(Circuits, time.Time) {
		return func(cs Circuits, now time.Time) {
			for _, c := range cs.Affecting(cloud, a) {
				cs.Begin(op, []Scope{c.Scope}, now)
			}
		}
	}
	over := func(cs Circuits, now time.Time) { cs.Advance(now, func(fleet.OperationID) bool { return false }) }
	pass := func(cs Circuits, now time.Time) { cs.Advance(now, open) }
	type move struct {
		after time.Duration
		do    func(Circuits, time.Time)
		want  State
	}
	for name, moves := range map[string][]move{
		"opens, and time half opens it": {{0, fail("k1"), Open}, {4 * time.Second, pass, Open},
			{time.Second, pass, HalfOpen}},
		"a burst that was under way counts once": {{0, fail("k1"), Open}, {0, fail("k2"), Open},
			{0, fail("k3"), Open}, {5 * time.Second, pass, HalfOpen}},
		"the probe's success closes it": {{0, fail("k1"), Open}, {5 * time.Second, begin("k2"), Probing},
			{0, work("k2"), Closed}},
		"the probe's failure opens it for twice as long": {{0, fail("k1"), Open}, {5 * time.Second, begin("k2"), Probing},
			{0, fail("k2"), Open}, {9 * time.Second, pass, Open}, {time.Second, pass, HalfOpen}},
		"there is one probe": {{0, fail("k1"), Open}, {5 * time.Second, begin("k2"), Probing},
			{0, begin("k3"), Probing}, {0, fail("k3"), Probing}, {0, fail("k2"), Open}},
		"an open one takes no probe": {{0, fail("k1"), Open}, {0, begin("k2"), Open},
			{5 * time.Second, pass, HalfOpen}},
		"any success closes it": {{0, fail("k1"), Open}, {0, work("k2"), Closed}},
		"a probe that ended otherwise makes room": {{0, fail("k1"), Open}, {5 * time.Second, begin("k2"), Probing},
			{0, over, HalfOpen}},
		"a probe that lasts too long makes room": {{0, fail("k1"), Open}, {5 * time.Second, begin("k2"), Probing},
			{probeLimit - 1, pass, Probing}, {1, pass, HalfOpen}},
		"what no one tries is forgotten": {{0, fail("k1"), Open}, {2 * forgetAfter, pass, Closed}},
		"a success closes what time half opened": {{0, fail("k1"), Open}, {5 * time.Second, pass, HalfOpen},
			{0, work("k2"), Closed}},
		"a clock that is set back doesn't keep a probe": {{0, fail("k1"), Open}, {5 * time.Second, begin("k2"), Probing},
			{-100 * time.Hour, pass, Probing}, {probeLimit, pass, HalfOpen}},
		"a clock that is set back doesn't keep it open": {{0, fail("k1"), Open}, {-100 * time.Hour, pass, Open},
			{5 * time.Second, pass, HalfOpen}},
	} {
		t.Run(name, func(t *testing.T) {
			cs, now := Circuits{}, noon
			for n, m := range moves {
				now = now.Add(m.after)
				m.do(cs, now)
				if got := state(cs, a, now); got != m.want {
					t.Fatalf("after move %d it is %s, want %s: %+v", n, got, m.want, cs)
				}
			}
		})
	}
}

func TestWaitsDoubleAreBoundedAndListenToTheProvider(t *testing.T) {
	for _, test := range []struct {
		failures int
		random   float64
		asked    time.Duration
		want     time.Duration
	}{
		{1, 0, 0, 5 * time.Second}, {2, 0, 0, 10 * time.Second}, {7, 0, 0, LongestWait}, {1 << 40, 0, 0, LongestWait},
		{1, 0.5, 0, 5500 * time.Millisecond}, {1, 17, 0, 6 * time.Second}, {1, 0, time.Minute, time.Minute},
		{1, 0, 1000 * time.Hour, time.Hour},
	} {
		if got := waitFor(test.failures, test.random, test.asked); got != test.want {
			t.Errorf(
				"%d failures, jitter %v, asked %s: %s, want %s",
				test.failures,
				test.random,
				test.asked,
				got,
				test.want,
			)
		}
	}
}

// The offers of a request are tried in their order.
func TestAProbeThatWasPassedOverOrNeverReachedIsJudgedByTheOrder(t *testing.T) {
	a, b, c := offer("a", "m"), offer("b", "m"), offer("c", "m")
	cs := Circuits{}
	for _, o := range []fleet.Offer{a, c} {
		cs.RecordShortage(attempt("k0", o), capacity(o.Zone, o.MachineType), noon, noJitter)
	}
	now := noon.Add(time.Minute)
	var scopes []Scope
	for scope := range cs {
		scopes = append(scopes, scope)
	}
	cs.Begin("k1", scopes, now)
	cs.RecordSuccess(attempt("k1", a, b, c), "b", "m", now, noJitter)
	if state(cs, a, now) != Open || state(cs, b, now) != Closed || state(cs, c, now) != HalfOpen {
		t.Errorf(
			"made in b: a %s, b %s, c %s; want open, closed, half_open",
			state(cs, a, now),
			state(cs, b, now),
			state(cs, c, now),
		)
	}
}

func TestRetryHalfOpensTheProvidersOwnCircuits(t *testing.T) {
	a, cs := offer("a", "m"), Circuits{}
	other := attempt("k2", a)
	other.Provider = "other.cloud"
	cs.RecordShortage(attempt("k1", a), capacity("a", "m"), noon, noJitter)
	cs.RecordShortage(other, capacity("a", "m"), noon, noJitter)
	cs.Retry(cloud, noon)
	if got := state(cs, a, noon); got != HalfOpen {
		t.Errorf("it is %s", got)
	}
	if over := cs.Affecting("other.cloud", a); len(over) != 1 || over[0].State(noon) != Open {
		t.Errorf("over the other provider: %+v", over)
	}
}

func TestSuccessOfAnotherLifetimeClosesNothing(t *testing.T) {
	a, cs := offer("a", "m"), Circuits{}
	preemptible := a
	preemptible.Lifetime = fleet.LifetimePreemptible
	cs.RecordShortage(attempt("k1", a), capacity("a", "m"), noon, noJitter)
	cs.RecordSuccess(attempt("k2", preemptible), "a", "m", noon, noJitter)
	if got := state(cs, a, noon); got != Open {
		t.Errorf("it is %s", got)
	}
}

// A zone without one machine type may have room for others.
func TestProbesNarrowerShortageLeavesTheZoneHalfOpen(t *testing.T) {
	a, big, cs := offer("a", "m"), offer("a", "big"), Circuits{}
	cs.RecordShortage(attempt("k1", a, big), capacity("a", ""), noon, noJitter)
	now := noon.Add(time.Minute)
	for _, c := range cs.Affecting(cloud, a) {
		cs.Begin("k2", []Scope{c.Scope}, now)
	}
	cs.RecordShortage(attempt("k2", a), capacity("a", "m"), now, noJitter)
	if of, zone := state(cs, a, now), state(cs, big, now); of != Open || zone != HalfOpen {
		t.Errorf("the machine type is %s and the rest of the zone %s, want open and half_open", of, zone)
	}
}

// TestOneProbeGoesThroughWhateverHappenedBefore drives any order
// of requests, answers and lost answers through the circuits, with the clock set at
// will. An offer is never open for longer than the longest wait, never probed by
// two operations, and once time passes it can be tried again.
func TestOneProbeGoesThroughWhateverHappenedBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offers := []fleet.Offer{offer("a", "m"), offer("a", "big"), offer("b", "m"), offer("b", "big")}
		cs, now := Circuits{}, noon
		live := map[fleet.OperationID]Attempt{}
		open := func(op fleet.OperationID) bool { _, is := live[op]; return is }
		for n := range rapid.IntRange(1, 60).Draw(t, "moves") {
			now = now.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "passes")))
			cs.Advance(now, open)
			op := fleet.OperationID(fmt.Sprintf("k%d", n))
			var may []fleet.Offer
			var probes []Scope
			for _, o := range offers {
				if s := state(cs, o, now); s == Closed || s == HalfOpen {
					may = append(may, o)
					for _, c := range cs.Affecting(cloud, o) {
						probes = append(probes, c.Scope)
					}
				}
			}
			if len(may) > 0 {
				cs.Begin(op, probes, now)
				live[op] = attempt(op, may...)
			}
			for _, id := range slices.Sorted(maps.Keys(live)) {
				a := live[id]
				if !rapid.Bool().Draw(t, "answered") {
					continue
				}
				delete(live, a.Operation)
				zone := rapid.SampledFrom([]string{"", "a", "b", "mars"}).Draw(t, "zone")
				machineType := rapid.SampledFrom([]string{"", "m", "big"}).Draw(t, "type")
				switch rapid.IntRange(0, 2).Draw(t, "outcome") {
				case 0:
					cs.RecordShortage(a, capacity(zone, machineType), now, func() float64 { return 0.9 })
				case 1:
					cs.RecordSuccess(a, zone, machineType, now, noJitter)
				case 2: // it ended, and no one knows how
				}
				break
			}
			for _, c := range cs {
				if c.Until.Sub(now) > LongestWait*6/5 {
					t.Fatalf("%+v is open for %s", c, c.Until.Sub(now))
				}
			}
		}
		now = now.Add(probeLimit + LongestWait*2)
		cs.Advance(now, open)
		for _, o := range offers {
			if s := state(cs, o, now); s != Closed && s != HalfOpen {
				t.Fatalf("%s is %s for ever: %+v", o.Name(), s, cs)
			}
		}
	})
}
