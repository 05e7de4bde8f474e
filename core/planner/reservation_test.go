package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// reserve is a reservation of n hosts of f's class from a time on, for an hour.
func reserve(id string, f fleet.ManagedFleet, n int, start time.Time) fleet.CapacityReservation {
	return fleet.CapacityReservation{
		ID:       fleet.CapacityReservationID(id),
		Class:    f.Class,
		Quantity: n,
		Start:    start,
		End:      start.Add(time.Hour),
	}
}

func plannedWith(f fleet.ManagedFleet, instances []snapshot.Instance, all ...fleet.CapacityReservation) FleetPlan {
	return planInput(
		input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f}, Instances: instances, Demand: demand(),
			Overrides: fleet.Overrides{Reservations: all}}).Fleets[0]
}

func TestAReservationIsThereFromItsLeadTimeToItsEnd(t *testing.T) {
	f := burst(0, 9, 0)
	lead := reserve("r1", f, 3, now.Add(10*time.Minute))
	lead.LeadTime = 10 * time.Minute
	early := lead
	early.LeadTime = 9 * time.Minute
	for _, test := range []struct {
		name string
		of   fleet.CapacityReservation
		want int
	}{
		{"it began", reserve("r1", f, 3, now), 3},
		{"within its lead time", lead, 3},
		{"before its lead time", early, 0},
		{"in its last moment", reserve("r1", f, 3, now.Add(-time.Hour+1)), 3},
		{"ended", reserve("r1", f, 3, now.Add(-time.Hour)), 0},
	} {
		if p := plannedWith(f, nil, test.of); p.Desired != test.want || p.Create != test.want {
			t.Errorf("%s: desired %d, create %d; want %d", test.name, p.Desired, p.Create, test.want)
		}
	}
	if p := plannedWith(f, nil, early); !p.Next.Equal(now.Add(time.Minute)) {
		t.Errorf("it is looked at again at %s", p.Next)
	}
}

func TestReservationsThatOverlapAddUpAndDemandUsesThem(t *testing.T) {
	f := burst(1, 9, 1)
	in := input{
		Now:    now,
		Fleets: []fleet.ManagedFleet{f},
		Demand: demand(waiting(4)), // two hosts
		Overrides: fleet.Overrides{
			Reservations: []fleet.CapacityReservation{reserve("r1", f, 3, now), reserve("r2", f, 2, now)},
		},
	}
	p := planInput(in).Fleets[0]
	if got := chain(p); got != "demand 2 → reservation 5 → warm 6" {
		t.Error(got)
	}
	if text := p.Bounds[1].Reason.Text(); text != "5 instances reserved (3 for r1, 2 for r2)" {
		t.Error(text)
	}
}

func TestAReservationsIdleHostsDoNotLeaveBeforeItsEnd(t *testing.T) {
	f := burst(0, 9, 0)
	var there []snapshot.Instance
	for n := range 3 {
		i := instance(f, n, fleet.Healthy)
		i.Created, i.IdleSince = now.Add(-2*time.Hour), now.Add(-time.Hour)
		there = append(there, i)
	}
	if p := plannedWith(f, there, reserve("r1", f, 2, now)); story(p) != "drain i00 (scale_down)" {
		t.Errorf("while it lasts: %s", story(p))
	}
	if p := plannedWith(f, there, reserve("r1", f, 2, now.Add(-time.Hour))); len(p.Actions) != 3 {
		t.Errorf("after its end: %s", story(p))
	}
}

func TestAReservationThatCannotBeKeptIsToldAndNotCut(t *testing.T) {
	f := burst(0, 3, 0)
	other := burst(0, 3, 0)
	other.Class.Trust = "signing"
	joined, scoped, protected := burst(0, 9, 0), burst(0, 9, 0), burst(0, 9, 0)
	joined.Joined, scoped.Scope.Tenant, protected.Protected = true, "acme", true
	dedicated := reserve("r1", f, 2, now)
	dedicated.Dedicated, dedicated.Scope.Tenant = true, "acme"
	named := reserve("r1", f, 2, now)
	named.Fleet = "fleet.none"
	for _, test := range []struct {
		name    string
		fleet   fleet.ManagedFleet
		of      []fleet.CapacityReservation
		missing int
		says    string
	}{
		{"over max", f, []fleet.CapacityReservation{reserve("r1", f, 5, now)}, 2,
			"r1: 2 of 5 missing at 2026-11-29 12:00 UTC; fleet.demo has room for 3"},
		{"two that overlap, later: the one made last is short", f,
			[]fleet.CapacityReservation{reserve("r2", f, 2, now.Add(30*time.Minute)),
				reserve("r1", f, 2, now.Add(time.Minute))}, 1, "r2: 1 of 2 missing at 2026-11-29 12:30 UTC"},
		{"two that follow each other", f,
			[]fleet.CapacityReservation{reserve("r1", f, 3, now), reserve("r2", f, 3, now.Add(time.Hour))}, 0, ""},
		{"no such class", other, []fleet.CapacityReservation{reserve("r1", f, 1, now)}, 1, "no fleet has the capacity class"},
		{"no such fleet", f, []fleet.CapacityReservation{named}, 2, "there is no fleet.none"},
		{"hosts that a person joins", joined, []fleet.CapacityReservation{reserve("r1", f, 1, now)}, 1, "joined by hand"},
		{"a protected fleet", protected, []fleet.CapacityReservation{reserve("r1", f, 1, now)}, 1,
			"keeps the size in its file"},
		{"a fleet of others", scoped, []fleet.CapacityReservation{reserve("r1", f, 1, now)}, 1, `is for tenant "acme" only`},
		{"dedicated in a shared fleet", f, []fleet.CapacityReservation{dedicated}, 2,
			`dedicated capacity needs a fleet with the scope tenant "acme"`},
		{"dedicated in its own fleet", scoped, []fleet.CapacityReservation{dedicated}, 0, ""},
	} {
		out := planInput(
			input{Now: now, Fleets: []fleet.ManagedFleet{test.fleet}, Overrides: fleet.Overrides{Reservations: test.of}},
		)
		missing, said := 0, ""
		for _, r := range out.Reservations {
			missing, said = missing+r.Missing, said+r.Reason.Text()
		}
		if missing != test.missing || !strings.Contains(said, test.says) || (said == "") != (test.says == "") {
			t.Errorf("%s: %d missing, %q", test.name, missing, said)
		}
	}
}

// It said "others reserve there, too, or it is too little", and left it to the reader.
func TestUnmetReservationNamesItsCause(t *testing.T) {
	f := burst(0, 4, 0)
	first, second := reserve("r1", f, 3, now), reserve("r2", f, 2, now)
	short := func(name string, missing, quantity int, tooSmall bool, others ...reason.ReservedFor) reason.Reason {
		return reason.Of(reason.ReservationShort{
			Reservation: name,
			Missing:     missing,
			Quantity:    quantity,
			At:          reason.At(now),
			Fleets: reason.ListOf(
				reason.FleetRoom{Fleet: "fleet.demo", Room: 4},
			),
			Others:   reason.ListOf(others...),
			TooSmall: tooSmall,
		})
	}
	for name, test := range map[string]struct {
		of   []fleet.CapacityReservation
		want reason.Reason
	}{
		"no one else reserves": {[]fleet.CapacityReservation{reserve("r1", f, 6, now)}, short("r1", 2, 6, true)},
		"others have reserved": {[]fleet.CapacityReservation{first, second},
			short("r2", 1, 2, false, reason.ReservedFor{Reservation: "r1", Instances: 3})},
		"both": {[]fleet.CapacityReservation{first, reserve("r2", f, 6, now)},
			short("r2", 5, 6, true, reason.ReservedFor{Reservation: "r1", Instances: 3})},
	} {
		out := planInput(input{Now: now, Fleets: []fleet.ManagedFleet{f}, Overrides: fleet.Overrides{Reservations: test.of}})
		if got := out.Reservations[len(test.of)-1].Reason; got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, test.want)
		}
	}
}

func TestTimesOfAnyZoneAreTheSameMoment(t *testing.T) {
	// Clocks in Berlin go forward at 2:00 on that day.
	parse := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	f := burst(0, 9, 0)
	r := fleet.CapacityReservation{
		ID:       "r1",
		Class:    f.Class,
		Quantity: 1,
		Start:    parse("2027-03-28T01:30:00+01:00"),
		End:      parse("2027-03-28T03:30:00+02:00"),
	}
	if long := r.End.Sub(r.Start); long != time.Hour {
		t.Fatalf("it lasts %s", long)
	}
	for at, want := range map[string]int{"2027-03-28T00:29:59Z": 0, "2027-03-28T00:30:00Z": 1, "2027-03-28T01:29:59Z": 1,
		"2027-03-28T01:30:00Z": 0} {
		p := planInput(
			input{Now: parse(at), Fleets: []fleet.ManagedFleet{f}, Demand: demand(),
				Overrides: fleet.Overrides{Reservations: []fleet.CapacityReservation{r}}}).Fleets[0]
		if p.Desired != want {
			t.Errorf("at %s desired %d, want %d", at, p.Desired, want)
		}
	}
}

// bestByTrying is the most that the wants can get, first one, then the next, as
// found by trying everything: what each gets where the earlier ones get the most
// that is possible.
func bestByTrying(wants []want, room []int) []int {
	best := make([]int, len(wants))
	var try func(n int, room []int, got []int)
	try = func(n int, room []int, got []int) {
		if n == len(wants) {
			if slices.Compare(got, best) > 0 {
				copy(best, got)
			}
			return
		}
		var give func(k, left int, room []int)
		give = func(k, left int, room []int) {
			if k == len(wants[n].fleets) || left == 0 {
				try(n+1, room, append(slices.Clone(got), wants[n].quantity-left))
				return
			}
			for q := range min(left, room[wants[n].fleets[k]]) + 1 {
				next := slices.Clone(room)
				next[wants[n].fleets[k]] -= q
				give(k+1, left-q, next)
			}
		}
		give(0, wants[n].quantity, room)
	}
	try(0, room, nil)
	return best
}

func TestReservationsGetWhatTryingEverythingWouldGiveThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 3).Draw(t, "room")
		var wants []want
		for range rapid.IntRange(0, 4).Draw(t, "wants") {
			w := want{quantity: rapid.IntRange(1, 4).Draw(t, "quantity")}
			for f := range room {
				if rapid.Bool().Draw(t, "may") {
					w.fleets = append(w.fleets, f)
				}
			}
			wants = append(wants, w)
		}
		given, missing := allot(wants, room)
		best := bestByTrying(wants, room)
		inFleet := make([]int, len(room))
		for n, w := range wants {
			got := 0
			for f, quantity := range given[n] {
				if quantity < 0 || quantity > 0 && !slices.Contains(w.fleets, f) {
					t.Fatalf("want %d gets %d of fleet %d: %v", n, quantity, f, given)
				}
				got, inFleet[f] = got+quantity, inFleet[f]+quantity
			}
			if got+missing[n] != w.quantity || got != best[n] {
				t.Fatalf("want %d gets %d and misses %d of %d; trying everything gives %v", n, got, missing[n], w.quantity, best)
			}
		}
		for f, n := range inFleet {
			if n > room[f] {
				t.Fatalf("fleet %d has %d and room for %d", f, n, room[f])
			}
		}
	})
}

func TestOverlapsAddUpMinuteByMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := burst(0, rapid.IntRange(0, 12).Draw(t, "max"), 0)
		var all []fleet.CapacityReservation
		for n := range rapid.IntRange(0, 6).Draw(t, "reservations") {
			r := reserve(
				fmt.Sprintf("r%d", n),
				f,
				rapid.IntRange(1, 5).Draw(t, "quantity"),
				now.Add(time.Duration(rapid.IntRange(-60, 60).Draw(t, "start"))*time.Minute),
			)
			r.End = r.Start.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "long")) * time.Minute)
			r.LeadTime = time.Duration(rapid.IntRange(0, 20).Draw(t, "lead")) * time.Minute
			all = append(all, r)
		}
		out := planInput(
			input{Now: now, Fleets: []fleet.ManagedFleet{f}, Demand: demand(), Overrides: fleet.Overrides{Reservations: all}},
		)
		// The model: every minute, anyone who asks then gets it in the order of ids.
		short := map[string]int{}
		for minute := range 121 {
			at := now.Add(time.Duration(minute) * time.Minute)
			left, total := f.Scaling.Max, 0
			for _, r := range all {
				if at.Before(r.Start.Add(-r.LeadTime)) || !at.Before(r.End) {
					continue
				}
				got := min(left, r.Quantity)
				left, total = left-got, total+got
				short[r.Address()] = max(short[r.Address()], r.Quantity-got)
			}
			if minute == 0 && out.Fleets[0].Desired != total {
				t.Fatalf("desired %d, the model says %d", out.Fleets[0].Desired, total)
			}
		}
		for _, r := range out.Reservations {
			if r.Missing != short[r.Address()] {
				t.Fatalf("%s misses %d, the model says %d", r.Address(), r.Missing, short[r.Address()])
			}
		}
	})
}
