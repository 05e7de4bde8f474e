package simulation

import (
	"maps"
	"slices"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func TestARolloutThatReplacesEverythingAtOnceIsSeen(t *testing.T) {
	caught(t, 8, planning(func(in snapshot.Snapshot) planner.Output {
		out := planner.Plan(in)
		for n, p := range out.Fleets {
			for _, d := range p.Drifted {
				at := slices.IndexFunc(in.Instances, func(i fleet.CapacityInstance) bool { return i.ID == d.Instance })
				acts := slices.ContainsFunc(p.Actions, func(a planner.Action) bool { return a.Instance == d.Instance })
				if !acts && in.Instances[at].State == fleet.Healthy {
					out.Fleets[n].Actions = append(
						out.Fleets[n].Actions,
						planner.Action{
							Kind:     planner.Drain,
							Instance: d.Instance,
							Cause:    lifecycle.ForRollout,
							Reason:   reason.Plain("It is outdated."),
						},
					)
				}
			}
		}
		return out
	}), "a rollout stays in its budget")
}

func TestAHaltThatIsForgottenIsSeen(t *testing.T) {
	caught(t, 175, planning(func(in snapshot.Snapshot) planner.Output {
		halted := map[fleet.RunnerFleetID]bool{}
		in.Rollouts = maps.Clone(in.Rollouts)
		for id, known := range in.Rollouts {
			halted[id] = known.Halted != nil
			known.Halted = nil
			in.Rollouts[id] = known
		}
		out := planner.Plan(in)
		for n, p := range out.Fleets {
			if halted[p.Fleet] {
				out.Fleets[n].Remember = nil
			}
		}
		return out
	}), "a halted rollout makes nothing new")
}

func TestAHaltedRolloutIsNotOverWhenTheLastOneOfBeforeLeaves(t *testing.T) {
	for _, seed := range []uint64{127, 131, 485} {
		if r := Run(Options{Seed: seed}); r.Failure != nil {
			t.Errorf("seed %d: %s: %s", seed, r.Failure.Invariant, r.Failure.Detail)
		}
	}
}
