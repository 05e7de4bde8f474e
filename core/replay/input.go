package replay

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// Fleets are those of a definition as the planner takes them: all of them active,
// each under its address.
func Fleets(d fleet.Definition) []fleet.ManagedFleet {
	var out []fleet.ManagedFleet
	for _, f := range d.Fleets {
		out = append(out, fleet.ManagedFleet{ID: fleet.RunnerFleetID(f.Address), RunnerFleet: f, Operational: fleet.FleetActive, Serial: 1})
	}
	return out
}

// Schedulers are those of a definition that a fleet follows.
func Schedulers(d fleet.Definition) []fleet.Scheduler {
	var out []fleet.Scheduler
	for _, s := range d.Schedulers {
		for _, f := range d.Fleets {
			if f.Scheduler == s.Address {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// input is what the policy is shown. Everything can be seen here, and no offers
// are known: a fleet's price is its file's.
func (r *replay) input() planner.Input {
	in := planner.Input{
		Now: at(r.now), AgentVersion: agentVersion, Fleets: r.settings.Fleets, Reservations: r.settings.Reservations,
		Demand: r.demand(), Scaled: map[fleet.RunnerFleetID]time.Time{}, ImprovementSteps: planner.DefaultImprovementSteps,
	}
	r.shown = r.shown[:0] // large, and no policy keeps it
	for _, h := range r.hosts {
		r.shown = append(r.shown, h.Instance)
	}
	in.Instances = r.shown
	for _, f := range r.fleets {
		if !f.scaled.IsZero() {
			in.Scaled[f.ID] = f.scaled
		}
	}
	return in
}

// demand is the jobs that wait, as their schedulers would say it.
func (r *replay) demand() map[fleet.SchedulerAddress]planner.Demand {
	out := map[fleet.SchedulerAddress]planner.Demand{}
	for _, f := range r.fleets {
		if f.Scheduler != "" {
			out[f.Scheduler] = planner.Demand{Uncordons: !f.Scheduler.StopsForGood()}
		}
	}
	if r.waiting == 0 {
		return out
	}
	for _, k := range r.kinds {
		if k.count() == 0 {
			continue
		}
		group := k.UnmetDemand
		group.Count, group.Admissible = k.count(), k.count()
		group.OldestWait = time.Duration(r.now - r.trace.Jobs[k.waiting[k.first]].Arrival)
		d := out[k.Scheduler]
		d.Snapshot.ObservedAt = at(r.now)
		d.Snapshot.Queued = append(d.Snapshot.Queued, group)
		out[k.Scheduler] = d
	}
	return out
}

// nearest explains why no fleet can run jobs of a kind, in the planner's words.
func (r *replay) nearest(k *kindState) planner.Unmet {
	group := k.UnmetDemand
	group.Count, group.Admissible = k.unrunnable, k.unrunnable
	in := planner.Input{
		Now: at(r.now), AgentVersion: agentVersion, Fleets: r.settings.Fleets,
		Demand: map[fleet.SchedulerAddress]planner.Demand{k.Scheduler: {Snapshot: fleet.CapacityDemandSnapshot{Queued: []fleet.UnmetDemand{group}}}},
	}
	return planner.Plan(in).Unmet[0] // there is one, since the planner judged that nothing can
}
