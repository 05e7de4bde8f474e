package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// spreading are fleets of one class at the providers a.x, b.x and so on, each dearer
// than the one before.
func spreading(required bool, most ...int) (fleets []fleet.ManagedFleet) {
	for n, max := range most {
		f := burst(0, max, 0)
		letter := string(rune('a' + n))
		f.ID, f.Address, f.Provider = fleet.RunnerFleetID(
			"f"+letter,
		), fleet.FleetAddress(
			"fleet."+letter,
		), fleet.ProviderAddress(
			letter+".x",
		)
		f.Placement = fleet.PlacementPolicy{Spread: fleet.SpreadProvider, Required: required}
		f.Cost.Hourly = usd(int64(1+n) * 100_000)
		fleets = append(fleets, f)
	}
	return fleets
}

// bootingAt are n instances of a fleet that boot.
func bootingAt(f fleet.ManagedFleet, n int) (all []snapshot.Instance) {
	for k := range n {
		i := instance(f, k, fleet.Bootstrapping)
		i.ID = fleet.CapacityInstanceID(fmt.Sprintf("%s-%02d", f.ID, k))
		all = append(all, i)
	}
	return all
}

func stories(out Output) string {
	var all []string
	for _, p := range out.Fleets {
		all = append(all, story(p))
	}
	return strings.Join(all, "; ")
}

func TestHostsAreMadeAtTheProviderThatHasTheFewestOfTheClass(t *testing.T) {
	soft, hard := spreading(false, 9, 9), spreading(true, 9, 9)
	frozen := spreading(true, 9, 9)
	frozen[1].Operational = fleet.FleetFrozen
	floor := spreading(true, 9, 9)
	floor[0].Scaling.Min = 5
	two := func(n int) fleet.QueuedDemand { d := waiting(n); d.Resources.CPUMilli = 2000; return d }
	onlyA := two(8)
	onlyA.Requirement.Regions = []string{"here"}
	placed := spreading(false, 9, 9)
	placed[0].Placement.Regions = []string{"here"}
	mixed := spreading(false, 9, 9)
	mixed[1].Placement.Spread = fleet.SpreadNone
	for _, test := range []struct {
		name   string
		fleets []fleet.ManagedFleet
		there  []snapshot.Instance
		jobs   fleet.QueuedDemand
		want   string
	}{
		{"in turn", soft, nil, two(8), "create 2; create 2"},
		{"the odd one where it is cheaper", soft, nil, two(6), "create 2; create 1"},
		{"what is there counts, whatever its state", soft,
			instances(soft[0], fleet.Failed, fleet.Quarantined, fleet.Terminating), two(8), "create 1; create 3"},
		{"a preference goes where there is room", spreading(false, 9, 1), nil, two(8), "create 3; create 1"},
		{"a rule doesn't", spreading(true, 9, 1), nil, two(8), "create 2, spread_limit; create 1"},
		{"a rule with three providers", spreading(true, 9, 9, 1), nil, two(16), "create 2, spread_limit; create 2; create 1"},
		{"a rule lets a single step be taken at once", hard, nil, two(16), "create 4; create 4"},
		{"what a person froze is done without", frozen, nil, two(8), "create 4; fleet_frozen"},
		{"a rule holds for min, too", floor, nil, two(0), "create 1, spread_limit; nothing"},
		{"one provider alone has nothing to spread over", spreading(true, 9), nil, two(8), "create 4"},
		{"jobs go only where they may", placed, nil, onlyA, "create 4; nothing"},
		{"a fleet that doesn't spread isn't part of it", mixed, nil, two(8), "create 4; nothing"},
	} {
		out := planInput(
			input{Now: now, AgentVersion: agentVersion, Fleets: test.fleets, Instances: test.there, Demand: demand(test.jobs)},
		)
		if got := stories(out); got != test.want {
			t.Errorf("%s: %s; want %s", test.name, got, test.want)
		}
	}
}

func TestASpreadOverProvidersSaysInASentenceWhereItBinds(t *testing.T) {
	var got []string
	for _, fleets := range [][]fleet.ManagedFleet{spreading(false, 9, 9), spreading(true, 9, 1)} {
		out := planInput(
			input{
				Now:          now,
				AgentVersion: agentVersion,
				Fleets:       fleets,
				Instances:    bootingAt(fleets[0], 1),
				Demand:       demand(waiting(16)),
			},
		)
		for _, p := range out.Fleets {
			for _, b := range p.Bounds {
				if b.Name == "spread" {
					got = append(got, b.Reason.Text())
				}
			}
			for _, w := range p.Waiting {
				got = append(got, w.Text())
			}
		}
		for _, u := range out.Unplaced {
			got = append(got, u.Reason.Text())
		}
	}
	want := []string{
		`4 fewer instances here to spread class "c" over providers: a.x has 1, b.x has 0`,
		`4 more instances here to spread class "c" over providers: a.x has 1, b.x has 0`,
		`5 instances missing: no provider may have more than its even share of class "c": a.x has 1, b.x has 0`,
		`10 queued jobs without capacity: fleet.a can't grow now, no provider may have more than its even share of class "c": a.x has 1, b.x has 0`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWhateverIsWantedARequiredSpreadStaysEven draws fleets at several providers
// with demand, min and limits of every kind.
func TestWhateverIsWantedARequiredSpreadStaysEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDemand(t)
		for n := range in.Fleets {
			in.Fleets[n].Provider = rapid.SampledFrom([]fleet.ProviderAddress{"a.x", "b.x", "c.x"}).Draw(t, "provider")
			in.Fleets[n].Placement = fleet.PlacementPolicy{Spread: fleet.SpreadProvider, Required: true}
		}
		out := planInput(in)
		if again := planInput(shuffled(t, in)); !cmp.Equal(out, again) {
			t.Fatalf("the same input in another order gives another plan:\n%s", cmp.Diff(out, again))
		}
		has, made, total := map[fleet.ProviderAddress]int{}, map[fleet.ProviderAddress]int{}, 0
		for _, f := range in.Fleets {
			if f.Operational != fleet.FleetFrozen {
				has[f.Provider] += 0
			}
		}
		for _, p := range out.Fleets {
			f := in.Fleets[slices.IndexFunc(in.Fleets, func(f fleet.ManagedFleet) bool { return f.ID == p.Fleet })]
			if _, counts := has[f.Provider]; counts {
				has[f.Provider] += p.Counts.Footprint + p.Create
				made[f.Provider] += p.Create
				total += p.Counts.Footprint + p.Create
			}
		}
		for provider, n := range has {
			if len(has) > 1 && made[provider] > 0 && n > evenShare(total, len(has)) {
				t.Fatalf(
					"%s has %d of %d at %d providers, and makes %d: %s",
					provider,
					n,
					total,
					len(has),
					made[provider],
					stories(out),
				)
			}
		}
	})
}

// A fleet that takes back what is outdated starts nothing in the same plan. Anyone who
// counted on it would be beyond his even share until it does, and for ever where it
// can't.
func TestEvenShareIgnoresFleetThatCancelsRequests(t *testing.T) {
	fleets := spreading(true, 9, 9)
	asked := instance(fleets[0], 0, fleet.Requested)
	asked.InstanceDigest = "sha256:older"
	out := planInput(
		input{
			Now:          now,
			AgentVersion: agentVersion,
			Fleets:       fleets,
			Instances:    []snapshot.Instance{asked},
			Demand:       demand(waiting(16)),
		},
	)
	if got := stories(out); got != "cancel "+string(asked.ID)+" (cancelled); create 2, spread_limit" {
		t.Error(got)
	}
}

// Each of them was given all of what the provider could have beyond what is wanted.
func TestTheFleetsOfOneProviderShareWhatItMayHave(t *testing.T) {
	fleets := spreading(true, 1, 9, 9, 9)
	for n := range fleets {
		fleets[n].Scaling.Min = 1
		if n > 0 {
			fleets[n].Provider = "b.x"
		}
	}
	out := planInput(
		input{
			Now:          now,
			AgentVersion: agentVersion,
			Fleets:       fleets,
			Instances:    instances(fleets[0], fleet.Healthy),
			Demand:       demand(waiting(0)),
		},
	)
	if got := stories(out); got != "nothing; create 1; create 1; spread_limit" {
		t.Error(got)
	}
}
