package replay

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Fleets are those of a definition as the planner takes them: all of them active,
// each under its address.
func Fleets(d fleet.Definition) []fleet.ManagedFleet {
	var out []fleet.ManagedFleet
	for _, f := range d.Fleets {
		out = append(
			out,
			fleet.ManagedFleet{ID: fleet.RunnerFleetID(f.Address), RunnerFleet: f, Operational: fleet.FleetActive, Serial: 1},
		)
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

// snapshot is what the policy is shown. Everything can be seen here, and no offers
// are known: a fleet's price is its file's.
func (r *replay) snapshot() snapshot.Snapshot {
	s := snapshot.Snapshot{Now: at(r.now), AgentVersion: agentVersion}
	r.shown = r.shown[:0] // large, and no policy keeps it
	s.Usage = make(map[fleet.CapacityInstanceID]snapshot.Usage, len(r.hosts))
	for _, h := range r.hosts {
		r.shown = append(r.shown, h.CapacityInstance)
		s.Usage[h.ID] = h.Usage
	}
	s.State = snapshot.State{
		Fleets:       r.settings.Fleets,
		Reservations: r.settings.Reservations,
		Policy:       r.settings.Allowed,
		Commitments:  r.commitments,
		Instances:    r.shown,
	}
	s.Demand, s.Scaled = r.demand(), map[fleet.RunnerFleetID]time.Time{}
	for _, f := range r.fleets {
		if !f.scaled.IsZero() {
			s.Scaled[f.ID] = f.scaled
		}
	}
	return s
}

// demand is the jobs that wait, as their schedulers would say it.
func (r *replay) demand() map[fleet.SchedulerAddress]snapshot.Demand {
	out := map[fleet.SchedulerAddress]snapshot.Demand{}
	for _, f := range r.fleets {
		if f.Scheduler != "" {
			out[f.Scheduler] = snapshot.Demand{Uncordons: !f.Scheduler.StopsForGood()}
		}
	}
	if r.waiting == 0 {
		return out
	}
	for _, k := range r.kinds {
		if k.count() == 0 {
			continue
		}
		group := k.QueuedDemand
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
func (r *replay) nearest(k *kindState) planner.UnplacedDemand {
	group := k.QueuedDemand
	group.Count, group.Admissible = k.unrunnable, k.unrunnable
	s := snapshot.Snapshot{
		Now:          at(r.now),
		AgentVersion: agentVersion,
		State:        snapshot.State{Fleets: r.settings.Fleets, Policy: r.settings.Allowed},
	}
	s.Demand = map[fleet.SchedulerAddress]snapshot.Demand{
		k.Scheduler: {Snapshot: fleet.CapacityDemandSnapshot{Queued: []fleet.QueuedDemand{group}}},
	}
	return planner.Plan(s).Unplaced[0] // there is one, since the planner found that nothing can
}
