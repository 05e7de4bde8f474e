package policies

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// situation is what a policy sees of one fleet.
type situation struct {
	fleet.ManagedFleet
	now time.Time
	// waiting is how many jobs wait that go here: to the cheapest fleet that can run
	// them. filling is how many hosts they would fill, each job taken for the part of
	// a host that it takes.
	waiting int
	filling float64
	// booting and busy count hosts; idle are those without a job, the newest first.
	booting, busy int
	idle          []snapshot.Instance
	scaled        time.Time
}

// there is how many hosts there are, or will be.
func (s situation) there() int { return s.booting + s.busy + len(s.idle) }

// each has a policy decide for one fleet after the other, within its max.
func each(in snapshot.Snapshot, decide func(situation) planner.FleetPlan) planner.Output {
	var out planner.Output
	fleets := slices.SortedFunc(slices.Values(in.Fleets), func(a, b fleet.ManagedFleet) int {
		return cmp.Or(cmp.Compare(a.Cost.Hourly.Micros, b.Cost.Hourly.Micros), cmp.Compare(a.Address, b.Address))
	})
	seen, instances := make([]situation, len(fleets)), in.ObservedInstances()
	for n, f := range fleets {
		seen[n] = situation{ManagedFleet: f, now: in.Now, scaled: in.Scaled[f.ID]}
		seen[n].look(instances)
	}
	for _, d := range in.Demand {
		for _, jobs := range d.Snapshot.Queued {
			n := slices.IndexFunc(fleets, func(f fleet.ManagedFleet) bool { return planner.CanRun(in.Policy, jobs, f).IsZero() })
			if n >= 0 {
				seen[n].waiting += jobs.Admissible
				seen[n].filling += float64(jobs.Admissible) * part(jobs.Resources, fleets[n].Class.Resources)
			}
		}
	}
	for _, s := range seen {
		p := decide(s)
		p.Fleet, p.Address = s.ID, s.Address
		p.Create = min(p.Create, max(0, s.Scaling.Max-s.there()))
		out.Fleets = append(out.Fleets, p)
	}
	return out
}

// look counts the fleet's hosts.
func (s *situation) look(instances []snapshot.Instance) {
	for n := range slices.Backward(instances) {
		switch i := &instances[n]; {
		case i.Fleet != s.ID || !lifecycle.Capacity(i.State, false):
		case i.State != fleet.Healthy:
			s.booting++
		case i.Busy:
			s.busy++
		default:
			s.idle = append(s.idle, *i)
		}
	}
}

// part is how much of a host a job takes, of what it takes most of.
func part(job, host fleet.ResourceCapacity) float64 {
	return max(
		1/float64(max(1, host.Slots)),
		float64(job.CPUMilli)/float64(max(1, host.CPUMilli)),
		float64(job.MemoryBytes)/float64(max(1, host.MemoryBytes)),
	)
}

// drain is the action that takes an idle host away.
func drain(i snapshot.Instance, why string) planner.Action {
	return planner.Action{Kind: planner.Drain, Instance: i.ID, Cause: lifecycle.ForScaleDown, Reason: reason.Plain(why)}
}

// sooner is the earlier of two times, of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
