package simulation

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// eavesdropper is a store that notes what agents said last.
type eavesdropper struct {
	loop.Store
	busy map[fleet.CapacityInstanceID]bool
}

func (s eavesdropper) Load(ctx context.Context) (snapshot.State, error) {
	state, err := s.Store.Load(ctx)
	for _, r := range state.Runners {
		s.busy[r.Instance] = r.Report.Phase == fleet.PhaseRunning
	}
	return state, err
}

// flagTrusted is a manager that terminates a draining runner once its agent's busy
// flag is down. The flag is as old as the last heartbeat, and a job that was leased
// since, or that an agent keeps to itself, isn't in it.
func flagTrusted() Double {
	busy := map[fleet.CapacityInstanceID]bool{}
	return Double{
		Store: func(s loop.Store, _ func() time.Time) loop.Store { return eavesdropper{s, busy} },
		Plan: func(in snapshot.Snapshot) planner.Output {
			out := planner.Plan(in)
			for _, i := range in.Instances {
				if i.State == fleet.Draining && !busy[i.ID] {
					n := slices.IndexFunc(out.Fleets, func(p planner.FleetPlan) bool { return p.Fleet == i.Fleet })
					out.Fleets[n].Actions = append(
						out.Fleets[n].Actions,
						planner.Action{
							Kind:     planner.Withdraw,
							Instance: i.ID,
							Cause:    lifecycle.IdleProven,
							Reason:   reason.Plain("Its agent says that it is idle."),
						},
					)
				}
			}
			return out
		},
	}
}

func TestABusyFlagThatIsTrustedIsSeen(t *testing.T) {
	caught(t, 211, flagTrusted, "normal scale-down drains first")
}
