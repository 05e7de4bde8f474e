package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// takenAfter is how long jobs wait before it is believed that what hosts with jobs
// seem to have left isn't there for them: a scheduler gives a job a host with room
// within seconds.
const takenAfter = 10 * time.Second

// showTaken says that jobs of a group wait although hosts with leases seem to have
// room for them. How much a running job takes is the scheduler's to know, and each
// is taken for an even share of its host; where that is too little, the jobs that
// keep waiting are the proof. Without it they would wait for a host that no one
// makes until something ends. Of a group of which a quota blocks some, the wait
// proves nothing.
func showTaken(jobs fleet.QueuedDemand) bool {
	return jobs.OldestWait >= takenAfter && jobs.Admissible == jobs.Count
}

// waitsFor is what the demand of a scheduler concludes from how long a host has taken
// jobs: from one with jobs, and from how many of its runners the scheduler counts.
type waitsFor struct{ taken, sums bool }

// waitsOf looks once at the demand of each scheduler: it may be of many kinds, and its
// fleets be many.
func waitsOf(all map[fleet.SchedulerAddress]snapshot.Demand) map[fleet.SchedulerAddress]waitsFor {
	out := make(map[fleet.SchedulerAddress]waitsFor, len(all))
	for address, d := range all {
		var w waitsFor
		for n := range d.Snapshot.Queued {
			w.taken = w.taken || showTaken(d.Snapshot.Queued[n])
			w.sums = w.sums || d.Snapshot.Queued[n].Unlisted != nil
		}
		out[address] = w
	}
	return out
}

// times are when hosts have taken jobs for so long that more is concluded from them.
func (w waitsFor) times(instances []snapshot.Instance) (times []time.Time) {
	if w == (waitsFor{}) {
		return nil
	}
	for _, i := range instances {
		if i.State != fleet.Healthy {
			continue
		}
		if w.taken && (i.Leases > 0 || w.sums) {
			times = append(times, i.Since.Add(takenAfter))
		}
		if w.sums {
			times = append(times, i.Since.Add(knownAfter))
		}
	}
	return times
}
