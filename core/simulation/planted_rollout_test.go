package simulation

import (
	"maps"
	"slices"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

func TestARolloutThatReplacesEverythingAtOnceIsSeen(t *testing.T) {
	caught(t, 2, planning(func(in planner.Input) planner.Output {
		out := planner.Plan(in)
		for n, p := range out.Fleets {
			for _, d := range p.Drifted {
				at := slices.IndexFunc(in.Instances, func(i planner.Instance) bool { return i.ID == d.Instance })
				acts := slices.ContainsFunc(p.Actions, func(a planner.Action) bool { return a.Instance == d.Instance })
				if !acts && in.Instances[at].State == fleet.Healthy {
					out.Fleets[n].Actions = append(out.Fleets[n].Actions, planner.Action{Kind: planner.Drain, Instance: d.Instance, Cause: lifecycle.ForRollout, Reason: "It is outdated."})
				}
			}
		}
		return out
	}), "a rollout stays in its budget")
}

// A halt that is forgotten makes the broken image again and again.
func TestAHaltThatHoldsNothingIsSeen(t *testing.T) {
	caught(t, 2, planning(func(in planner.Input) planner.Output {
		before := in.Rollouts
		in.Rollouts = maps.Clone(before)
		for id, r := range before {
			if r.Halted != nil {
				r.Halted, r.Passed = nil, in.Now
				in.Rollouts[id] = r
			}
		}
		out := planner.Plan(in)
		for n, p := range out.Fleets {
			if before[p.Fleet].Halted != nil {
				out.Fleets[n].Remember = nil
			}
		}
		return out
	}), "a halted rollout makes nothing new", "a rollout stays in its budget", "scale-up and scale-down don't thrash")
}
