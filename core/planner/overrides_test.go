package planner

import (
	"encoding/json"
	"fmt"
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

var ada = fleet.Attribution{By: "ada", At: now.Add(-time.Hour), Reason: "incident 12"}

func number(n int) *int { return &n }

func override(f fleet.ManagedFleet, least, most *int, until time.Time) fleet.Overrides {
	return fleet.Overrides{
		ScaleOverrides: []fleet.FleetScaleOverride{{Fleet: f.ID, Min: least, Max: most, Until: until, Attribution: ada}},
	}
}

func pins(until time.Time, ids ...fleet.CapacityInstanceID) (s fleet.Overrides) {
	for _, id := range ids {
		s.Pins = append(s.Pins, fleet.RunnerPin{Instance: id, Until: until, Attribution: ada})
	}
	return s
}

// chain is the desired number with the rules that made it.
func chain(p FleetPlan) string {
	var parts []string
	for _, b := range p.Bounds {
		parts = append(parts, fmt.Sprintf("%s %d", b.Name, b.After))
	}
	return strings.Join(parts, " → ")
}

func TestAnOverrideIsABoundOfItsOwnUntilItExpires(t *testing.T) {
	f := sampleFleet(2, 4, 0)
	later := now.Add(2 * time.Hour)
	for _, test := range []struct {
		name        string
		least, most *int
		until       time.Time
		want        string
	}{
		{"a min of its own", number(3), nil, later, "demand 0 → override 3"},
		{"a max of its own", nil, number(1), later, "demand 0 → min 2 → override 1"},
		{"beyond the file's max", number(7), number(9), later, "demand 0 → override 7"},
		{"a min over the file's max: max goes first", number(7), nil, later, "demand 0 → override 7 → max 4"},
		{"zero", number(0), number(0), later, "demand 0"},
		{"expired in this moment", number(3), nil, now, "demand 0 → min 2"},
	} {
		p := planInput(
			input{Now: now, Fleets: []fleet.ManagedFleet{f},
				Overrides: override(f, test.least, test.most, test.until)}).Fleets[0]
		if got := chain(p); got != test.want {
			t.Errorf("%s: %s; want %s", test.name, got, test.want)
		}
	}
	p := planInput(
		input{Now: now, Fleets: []fleet.ManagedFleet{f}, Overrides: override(f, number(3), nil, later)}).Fleets[0]
	if text := p.Bounds[1].Reason; text != reason.Of(reason.RaisedToMin{Min: 3, Override: until(ada, later)}) {
		t.Error(text)
	}
	if len(p.Overrides) != 1 || p.Overrides[0].Commands()[0].Line != "forgeyard-fleet scale demo --clear" ||
		!p.Next.Equal(later) {
		t.Errorf("it says %q and is looked at again at %s", p.Overrides, p.Next)
	}
}

func TestAPinnedRunnerIsNoChoice(t *testing.T) {
	h, later := fleet.Healthy, now.Add(time.Hour)
	outdated := func(i snapshot.Instance) snapshot.Instance { i.InstanceDigest = "sha256:old"; return i }
	idle := func(f fleet.ManagedFleet, n int) snapshot.Instance {
		i := instance(f, n, h)
		i.Created, i.IdleSince = now.Add(-2*time.Hour), now.Add(-time.Hour)
		return i
	}
	removed := sampleFleet(2, 4, 0)
	removed.Operational = fleet.FleetDraining
	two, one, follows := sampleFleet(2, 4, 0), sampleFleet(1, 4, 0), burst(0, 4, 0)
	aged := burst(2, 4, 0)
	aged.Runner.MaxAge = time.Hour
	for _, test := range []struct {
		name      string
		fleet     fleet.ManagedFleet
		instances []snapshot.Instance
		pins      fleet.Overrides
		want      string
		reached   bool
	}{
		{"the other one leaves", one, instances(one, h, h), pins(later, "i01"), "drain i00 (scale_down)", false},
		{"both stay", one, instances(one, h, h), pins(later, "i00", "i01"), "pinned", true},
		{"an expired pin is none", one, instances(one, h, h), pins(now, "i01"), "drain i01 (scale_down)", false},
		{"a rollout passes it over", two, []snapshot.Instance{outdated(instance(two, 0, h)), outdated(instance(two, 1, h))},
			pins(later, "i00"), "drain i01 (rollout), pinned", false},
		{"a rollout of it alone waits", two, []snapshot.Instance{outdated(instance(two, 0, h)), instance(two, 1, h)},
			pins(later, "i00"), "pinned", true},
		{"what boots from an older definition isn't withdrawn", two,
			[]snapshot.Instance{outdated(instance(two, 0, fleet.Bootstrapping)), instance(two, 1, h)}, pins(later, "i00"),
			"pinned", true},
		{"idle for long", follows, []snapshot.Instance{idle(follows, 0), idle(follows, 1)}, pins(later, "i00"),
			"drain i01 (scale_down), pinned", true},
		{"older than max_age", aged, []snapshot.Instance{idle(aged, 0), idle(aged, 1)}, pins(later, "i00"),
			"create 1, drain i01 (max_age)", true},
		{"a removed fleet drains it, too", removed, instances(removed, h, h), pins(later, "i00"),
			"drain i01 (operator), drain i00 (operator)", false},
	} {
		in := input{
			Now:          now,
			AgentVersion: agentVersion,
			Fleets:       []fleet.ManagedFleet{test.fleet},
			Instances:    test.instances,
			Demand:       demand(),
			Overrides:    test.pins,
		}
		p := planInput(in).Fleets[0]
		if story(p) != test.want || p.Reached() != test.reached {
			t.Errorf("%s: %s, reached %t; want %s, %t", test.name, story(p), p.Reached(), test.want, test.reached)
		}
	}
}

func TestAHaltedFleetIsDoneAndSaysWhoHaltedIt(t *testing.T) {
	f := burst(2, 4, 0)
	f.Image.Digest = "sha256:bad"
	for _, test := range []struct {
		name      string
		overrides fleet.Overrides
		code      reason.Code
		says      reason.Detail
	}{
		{"frozen", fleet.Overrides{Freezes: []fleet.Freeze{{Fleet: f.ID, Attribution: ada}}}, "fleet_frozen",
			reason.FreezeInForce{Fleet: "demo", Decided: decided(ada)}},
		{"its provider is frozen", fleet.Overrides{Freezes: []fleet.Freeze{{Provider: f.Provider, Attribution: ada}}},
			"fleet_frozen", reason.FreezeInForce{Fleet: "demo", Provider: "local.here", Decided: decided(ada)}},
		{"frozen goes before scale-up only",
			fleet.Overrides{
				Freezes: []fleet.Freeze{{Fleet: f.ID, ScaleUpOnly: true, Attribution: ada},
					{Provider: f.Provider, Attribution: ada}}}, "fleet_frozen",
			reason.FreezeInForce{Fleet: "demo", Provider: "local.here", Decided: decided(ada)}},
		{"quarantined", fleet.Overrides{Quarantines: []fleet.Quarantine{{Fleet: f.ID, Attribution: ada}}},
			"fleet_quarantined", reason.QuarantineInForce{Fleet: "demo", Decided: decided(ada)}},
		{"its image is quarantined",
			fleet.Overrides{Quarantines: []fleet.Quarantine{{Image: "sha256:bad", Attribution: ada}}}, "fleet_quarantined",
			reason.QuarantineInForce{Fleet: "demo", Image: "sha256:bad", Decided: decided(ada)}},
	} {
		out := planInput(
			input{
				Now:          now,
				AgentVersion: agentVersion,
				Fleets:       []fleet.ManagedFleet{f},
				Demand:       demand(waiting(9)),
				Overrides:    test.overrides,
			},
		)
		p := out.Fleets[0]
		if p.Create > 0 || len(p.Actions) > 0 || !p.Reached() {
			t.Errorf("%s: %s, reached %t", test.name, story(p), p.Reached())
		}
		if !slices.ContainsFunc(p.Waiting, func(w reason.Reason) bool { return w.Code() == test.code }) ||
			len(p.Overrides) != 1 ||
			p.Overrides[0] != reason.Of(test.says) {
			t.Errorf("%s: waits %v, says %q", test.name, p.Waiting, p.Overrides)
		}
		if len(out.Unplaced) != 1 || !reason.Is[reason.NoCapacityNow](out.Unplaced[0].Reason) {
			t.Errorf("%s: unplaced %v", test.name, out.Unplaced)
		}
	}
}

// A person who looks for the fleet's freeze finds none.
func TestAFrozenProviderIsNotToldAsAFrozenFleet(t *testing.T) {
	f := burst(2, 4, 0)
	for name, test := range map[string]struct {
		freeze fleet.Freeze
		want   reason.Reason
	}{
		"the fleet": {fleet.Freeze{Fleet: f.ID, Attribution: ada}, reason.Of(reason.FleetFrozen{})},
		"its provider": {fleet.Freeze{Provider: f.Provider, Attribution: ada},
			reason.Of(reason.FleetFrozen{Provider: "local.here"})},
	} {
		out := planInput(
			input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f}, Demand: demand(waiting(9)),
				Overrides: fleet.Overrides{Freezes: []fleet.Freeze{test.freeze}}},
		)
		if w := out.Fleets[0].Waiting; len(w) != 1 || w[0] != test.want {
			t.Errorf("%s: it waits %v", name, w)
		}
		if got := out.Unplaced[0].Nearest[0].Reason; got != test.want {
			t.Errorf("%s: the work waits since %q", name, got)
		}
	}
}

func TestTheWorkOfAFrozenProviderGoesToAFleetElsewhere(t *testing.T) {
	cheap, other := burst(0, 4, 0), burst(0, 4, 0)
	other.ID, other.Address, other.Provider = "f2", "fleet.other", "cloud.away"
	other.Cost.Hourly = fleet.Money{Micros: 1, Currency: "USD"}
	in := input{Now: now, Fleets: []fleet.ManagedFleet{cheap, other}, Demand: demand(waiting(4))}
	if out := planInput(in); out.Fleets[0].Create != 2 || out.Fleets[1].Create != 0 {
		t.Fatalf("before: %s; %s", story(out.Fleets[0]), story(out.Fleets[1]))
	}
	in.Overrides.Freezes = []fleet.Freeze{{Provider: cheap.Provider, Attribution: ada}}
	if out := planInput(in); out.Fleets[0].Create != 0 || out.Fleets[1].Create != 2 || len(out.Unplaced) != 0 {
		t.Errorf("frozen: %s; %s; unplaced %v", story(out.Fleets[0]), story(out.Fleets[1]), out.Unplaced)
	}
}

// drawOverrides adds what people decided to an input.
func drawOverrides(t *rapid.T, in input) input {
	until := func() time.Time {
		return now.Add(time.Duration(rapid.IntRange(-10, 60).Draw(t, "until")) * time.Minute)
	}
	limit := func() *int {
		if rapid.Bool().Draw(t, "set") {
			return number(rapid.IntRange(0, 9).Draw(t, "limit"))
		}
		return nil
	}
	s := &in.Overrides
	for _, f := range in.Fleets {
		if rapid.Bool().Draw(t, "override") {
			o := fleet.FleetScaleOverride{Fleet: f.ID, Min: limit(), Max: limit(), Until: until(), Attribution: ada}
			if o.Min != nil || o.Max != nil {
				s.ScaleOverrides = append(s.ScaleOverrides, o)
			}
		}
		switch rapid.IntRange(0, 5).Draw(t, "halt") {
		case 0:
			s.Freezes = append(
				s.Freezes,
				fleet.Freeze{Fleet: f.ID, ScaleUpOnly: rapid.Bool().Draw(t, "up only"), Attribution: ada},
			)
		case 1:
			s.Quarantines = append(s.Quarantines, fleet.Quarantine{Fleet: f.ID, Attribution: ada})
		}
		for range rapid.IntRange(0, 2).Draw(t, "reservations") {
			begin := now.Add(time.Duration(rapid.IntRange(-60, 60).Draw(t, "start")) * time.Minute)
			s.Reservations = append(s.Reservations, fleet.CapacityReservation{
				ID: fleet.CapacityReservationID(
					fmt.Sprintf("r%02d", len(s.Reservations)),
				),
				Class:    f.Class,
				Quantity: rapid.IntRange(1, 6).Draw(t, "quantity"),
				Start:    begin,
				End:      begin.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "long")) * time.Minute),
				LeadTime: time.Duration(rapid.IntRange(0, 30).Draw(t, "lead")) * time.Minute,
			})
		}
	}
	for _, i := range in.Instances {
		if rapid.IntRange(0, 3).Draw(t, "pin") == 0 {
			s.Pins = append(s.Pins, fleet.RunnerPin{Instance: i.ID, Until: until(), Attribution: ada})
		}
	}
	return in
}

func TestWhateverPeopleDecideTheBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDemand(t)
		if rapid.Bool().Draw(t, "without a scheduler") {
			in = world(t)
		}
		in = drawOverrides(t, in)
		out := planInput(in)
		other := in
		other.Instances = rapid.Permutation(in.Instances).Draw(t, "instances in another order")
		other.Overrides.Pins = rapid.Permutation(in.Overrides.Pins).Draw(t, "pins in another order")
		other.Overrides.Reservations = rapid.Permutation(in.Overrides.Reservations).Draw(t, "reservations in another order")
		first, _ := json.Marshal(out)
		if again, _ := json.Marshal(planInput(other)); string(first) != string(again) {
			t.Fatalf("another order gave another plan:\n%s\n%s", first, again)
		}
		for _, p := range out.Fleets {
			f := in.Fleets[slices.IndexFunc(in.Fleets, func(f fleet.ManagedFleet) bool { return f.ID == p.Fleet })]
			holdsForOne(t, in, f, p)
		}
	})
}

func holdsForOne(t *rapid.T, in input, f fleet.ManagedFleet, p FleetPlan) {
	f = in.Overrides.Apply(f)
	least, most := limitsAt(&planning{Snapshot: in.snapshot()}, f, now)
	unobserved := f.Scheduler != "" && !in.Demand[f.Scheduler].Unobserved.IsZero()
	if f.Operational != fleet.FleetDraining && (p.Desired > most || p.Desired < min(least, most)) && !unobserved {
		t.Fatalf("%s: desired %d outside %d to %d: %s", p.Address, p.Desired, least, most, chain(p))
	}
	if p.Create > 0 && p.Counts.Footprint+p.Create > most {
		t.Fatalf("%s: %d instances and %d more are over %d", p.Address, p.Counts.Footprint, p.Create, most)
	}
	if f.Operational == fleet.FleetFrozen && (p.Create > 0 || len(p.Actions) > 0) {
		t.Fatalf("the frozen %s acts: %s", p.Address, story(p))
	}
	if _, barred := in.Overrides.FleetQuarantine(f); barred && p.Create > 0 {
		t.Fatalf("the quarantined %s makes more", p.Address)
	}
	for _, a := range p.Actions {
		i := in.Instances[slices.IndexFunc(in.Instances, func(i snapshot.Instance) bool { return i.ID == a.Instance })]
		if _, pinned := in.Overrides.Pin(i.ID, now); pinned && a.Kind != Reactivate && f.Operational != fleet.FleetDraining {
			t.Fatalf("%s %s, which is pinned: %s", a.Kind, i.ID, a.Reason)
		}
		if a.Kind == Drain &&
			(f.Scheduler != "" && i.Leases > 0 ||
				i.Busy && a.Cause != lifecycle.ForOperator && a.Cause != lifecycle.ForRollout) {
			t.Fatalf("%s drains the busy %s because of %s", p.Address, i.ID, a.Cause)
		}
		if a.Kind != Reactivate && f.Operational == fleet.FleetScaleUpOnly {
			t.Fatalf("%s may only grow: %s", p.Address, story(p))
		}
	}
	if reserved, _ := reservedFor(
		in.planning(),
		f,
	); f.Operational == fleet.FleetActive &&
		p.Desired < min(reserved, most) {
		t.Fatalf("%s: %d are reserved and %d wanted: %s", p.Address, reserved, p.Desired, chain(p))
	}
}

// An apply may come after the override.
func TestAnOverrideOfBeforeAFleetWasProtectedChangesItsSizeNoMore(t *testing.T) {
	later := now.Add(time.Hour)
	for name, change := range map[string]func(*fleet.ManagedFleet){
		"protected": func(f *fleet.ManagedFleet) { f.Protected = true },
		"joined":    func(f *fleet.ManagedFleet) { f.Joined = true },
	} {
		f := sampleFleet(2, 4, 0)
		change(&f)
		p := planInput(
			input{Now: now, Fleets: []fleet.ManagedFleet{f}, Overrides: override(f, number(7), number(9), later)}).Fleets[0]
		if p.Desired > 2 || p.Create > 2 || len(p.Overrides) > 0 {
			t.Errorf("%s: %s, %s, %v", name, chain(p), story(p), p.Overrides)
		}
	}
}

func TestADrainIsNotTakenBackForAHostThatGoesAnyway(t *testing.T) {
	f := burst(0, 4, 0)
	draining := instance(f, 0, fleet.Draining)
	draining.Drain, draining.Cause = fleet.Cordoned, string(lifecycle.ForScaleDown)
	left, announced := draining, draining
	left.Left = true
	announced.Interruption = &fleet.Interruption{Notice: fleet.Notice{ID: "m", Kind: fleet.NoticeMaintenance}}
	for name, test := range map[string]struct {
		instance snapshot.Instance
		want     ActionKind
	}{
		"one that stays": {draining, Reactivate}, "its agent has left": {left, ""},
		"its provider announced work": {announced, ""},
	} {
		p := planInput(
			input{Now: now, Fleets: []fleet.ManagedFleet{f}, Instances: []snapshot.Instance{test.instance},
				Demand: demand(waiting(1))}).Fleets[0]
		got := ActionKind("")
		if len(p.Actions) > 0 {
			got = p.Actions[0].Kind
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q: %s", name, got, test.want, story(p))
		}
	}
}
