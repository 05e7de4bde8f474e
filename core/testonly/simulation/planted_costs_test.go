package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func TestAGuardrailThatForgetsWhatIsOnItsWayOutIsSeen(t *testing.T) {
	caught(t, 59, planning(func(in snapshot.Snapshot) planner.Output {
		in.Instances = slices.Clone(in.Instances)
		for n, i := range in.Instances {
			if i.State == fleet.Terminating || i.State == fleet.Failed || i.State == fleet.Draining {
				in.Instances[n].Cost.Hourly = fleet.Money{Micros: 1, Currency: "USD"}
			}
		}
		return planner.Plan(in)
	}), "no start passes a cost guardrail")
}

func TestAScaleDownInsideAPaidMinimumIsSeen(t *testing.T) {
	caught(t, 1, planning(func(in snapshot.Snapshot) planner.Output {
		in.Instances = slices.Clone(in.Instances)
		for n := range in.Instances {
			in.Instances[n].Cost.Minimum = min(in.Instances[n].Cost.Minimum, time.Second)
		}
		return planner.Plan(in)
	}), "scale-down takes nothing that is paid for")
}
