package plans

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// constant is a store that shows one state, whatever is written to it.
type constant snapshot.State

func (c constant) Load(context.Context) (snapshot.State, error) { return snapshot.State(c), nil }
func (constant) Commit(context.Context, store.Change) error     { return nil }
func (constant) Recall(context.Context, []fleet.OperationID, []fleet.CapacityInstanceID) ([]store.Recalled, error) {
	return nil, nil
}

// admitting lets every host in.
type admitting struct{}

func (admitting) Issue(fleet.OperationID) ([]byte, string, error) {
	return []byte("nonce"), "hash", nil
}
func (admitting) Bootstrap(fleet.ProviderAddress, string, fleet.Platform) (fleet.BootstrapIntent, error) {
	return fleet.BootstrapIntent{}, nil
}

// A plan preview said that a runner whose agent had ended would be taken back, while
// the loop made another one in its place.
func TestPlanStatusAndLoopDecideTheSame(t *testing.T) {
	const ci = fleet.SchedulerAddress("forgeyard.ci")
	d := file("one")
	f := &d.Fleets[0]
	f.Scheduler, f.Class.Resources, f.Scaling = ci, fleet.ResourceCapacity{
		CPUMilli: 4000,
		Slots:    2,
	}, fleet.ScalingPolicy{
		Max:         3,
		ScaleToZero: true,
	}
	a := &applied{t: t}
	a.apply(d)
	managed := a.state.Fleets[0]
	a.state.Instances = []fleet.CapacityInstance{{
		ID: "i", Fleet: managed.ID, Provider: f.Provider, Key: "k", Runner: "r", State: fleet.Draining, Drain: fleet.Cordoned,
		Cause: string(lifecycle.ForScaleDown), Since: now.Add(-time.Minute), Created: now.Add(-time.Hour),
		Class: f.Class.ID(), Image: f.Image.ID("0.1.0"), InstanceDigest: managed.InstanceDigest(),
		Scheduling: fleet.Scheduling{Scheduler: ci, Ref: "r", Cordoned: true},
	}}
	a.state.Operations = []fleet.Operation{
		{ID: "k", Kind: fleet.ProvisionOperation, Instance: "i", Fleet: managed.ID, State: fleet.OperationSucceeded},
	}
	a.state.Runners = []fleet.Runner{
		{ID: "r", Instance: "i", Enrolled: now.Add(-time.Hour), LastBeat: now, Left: now, LeftReason: "it was stopped"},
	}

	keys, err := ownership.NewKeyring(make([]byte, ownership.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	ids := 0
	steps := loop.New(constant(a.state), admitting{}, loop.Settings{
		Installation: "demo", AgentVersion: "0.1.0", Started: now.Add(-time.Hour),
		Ownership: func() ownership.Keyring { return keys },
		NewID:     func(time.Time) (string, error) { ids++; return fmt.Sprintf("new-%08d", ids), nil },
	})
	res, err := steps.Step(
		t.Context(),
		now,
		[]loop.Event{loop.Observed{Scheduler: ci, Lists: true, Uncordons: true, Snapshot: fleet.CapacityDemandSnapshot{
			ObservedAt: now, Running: []fleet.RunningCapacityUsage{{Runner: "r", Leases: 1, Cordoned: true}},
			Queued: []fleet.QueuedDemand{{Resources: fleet.ResourceCapacity{CPUMilli: 1000}, Count: 1, Admissible: 1}},
		}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := res.Plan.Fleets[0]
	if want.Create != 1 || len(want.Actions) > 0 {
		t.Fatalf("the loop creates %d and does %+v", want.Create, want.Actions)
	}

	a.observed = res.Observations
	if diff := cmp.Diff(decisionsOf(want), decisionsOf(a.plan(d).Preview.Fleets[0])); diff != "" {
		t.Errorf("plan (-loop +plan):\n%s", diff)
	}
	seen := view.Fleets(
		snapshot.Snapshot{Now: now, AgentVersion: "0.1.0", State: a.state, Observations: res.Observations})[0]
	if diff := cmp.Diff(
		[]any{want.Desired, want.Counts, want.Bounds, want.Waiting},
		[]any{seen.Desired, seen.Counts, seen.Bounds, seen.Waiting},
	); diff != "" {
		t.Errorf("status and explain (-loop +view):\n%s", diff)
	}
}

// decisionsOf is what a plan does with a fleet, and what it says of it.
func decisionsOf(p planner.FleetPlan) []any {
	return []any{p.Desired, p.Counts, p.Bounds, p.Waiting, p.Create, p.CreateReason, p.Actions}
}
