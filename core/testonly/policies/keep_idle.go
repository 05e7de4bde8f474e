package policies

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// KeepIdle launches a host for every job that waits beyond those that boot, and
// keeps each for a time after its last job.
func KeepIdle(kept time.Duration) func(snapshot.Snapshot) planner.Output {
	return func(in snapshot.Snapshot) planner.Output {
		return each(in, func(s situation) planner.FleetPlan {
			p := planner.FleetPlan{
				Create:       max(0, s.waiting-s.booting),
				CreateReason: reason.Plain("a host for every job that waits"),
			}
			for _, i := range s.idle {
				if ends := i.IdleSince.Add(kept); ends.After(s.now) {
					p.Next = sooner(p.Next, ends)
				} else if s.waiting == 0 {
					p.Actions = append(p.Actions, drain(i, "idle for its time"))
				}
			}
			return p
		})
	}
}
