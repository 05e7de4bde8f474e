package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// takenAfter is how long jobs wait before it is believed that what hosts with jobs
// seem to have left isn't there for them: a scheduler gives a job a host with room
// within seconds.
const takenAfter = 10 * time.Second

// showTaken says that jobs of a group wait although hosts with leases seem to have
// room for them. How much a running job takes is the scheduler's to know, and each
// is taken for an even share of its host; where that is too little, the jobs that
// go on waiting are the proof. Without it they would wait for a host that nobody
// makes until something ends. Of a group of which a quota blocks some, the wait
// proves nothing.
func showTaken(jobs fleet.UnmetDemand) bool {
	return jobs.OldestWait >= takenAfter && jobs.Admissible == jobs.Count
}

// takenTimes are when hosts have taken jobs for so long that more is concluded from
// what waits beside them, or from how many of them the scheduler counts.
func takenTimes(in Input, f fleet.ManagedFleet, instances []Instance) (times []time.Time) {
	taken, sums := false, false
	queued := in.Demand[f.Scheduler].Snapshot.Queued
	for n := range queued {
		taken = taken || showTaken(queued[n])
		sums = sums || queued[n].Unlisted != nil
	}
	for _, i := range instances {
		if i.State != fleet.Healthy {
			continue
		}
		if taken && (i.Leases > 0 || sums) {
			times = append(times, i.Since.Add(takenAfter))
		}
		if sums {
			times = append(times, i.Since.Add(knownAfter))
		}
	}
	return times
}
