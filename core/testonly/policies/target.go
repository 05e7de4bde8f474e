package policies

import (
	"math"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// TargetUtilisation keeps so many hosts that a target share of them has a job, the
// jobs that wait being packed onto hosts by their size. It grows at once, and
// shrinks by idle hosts when it hasn't changed its size for the cool-down.
func TargetUtilisation(target float64, coolDown time.Duration) func(snapshot.Snapshot) planner.Output {
	return func(in snapshot.Snapshot) planner.Output {
		return each(in, func(s situation) planner.FleetPlan {
			want := int(math.Ceil((float64(s.busy) + s.filling) / target))
			p := planner.FleetPlan{Create: max(0, want-s.there()), CreateReason: reason.Plain("below the target")}
			excess := min(s.there()-want, len(s.idle))
			if ends := s.scaled.Add(coolDown); excess > 0 && ends.After(s.now) {
				p.Next = ends
				return p
			}
			for n := range excess {
				p.Actions = append(p.Actions, drain(s.idle[n], "above the target"))
			}
			return p
		})
	}
}
