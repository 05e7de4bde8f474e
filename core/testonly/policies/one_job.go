package policies

import (
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// OneMachinePerJob launches a host for every job that waits. It goes with runners
// that leave after one job.
func OneMachinePerJob(in snapshot.Snapshot) planner.Output {
	return each(in, func(s situation) planner.FleetPlan {
		return planner.FleetPlan{
			Create:       max(0, s.waiting-s.booting-len(s.idle)),
			CreateReason: reason.Plain("a host for every job that waits"),
		}
	})
}
