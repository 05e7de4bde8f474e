package planner

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const agentVersion = "0.1.0"

func sampleFleet(min, max, warm int) fleet.ManagedFleet {
	return fleet.ManagedFleet{
		ID:          "f1",
		Operational: fleet.FleetActive,
		RunnerFleet: fleet.RunnerFleet{
			Address:  "fleet.demo",
			Provider: "local.here",
			Class:    fleet.CapacityClass{Name: "c", Platform: fleet.Platform{OS: "linux", Arch: "x86_64"}, Trust: "standard"},
			Scaling:  fleet.ScalingPolicy{Min: min, Max: max, Warm: warm},
			Timeouts: fleet.DefaultTimeouts(),
		},
	}
}

// instance is the n-th instance of f in a state, made from today's definition.
func instance(f fleet.ManagedFleet, n int, state fleet.CapacityInstanceState) snapshot.Instance {
	return snapshot.Instance{CapacityInstance: fleet.CapacityInstance{
		ID: fleet.CapacityInstanceID(fmt.Sprintf("i%02d", n)), Fleet: f.ID, Provider: f.Provider, State: state,
		Created: now.Add(time.Duration(n) * time.Minute),
		Class:   f.Class.ID(), Image: f.Image.ID(agentVersion), InstanceDigest: f.InstanceDigest(),
	}}
}

func instances(f fleet.ManagedFleet, states ...fleet.CapacityInstanceState) []snapshot.Instance {
	var out []snapshot.Instance
	for n, s := range states {
		out = append(out, instance(f, n, s))
	}
	return out
}

// story is what a plan does, in one line.
func story(p FleetPlan) string {
	var parts []string
	if p.Create > 0 {
		parts = append(parts, fmt.Sprintf("create %d", p.Create))
	}
	for _, a := range p.Actions {
		parts = append(parts, fmt.Sprintf("%s %s (%s)", a.Kind, a.Instance, a.Cause))
	}
	for _, w := range p.Waiting {
		parts = append(parts, string(w.Code()))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func TestPlan(t *testing.T) {
	busy := func(i snapshot.Instance) snapshot.Instance { i.Busy = true; return i }
	silent := func(i snapshot.Instance) snapshot.Instance { i.Silent = true; return i }
	outdated := func(i snapshot.Instance) snapshot.Instance { i.InstanceDigest = "sha256:old"; return i }
	lax := func(i snapshot.Instance) snapshot.Instance {
		i.Admission.Policy.JobIsolation = fleet.JobIsolationNone
		return i
	}
	strict := sampleFleet(2, 4, 0)
	strict.Admission.JobIsolation = fleet.JobIsolationRequired
	with := func(f fleet.ManagedFleet, state fleet.FleetOperationalState) fleet.ManagedFleet {
		f.Operational = state
		return f
	}
	h, p, r := fleet.Healthy, fleet.Provisioning, fleet.Requested
	f := sampleFleet(2, 4, 0)
	tests := []struct {
		name       string
		fleet      fleet.ManagedFleet
		instances  []snapshot.Instance
		unobserved string
		hold       *snapshot.Hold
		want       string
	}{
		{name: "an empty fleet starts min", fleet: f, want: "create 2"},
		{
			name:      "what is on the way counts as capacity",
			fleet:     f,
			instances: instances(f, p, fleet.Enrolling),
			want:      "nothing",
		},
		{name: "warm runners come even without min", fleet: sampleFleet(0, 4, 3), want: "create 3"},
		{name: "warm never passes max", fleet: sampleFleet(0, 2, 3), want: "create 2"},
		{
			name:      "draining rows are footprint and no capacity",
			fleet:     f,
			instances: instances(f, h, fleet.Draining),
			want:      "create 1",
		},
		{name: "rows not proven gone are held against max", fleet: f,
			instances: instances(f, h, fleet.Terminating, fleet.Failed, fleet.Quarantined), want: "limited_by_max"},
		{
			name:      "a silent runner is replaced while max allows",
			fleet:     f,
			instances: []snapshot.Instance{instance(f, 0, h), silent(instance(f, 1, h))},
			want:      "create 1",
		},
		{
			name:      "the unsent leave first",
			fleet:     sampleFleet(1, 4, 0),
			instances: instances(f, h, h, r),
			want:      "cancel i02 (cancelled), drain i01 (scale_down)",
		},
		{
			name:      "the never admitted leave before the admitted",
			fleet:     sampleFleet(1, 4, 0),
			instances: instances(f, h, fleet.Bootstrapping),
			want:      "withdraw i01 (withdrawn)",
		},
		{
			name:      "a request under way is waited for",
			fleet:     sampleFleet(1, 4, 0),
			instances: instances(f, h, p),
			want:      "request_pending",
		},
		{
			name:  "idle runners leave before busy ones, the newest first",
			fleet: sampleFleet(1, 4, 0),
			instances: []snapshot.Instance{
				instance(f, 0, h),
				instance(f, 1, h),
				busy(instance(f, 2, h)),
			},
			want: "drain i01 (scale_down), drain i00 (scale_down)",
		},
		{name: "outdated idle runners leave before up-to-date ones", fleet: sampleFleet(1, 4, 0),
			instances: []snapshot.Instance{outdated(instance(f, 0, h)), instance(f, 1, h)}, want: "drain i00 (scale_down)"},
		{name: "busy runners leave after their job where the file asks for fewer", fleet: sampleFleet(1, 4, 0),
			instances: []snapshot.Instance{busy(instance(f, 0, h)), busy(instance(f, 1, h))}, want: "drain i01 (operator)"},
		{
			name:      "a removed fleet drains whole",
			fleet:     with(f, fleet.FleetDraining),
			instances: instances(f, h, r),
			want:      "cancel i01 (cancelled), drain i00 (operator)",
		},
		{
			name:      "a frozen fleet is left alone",
			fleet:     with(sampleFleet(0, 4, 0), fleet.FleetFrozen),
			instances: instances(f, h, h),
			want:      "fleet_frozen",
		},
		{
			name:      "a scale-up-only fleet never shrinks",
			fleet:     with(sampleFleet(0, 4, 0), fleet.FleetScaleUpOnly),
			instances: instances(f, h, h),
			want:      "nothing",
		},
		{
			name:       "can't see is not zero: nothing is taken away",
			fleet:      sampleFleet(1, 4, 0),
			instances:  instances(f, h, h),
			unobserved: "timeout",
			want:       "unobservable",
		},
		{
			name:       "can't see doesn't stop what was never sent from being cancelled",
			fleet:      sampleFleet(1, 4, 0),
			instances:  instances(f, h, r),
			unobserved: "timeout",
			want:       "cancel i01 (cancelled)",
		},
		{
			name:  "a held fleet starts nothing",
			fleet: f,
			hold:  &snapshot.Hold{Until: now.Add(time.Second), Reason: reason.Plain("back-off")},
			want:  "held_back",
		},
		{
			name:  "a hold that is over is over",
			fleet: f,
			hold:  &snapshot.Hold{Until: now, Reason: reason.Plain("back-off")},
			want:  "create 2",
		},
		{
			name:  "one outdated runner is replaced at a time",
			fleet: f,
			instances: []snapshot.Instance{
				outdated(instance(f, 0, h)),
				outdated(instance(f, 1, h)),
			},
			want: "drain i00 (rollout)",
		},
		{
			name:  "an idle outdated runner goes before a busy one",
			fleet: f,
			instances: []snapshot.Instance{
				busy(outdated(instance(f, 0, h))),
				outdated(instance(f, 1, h)),
			},
			want: "drain i01 (rollout)",
		},
		{
			name:  "nothing is replaced while the fleet is short",
			fleet: sampleFleet(3, 3, 0),
			instances: []snapshot.Instance{
				outdated(instance(f, 0, h)),
				instance(f, 1, h),
				instance(f, 2, fleet.Quarantined),
			},
			want: "limited_by_max",
		},
		{
			name:      "an outdated request that was never sent is cancelled",
			fleet:     f,
			instances: []snapshot.Instance{instance(f, 0, h), outdated(instance(f, 1, r))},
			want:      "cancel i01 (cancelled)",
		},
		{
			name:      "an outdated host that was never admitted is withdrawn",
			fleet:     f,
			instances: []snapshot.Instance{instance(f, 0, h), outdated(instance(f, 1, fleet.Enrolling))},
			want:      "withdraw i01 (withdrawn)",
		},
		{
			name:      "a runner admitted under a laxer policy is replaced",
			fleet:     strict,
			instances: []snapshot.Instance{lax(instance(f, 0, h)), instance(f, 1, h)},
			want:      "drain i00 (rollout)",
		},
		{
			name:  "a replacement waits until the last one has a successor",
			fleet: f,
			instances: []snapshot.Instance{
				outdated(instance(f, 0, h)),
				instance(f, 1, fleet.Enrolling),
				instance(f, 2, fleet.Terminating),
			},
			want: "nothing",
		},
		{
			name:  "nothing is replaced while new ones can't start",
			fleet: f,
			instances: []snapshot.Instance{
				outdated(instance(f, 0, h)),
				instance(f, 1, h),
			},
			hold: &snapshot.Hold{Reason: reason.Plain("the image doesn't exist")},
			want: "held_back",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input{Now: now, Fleets: []fleet.ManagedFleet{tt.fleet}, Instances: tt.instances, AgentVersion: agentVersion}
			if tt.unobserved != "" {
				in.Unobserved = map[fleet.ProviderAddress]reason.Reason{
					"local.here": reason.Of(reason.InspectionFailed{Message: tt.unobserved}),
				}
			}
			if tt.hold != nil {
				in.Holds = map[fleet.RunnerFleetID]snapshot.Hold{"f1": *tt.hold}
			}
			if got := story(planInput(in).Fleets[0]); got != tt.want {
				t.Errorf("plan is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheChainOfBoundsSaysWhyThisMany(t *testing.T) {
	p := planInput(input{Now: now, Fleets: []fleet.ManagedFleet{sampleFleet(2, 3, 5)}}).Fleets[0]
	want := []fleet.Bound{
		{Name: "demand", After: 0, Reason: reason.Of(reason.NoScheduler{})},
		{Name: "warm", After: 5, Reason: reason.Of(reason.KeepWarm{Idle: 5})},
		{Name: "max", After: 3, Reason: reason.Of(reason.LimitedByMax{Max: 3})},
	}
	if diff := cmp.Diff(want, p.Bounds); diff != "" {
		t.Errorf("bounds differ (-want +got):\n%s", diff)
	}
	if p.CreateReason != reason.Of(
		reason.ScaleUp{To: 3, Because: reason.Of(reason.KeepWarm{Idle: 5}), Limit: reason.Of(reason.LimitedByMax{Max: 3})},
	) {
		t.Errorf("reason = %q", p.CreateReason)
	}
}

// world draws any fleet with any instances.
func world(t *rapid.T) input {
	f := sampleFleet(0, 0, 0)
	f.Scaling.Max = rapid.IntRange(0, 8).Draw(t, "max")
	f.Scaling.Min = rapid.IntRange(0, f.Scaling.Max).Draw(t, "min")
	f.Scaling.Warm = rapid.IntRange(0, 10).Draw(t, "warm")
	f.Operational = rapid.SampledFrom(
		[]fleet.FleetOperationalState{fleet.FleetActive, fleet.FleetScaleUpOnly, fleet.FleetFrozen, fleet.FleetDraining}).
		Draw(t, "operational")
	in := input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f}}
	for n := range rapid.IntRange(0, 12).Draw(t, "instances") {
		i := instance(f, n, rapid.SampledFrom(fleet.CapacityInstanceStates()).Draw(t, "state"))
		i.Busy, i.Silent = rapid.Bool().Draw(t, "busy"), rapid.Bool().Draw(t, "silent")
		if rapid.Bool().Draw(t, "outdated") {
			i.InstanceDigest = "sha256:old"
		}
		in.Instances = append(in.Instances, i)
	}
	if rapid.Bool().Draw(t, "unobserved") {
		in.Unobserved = map[fleet.ProviderAddress]reason.Reason{
			"local.here": reason.Of(reason.InspectionFailed{Message: "timeout"}),
		}
	}
	return in
}

func TestPropertiesThatHoldForEveryInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := world(t)
		f, p := in.Fleets[0], planInput(in).Fleets[0]

		if f.Operational == fleet.FleetDraining {
			if p.Desired != 0 {
				t.Fatalf("a removed fleet wants %d", p.Desired)
			}
		} else if p.Desired < f.Scaling.Min || p.Desired > f.Scaling.Max {
			t.Fatalf("desired %d outside min %d and max %d", p.Desired, f.Scaling.Min, f.Scaling.Max)
		}
		if p.Create > 0 && p.Counts.Footprint+p.Create > f.Scaling.Max {
			t.Fatalf("footprint %d + %d new > max %d", p.Counts.Footprint, p.Create, f.Scaling.Max)
		}
		if f.Operational == fleet.FleetFrozen && (p.Create > 0 || len(p.Actions) > 0) {
			t.Fatalf("a frozen fleet acts: %s", story(p))
		}
		byID := map[fleet.CapacityInstanceID]snapshot.Instance{}
		idle := 0
		for _, i := range in.Instances {
			byID[i.ID] = i
			if i.State == fleet.Healthy && !i.Busy && !i.Silent {
				idle++
			}
		}
		for _, a := range p.Actions {
			if a.Kind == Drain && !byID[a.Instance].Busy {
				idle--
			}
		}
		for _, a := range p.Actions {
			i := byID[a.Instance]
			if a.Kind == Drain && i.Busy && a.Cause != lifecycle.ForRollout && (idle > 0 || a.Cause != lifecycle.ForOperator) {
				t.Fatalf("%s chose the busy %s while %d were idle", a.Cause, i.ID, idle)
			}
			if in.Unobserved != nil && i.State != fleet.Requested {
				t.Fatalf("%s %s while its provider can't be seen", a.Kind, i.ID)
			}
			to := map[ActionKind]fleet.CapacityInstanceState{Cancel: fleet.Terminated, Withdraw: fleet.Terminating,
				Drain: fleet.Draining}[a.Kind]
			if !lifecycle.Allowed(i.State, to, a.Cause) {
				t.Fatalf("%s of %s in state %s because of %s isn't in the lifecycle", a.Kind, i.ID, i.State, a.Cause)
			}
		}
	})
}

func TestTheSameInputInAnyOrderGivesTheSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := world(t)
		first, _ := json.Marshal(planInput(in))
		shuffled := in
		shuffled.Instances = slices.Clone(in.Instances)
		seed := rapid.Uint64().Draw(t, "order")
		rand.New(rand.NewPCG(seed, seed)).Shuffle(len(shuffled.Instances), func(a, b int) {
			shuffled.Instances[a], shuffled.Instances[b] = shuffled.Instances[b], shuffled.Instances[a]
		})
		if again, _ := json.Marshal(planInput(shuffled)); string(first) != string(again) {
			t.Fatalf("another order gave another plan:\n%s\n%s", first, again)
		}
	})
}

func BenchmarkPlan(b *testing.B) {
	in := input{Now: now, AgentVersion: agentVersion}
	for n := range 200 {
		f := sampleFleet(50, 60, 0)
		f.ID, f.Address = fleet.RunnerFleetID(fmt.Sprintf("f%03d", n)), fleet.FleetAddress(fmt.Sprintf("fleet.f%03d", n))
		in.Fleets = append(in.Fleets, f)
		for k := range 50 {
			i := instance(f, k, fleet.Healthy)
			i.ID = fleet.CapacityInstanceID(fmt.Sprintf("%s-%02d", f.ID, k))
			in.Instances = append(in.Instances, i)
		}
	}
	s := in.stored()
	b.ReportAllocs()
	for b.Loop() {
		Plan(s)
	}
}
