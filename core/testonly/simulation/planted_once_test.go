package simulation

import (
	"bytes"
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

// These errors show at a scheduler that lists no runners and admits each once, and
// nowhere else.

// forgetful is a store that doesn't know how often admissions were asked for.
type forgetful struct{ loop.Store }

func (s forgetful) Load(ctx context.Context) (snapshot.State, error) {
	state, err := s.Store.Load(ctx)
	for n := range state.Instances {
		if at := &state.Instances[n].Scheduling; at.Ref == "" && at.Attempts > 1 {
			at.Attempts = 1
		}
	}
	return state, err
}

func TestAdmissionsWithoutEndAreSeen(t *testing.T) {
	caught(t, 43, func() Double {
		return Double{Store: func(s loop.Store, _ func() time.Time) loop.Store { return forgetful{s} }}
	}, "an admission is asked for twice at most")
}

// stoppedIsIdle takes a runner for idle once its scheduler has acknowledged to give it
// no job: it may have one.
func stoppedIsIdle(in snapshot.Snapshot) planner.Output {
	out := planner.Plan(in)
	for _, i := range in.Instances {
		if at := i.Scheduling; i.State == fleet.Draining && at.Cordoned && at.Scheduler.StopsForGood() {
			n := slices.IndexFunc(out.Fleets, func(p planner.FleetPlan) bool { return p.Fleet == i.Fleet })
			out.Fleets[n].Actions = append(
				out.Fleets[n].Actions,
				planner.Action{
					Kind:     planner.Withdraw,
					Instance: i.ID,
					Cause:    lifecycle.IdleProven,
					Reason:   reason.Plain("Its scheduler gives it no new lease."),
				},
			)
		}
	}
	return out
}

func TestAStopThatIsTakenForTheEndOfAJobIsSeen(t *testing.T) {
	caught(t, 3, planning(stoppedIsIdle), "normal scale-down drains first")
}

func TestSomeWorldsHaveASchedulerThatListsNoRunners(t *testing.T) {
	missing := []string{
		"EFFECT observe reviewos.ci",
		"ends: it was stopped",
		"ends: it was idle",
		"ends: it has done its jobs",
	}
	for seed := uint64(0); seed < 200 && len(missing) > 0; seed++ {
		if o := (Options{Seed: seed}); newWorld(o).ci.once != nil {
			log := Run(o).Log
			missing = slices.DeleteFunc(missing, func(what string) bool { return bytes.Contains(log, []byte(what)) })
		}
	}
	if len(missing) > 0 {
		t.Errorf("in no such world of 200 seeds anything says %q", missing)
	}
}
