package planner

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// spotAndStable are a cheap preemptible fleet and a dear stable one of one class.
func spotAndStable(spotMax, stableMax int) []fleet.ManagedFleet {
	spot, stable := burst(0, spotMax, 0), burst(0, stableMax, 0)
	spot.ID, spot.Address, spot.Lifetime, spot.Cost.Hourly = "f1", "fleet.a-spot", fleet.LifetimePreemptible, usd(10_000)
	stable.ID, stable.Address, stable.Lifetime, stable.Cost.Hourly = "f2", "fleet.b-stable", fleet.LifetimeStable, usd(
		900_000,
	)
	return []fleet.ManagedFleet{spot, stable}
}

func TestSpotPreemptibleCapacityIsUsedOnlyWherePolicyOrJobAllows(t *testing.T) {
	allowed := waiting(4)
	allowed.PreemptibleAllowed = true
	for _, test := range []struct {
		name string
		jobs fleet.QueuedDemand
		want string
	}{
		{"jobs that allow it go where it is cheaper", allowed, "create 2; nothing"},
		{"others never do, at whatever price", waiting(4), "nothing; create 2"},
	} {
		if got := stories(
			planInput(input{Now: now, Fleets: spotAndStable(9, 9), Demand: demand(test.jobs)}),
		); got != test.want {
			t.Errorf("%s: %s; want %s", test.name, got, test.want)
		}
	}
	out := planInput(input{Now: now, Fleets: spotAndStable(9, 1), Demand: demand(waiting(4))})
	if out.Fleets[0].Create != 0 || out.Fleets[1].Create != 1 || len(out.Unplaced) != 1 || out.Unplaced[0].Count != 2 {
		t.Errorf("where the stable ones are used up: %s, unplaced %+v", stories(out), out.Unplaced)
	}
	refused := fleet.InstallationPolicy{
		Lifetimes: []fleet.LifetimeClass{fleet.LifetimeStable},
	}.Refusals(
		spotAndStable(9, 9)[0].RunnerFleet,
	)
	if len(refused) != 1 || refused[0].About != "lifetime_class" {
		t.Errorf("by a policy of stable hosts: %+v", refused)
	}
}

func TestCriticalJobsPreferStableHostsWhateverTheyCost(t *testing.T) {
	jobs := func(n, priority int) fleet.QueuedDemand {
		d := waiting(n)
		d.PreemptibleAllowed, d.Priority = true, priority
		return d
	}
	strict := waiting(2)
	for _, test := range []struct {
		name   string
		fleets []fleet.ManagedFleet
		jobs   []fleet.QueuedDemand
		want   string
	}{
		{"a priority above 0 is critical", spotAndStable(9, 9), []fleet.QueuedDemand{jobs(4, 1)}, "nothing; create 2"},
		{"one of 0 or less isn't", spotAndStable(9, 9), []fleet.QueuedDemand{jobs(4, 0)}, "create 2; nothing"},
		{"it is a preference: what has no stable room goes elsewhere", spotAndStable(9, 1), []fleet.QueuedDemand{jobs(4, 1)},
			"create 1; create 1"},
		{"and takes no one's place who may go nowhere else", spotAndStable(9, 1), []fleet.QueuedDemand{jobs(2, 1), strict},
			"create 1; create 1"},
	} {
		out := planInput(input{Now: now, Fleets: test.fleets, Demand: demand(test.jobs...)})
		if got := stories(out); got != test.want || len(out.Unplaced) > 0 {
			t.Errorf("%s: %s, unplaced %+v; want %s", test.name, got, out.Unplaced, test.want)
		}
	}
}

// A preference moves hosts and never decides who gets one.
func TestWhatIsPreferredLeavesNobodyUncoveredWhoWouldBeCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDemand(t)
		spread := rapid.Bool().Draw(t, "spread")
		for n := range in.Fleets {
			f := &in.Fleets[n]
			f.Lifetime = rapid.SampledFrom([]fleet.LifetimeClass{fleet.LifetimeStable, fleet.LifetimePreemptible}).
				Draw(t, "lifetime")
			f.Cost.Hourly = usd(int64(rapid.IntRange(1, 9).Draw(t, "price")) * 100_000)
			f.Provider = rapid.SampledFrom([]fleet.ProviderAddress{"a.x", "b.x"}).Draw(t, "provider")
		}
		d := in.Demand[ci]
		for n := range d.Snapshot.Queued {
			d.Snapshot.Queued[n].PreemptibleAllowed = rapid.Bool().Draw(t, "preemptible allowed")
		}
		plain := in
		plain.Fleets = append([]fleet.ManagedFleet(nil), in.Fleets...)
		for n := range in.Fleets {
			if spread {
				in.Fleets[n].Placement.Spread = fleet.SpreadProvider
			}
		}
		unplaced := func(out Output) (jobs int) {
			for _, u := range out.Unplaced {
				jobs += u.Count
			}
			return jobs
		}
		with, without := planInput(in), planInput(plain)
		if unplaced(with) != unplaced(without) {
			t.Fatalf("%d jobs are uncovered with the spread and %d without", unplaced(with), unplaced(without))
		}
		for n, p := range with.Fleets {
			if most := in.Fleets[n].Scaling.Max; p.Create > 0 && p.Counts.Footprint+p.Create > most {
				t.Fatalf("%s: %d and %d more are over %d", p.Address, p.Counts.Footprint, p.Create, most)
			}
		}
	})
}
