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
