package planner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

const ci = fleet.SchedulerAddress("forgeyard.ci")

// burst is a fleet that follows the demand of ci with hosts of 4 cpu, 16 GiB and
// 2 slots.
func burst(min, max, warm int) fleet.ManagedFleet {
	f := sampleFleet(min, max, warm)
	f.Scheduler = ci
	f.Class.Resources = fleet.ResourceCapacity{CPUMilli: 4000, MemoryBytes: 16 << 30, Slots: 2}
	f.Scaling.ScaleDown = fleet.ScaleDownPolicy{IdleGrace: 10 * time.Minute, Cooldown: 5 * time.Minute}
	return f
}

// waiting is n jobs of 1 cpu.
func waiting(n int) fleet.QueuedDemand {
	return fleet.QueuedDemand{
		Requirement: fleet.SchedulingRequirementSet{OS: "linux", Arch: "x86_64", Trust: "standard"},
		Resources:   fleet.ResourceCapacity{CPUMilli: 1000}, Count: n, Admissible: n,
	}
}

func demand(groups ...fleet.QueuedDemand) map[fleet.SchedulerAddress]snapshot.Demand {
	return map[fleet.SchedulerAddress]snapshot.Demand{
		ci: {Snapshot: fleet.CapacityDemandSnapshot{Queued: groups}, Uncordons: true},
	}
}

func TestDemandMakesAndTakesCapacity(t *testing.T) {
	idle := func(f fleet.ManagedFleet, n int, since time.Duration) snapshot.Instance {
		i := instance(f, n, fleet.Healthy)
		i.Created, i.IdleSince = now.Add(-time.Hour), now.Add(-since)
		return i
	}
	leased := func(f fleet.ManagedFleet, n, leases int) snapshot.Instance {
		i := instance(f, n, fleet.Healthy)
		i.Created, i.Leases, i.Busy = now.Add(-time.Hour), leases, true
		return i
	}
	cordoned := func(f fleet.ManagedFleet, n int, cause lifecycle.Cause, step fleet.DrainStep) snapshot.Instance {
		i := instance(f, n, fleet.Draining)
		i.Cause, i.Drain = string(cause), step
		return i
	}
	stepped := burst(0, 10, 0)
	stepped.Scaling.ScaleUp = fleet.ScaleUpPolicy{MaxStep: 3, Window: time.Minute}
	gentle := burst(0, 10, 0)
	gentle.Scaling.ScaleDown.MaxStep = 1
	protected := burst(1, 10, 0)
	protected.Protected = true
	aged := burst(0, 4, 0)
	aged.Runner.MaxAge = 30 * time.Minute
	elsewhere := func(f fleet.ManagedFleet, n int) snapshot.Instance {
		i := leased(f, n, 0)
		i.Busy, i.Scheduling = false, fleet.Scheduling{Scheduler: "forgeyard.before", Ref: "r"}
		return i
	}
	f := burst(0, 4, 0)
	for _, test := range []struct {
		name      string
		fleet     fleet.ManagedFleet
		instances []snapshot.Instance
		demand    map[fleet.SchedulerAddress]snapshot.Demand
		scaled    time.Time
		desired   int
		want      string
	}{
		{"two jobs share a host of two slots", f, nil, demand(waiting(2)), time.Time{}, 1, "create 1"},
		{"the third needs another", f, nil, demand(waiting(3)), time.Time{}, 2, "create 2"},
		{"a job that fills a host shares it with no one", f, nil,
			demand(fleet.QueuedDemand{Resources: fleet.ResourceCapacity{CPUMilli: 4000}, Count: 2, Admissible: 2}), time.Time{},
			2, "create 2"},
		{"what quota blocks asks for nothing", f, nil, demand(fleet.QueuedDemand{Count: 9, Admissible: 0}), time.Time{}, 0,
			"nothing"},
		{"max binds", f, nil, demand(waiting(100)), time.Time{}, 4, "create 4"},
		{"booting hosts are counted", f, instances(f, fleet.Provisioning, fleet.Bootstrapping), demand(waiting(4)),
			time.Time{}, 2, "nothing"},
		{"free slots of running hosts are counted", f, []snapshot.Instance{leased(f, 0, 1)}, demand(waiting(1)), time.Time{},
			1, "nothing"},
		{"a full host takes nothing more", f, []snapshot.Instance{leased(f, 0, 2)}, demand(waiting(1)), time.Time{}, 2,
			"create 1"},
		{"draining hosts are no capacity", f, []snapshot.Instance{cordoned(f, 0, lifecycle.ForOperator, fleet.Cordoned)},
			demand(waiting(1)), time.Time{}, 1, "create 1"},
		{"a scale-down is taken back before a host is made", f,
			[]snapshot.Instance{cordoned(f, 0, lifecycle.ForScaleDown, fleet.Cordoned)}, demand(waiting(1)), time.Time{}, 1,
			"reactivate i00 (demand_back)"},
		{"one that was told to stop never comes back", f,
			[]snapshot.Instance{cordoned(f, 0, lifecycle.ForScaleDown, fleet.Stopping)}, demand(waiting(1)), time.Time{}, 1,
			"create 1"},
		{"warm hosts come on top", burst(0, 4, 1), nil, demand(waiting(2)), time.Time{}, 2, "create 2"},
		{"min holds without demand", burst(2, 4, 0), nil, demand(), time.Time{}, 2, "create 2"},
		{"a step is as large as it may be", stepped, nil, demand(waiting(20)), time.Time{}, 10, "create 3, step_limit"},
		{"an idle host leaves after its grace", f, []snapshot.Instance{idle(f, 0, 11*time.Minute)}, demand(), time.Time{}, 0,
			"drain i00 (scale_down)"},
		{"and not before", f, []snapshot.Instance{idle(f, 0, 9*time.Minute)}, demand(), time.Time{}, 0, "idle_grace"},
		{"one that was never seen idle doesn't leave", f,
			[]snapshot.Instance{{CapacityInstance: idle(f, 0, 0).CapacityInstance}}, demand(), time.Time{}, 0, "idle_grace"},
		{"a host with a lease never leaves", f, []snapshot.Instance{leased(f, 0, 1)}, demand(), time.Time{}, 1, "nothing"},
		{"steps down are bounded", gentle, []snapshot.Instance{idle(gentle, 0, time.Hour), idle(gentle, 1, time.Hour)},
			demand(), time.Time{}, 0, "drain i00 (scale_down)"},
		{"no step down right after a step up", f, []snapshot.Instance{idle(f, 0, time.Hour)}, demand(),
			now.Add(-time.Minute), 0, "cooldown"},
		{"the host that work waits for stays", f, []snapshot.Instance{idle(f, 0, time.Hour), idle(f, 1, time.Hour)},
			demand(waiting(1)), time.Time{}, 1, "drain i01 (scale_down)"},
		{"a booting host is let come up", f, instances(f, fleet.Bootstrapping), demand(), time.Time{}, 0, "nothing"},
		{"a request that never went out is cancelled", f, instances(f, fleet.Requested), demand(), time.Time{}, 0,
			"cancel i00 (cancelled)"},
		{"a runner that is too old leaves even with a lease, and another comes for what waits", aged,
			[]snapshot.Instance{leased(aged, 0, 2)}, demand(waiting(1)), time.Time{}, 2, "create 2, drain i00 (max_age)"},
		{"of two that are too old one leaves at a time", aged, []snapshot.Instance{idle(aged, 0, 0), idle(aged, 1, 0)},
			demand(waiting(4)), time.Time{}, 2, "create 1, drain i00 (max_age)"},
		{"what works for another scheduler is not capacity for this one", f, []snapshot.Instance{elsewhere(f, 0)},
			demand(waiting(1)), time.Time{}, 1, "drain i00 (rollout)"},
		{"a protected fleet doesn't follow demand", protected, nil, demand(waiting(20)), time.Time{}, 10,
			"create 1, fleet_protected"},
		{"nor does it shrink by itself", protected,
			[]snapshot.Instance{idle(protected, 0, time.Hour), idle(protected, 1, time.Hour)}, demand(), time.Time{}, 1,
			"fleet_protected"},
		{"a scheduler that can't be seen takes nothing away", f, []snapshot.Instance{idle(f, 0, time.Hour)},
			map[fleet.SchedulerAddress]snapshot.Demand{
				ci: {Unobserved: reason.Of(reason.SchedulerError{Message: "it answered 503"})}}, time.Time{}, 1, "nothing"},
		{"one that was never asked neither", f, []snapshot.Instance{idle(f, 0, time.Hour)}, nil, time.Time{}, 1, "nothing"},
		{"min holds even unseen", burst(2, 4, 0), nil, nil, time.Time{}, 2, "create 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input{
				Now:          now,
				Fleets:       []fleet.ManagedFleet{test.fleet},
				Instances:    test.instances,
				AgentVersion: agentVersion,
				Demand:       test.demand,
				Scaled:       map[fleet.RunnerFleetID]time.Time{test.fleet.ID: test.scaled},
			}
			p := planInput(in).Fleets[0]
			if got := story(p); got != test.want || p.Desired != test.desired {
				t.Errorf("desired %d, %s\nwant    %d, %s\n%+v", p.Desired, got, test.desired, test.want, p.Bounds)
			}
		})
	}
}

func TestTheChainOfBoundsTellsHowANumberCameAbout(t *testing.T) {
	f := burst(0, 4, 1)
	f.Scaling.ScaleUp = fleet.ScaleUpPolicy{MaxStep: 2, Window: time.Minute}
	p := planInput(input{Now: now, Fleets: []fleet.ManagedFleet{f}, Demand: demand(waiting(14))}).Fleets[0]
	var got []string
	for _, b := range p.Bounds {
		got = append(got, fmt.Sprintf("%s → %d: %s", b.Name, b.After, b.Reason.Text()))
	}
	for _, w := range p.Waiting {
		got = append(got, w.Text())
	}
	want := []string{
		"demand → 7: 14 jobs queued, 7 more runners needed",
		"warm → 8: keep 1 idle runner",
		"max → 4: limited by max = 4",
		"2 instances missing: limited by scale_up max_step = 2 in 1m, 0 started",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheNearestMissIsTheLastRequirementThatFails(t *testing.T) {
	linux, mac := burst(0, 4, 0), burst(0, 4, 0)
	linux.Address, mac.ID, mac.Address = "fleet.linux", "f2", "fleet.mac"
	mac.Class.Platform = fleet.Platform{OS: "darwin", Arch: "arm64"}
	tenant := burst(0, 4, 0)
	tenant.ID, tenant.Address, tenant.Scope = "f3", "fleet.acme", fleet.FleetScope{Tenant: "acme"}
	spot := burst(0, 4, 0)
	spot.ID, spot.Address, spot.Lifetime = "f4", "fleet.spot", fleet.LifetimePreemptible
	signing := burst(0, 4, 0)
	signing.ID, signing.Address, signing.Class.Signing = "f5", "fleet.signing", true
	for _, test := range []struct {
		name   string
		fleets []fleet.ManagedFleet
		change func(*fleet.QueuedDemand)
		fleet  fleet.FleetAddress
		want   reason.Detail
	}{
		{"a gpu", []fleet.ManagedFleet{linux, mac}, func(d *fleet.QueuedDemand) {
			d.Resources.GPU = 1
		}, "fleet.linux", reason.JobTooLarge{Job: reason.Resource{Name: "gpu", Amount: 1}}},
		{"a job larger than a host", []fleet.ManagedFleet{linux}, func(d *fleet.QueuedDemand) {
			d.Resources.MemoryBytes = 17 << 30
		}, "fleet.linux", reason.JobTooLarge{Job: reason.Resource{Name: "memory", Amount: 17 << 30}, Has: 16 << 30}},
		{"another system", []fleet.ManagedFleet{linux}, func(d *fleet.QueuedDemand) {
			d.Requirement.OS = "windows"
		}, "fleet.linux", reason.RequirementDiffers{Attribute: "os", Required: "windows", Has: "linux"}},
		{"a capability", []fleet.ManagedFleet{linux}, func(d *fleet.QueuedDemand) {
			d.Requirement.Capabilities = []string{"docker", "kvm"}
		}, "fleet.linux", reason.RequirementMissing{Attribute: "capability", Missing: reason.ListOf("docker", "kvm")}},
		{"more trust", []fleet.ManagedFleet{linux}, func(d *fleet.QueuedDemand) {
			d.Requirement.Trust = "high"
		}, "fleet.linux", reason.RequirementDiffers{Attribute: "trust", Required: "high", Has: "standard"}},
		{"less trust", []fleet.ManagedFleet{linux}, func(d *fleet.QueuedDemand) {
			d.Requirement.Trust = "low"
		}, "fleet.linux", reason.RequirementDiffers{Attribute: "trust", Required: "low", Has: "standard"}},
		{"no one's job on a tenant's fleet", []fleet.ManagedFleet{tenant}, func(*fleet.QueuedDemand) {}, "fleet.acme",
			reason.OutOfScope{Scope: reason.Scope{Tenant: "acme"}}},
		{"residency", []fleet.ManagedFleet{linux}, func(d *fleet.QueuedDemand) {
			d.Requirement.Regions = []string{"eu"}
		}, "fleet.linux", reason.RegionsDiffer{Required: reason.ListOf("eu")}},
		{"a host that can be taken away", []fleet.ManagedFleet{spot}, func(*fleet.QueuedDemand) {}, "fleet.spot",
			reason.PreemptibleDisallowed{}},
		{"a requirement that isn't understood", []fleet.ManagedFleet{linux}, func(d *fleet.QueuedDemand) {
			d.Requirement.Unknown = []string{"quantum"}
		}, "fleet.linux", reason.RequirementUnknown{Requirements: reason.ListOf("quantum")}},
		{"an ordinary job on a signing fleet", []fleet.ManagedFleet{signing}, func(*fleet.QueuedDemand) {}, "fleet.signing",
			reason.SigningOnly{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := waiting(3)
			test.change(&d)
			out := planInput(input{Now: now, Fleets: test.fleets, Demand: demand(d)})
			if len(out.Unplaced) != 1 || !reason.Is[reason.NoEligibleFleet](out.Unplaced[0].Reason) ||
				out.Unplaced[0].Count != 3 {
				t.Fatalf("unplaced: %+v", out.Unplaced)
			}
			if diff := cmp.Diff(
				NearMiss{Fleet: test.fleet, Reason: reason.Of(test.want)},
				out.Unplaced[0].Nearest[0],
			); diff != "" {
				t.Errorf("the nearest miss differs (-want +got):\n%s", diff)
			}
			for _, p := range out.Fleets {
				if p.Create != 0 {
					t.Errorf("%s grows by %d for jobs that it can't run", p.Address, p.Create)
				}
			}
		})
	}
}

func TestWorkGoesToAnotherFleetWhereTheFirstCannotGrow(t *testing.T) {
	cheap, dear := burst(0, 4, 0), burst(0, 4, 0)
	cheap.Address, dear.ID, dear.Address = "fleet.cheap", "f2", "fleet.dear"
	cheap.Cost.Hourly, dear.Cost.Hourly = fleet.Money{Micros: 1, Currency: "USD"}, fleet.Money{Micros: 2, Currency: "USD"}
	in := input{Now: now, Fleets: []fleet.ManagedFleet{dear, cheap}, Demand: demand(waiting(4))}
	if out := planInput(in); story(out.Fleets[0]) != "create 2" || story(out.Fleets[1]) != "nothing" {
		t.Errorf("with both able: %s, %s", story(out.Fleets[0]), story(out.Fleets[1]))
	}
	in.Holds = map[fleet.RunnerFleetID]snapshot.Hold{
		"f1": {Until: now.Add(time.Minute), Reason: reason.Plain("The provider has no capacity.")},
	}
	out := planInput(in)
	if story(out.Fleets[1]) != "create 2" || out.Fleets[0].Create != 0 {
		t.Errorf("with the first held: %s, %s", story(out.Fleets[0]), story(out.Fleets[1]))
	}
	in.Holds["f2"] = snapshot.Hold{Reason: reason.Plain("Its file must change.")}
	out = planInput(in)
	want := reason.Of(reason.NoCapacityNow{
		Jobs:  4,
		Fleet: "fleet.cheap",
		Because: reason.Of(
			reason.HeldBack{Because: reason.Plain("The provider has no capacity."), NextTry: reason.At(now.Add(time.Minute))},
		),
	})
	if len(out.Unplaced) != 1 || out.Unplaced[0].Reason != want {
		t.Errorf("with both held: %+v", out.Unplaced)
	}
}

// TestWhateverTheDemandTheBoundsHold draws fleets, instances and snapshots of
// every kind.
func TestWhateverTheDemandTheBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDemand(t)
		out := planInput(in)
		if again := planInput(shuffled(t, in)); !cmp.Equal(out, again) {
			t.Fatalf("the same input in another order gives another plan:\n%s", cmp.Diff(out, again))
		}
		for _, p := range out.Fleets {
			n := slices.IndexFunc(in.Fleets, func(f fleet.ManagedFleet) bool { return f.ID == p.Fleet })
			f := in.Fleets[n]
			if p.Desired > f.Scaling.Max && in.Demand[f.Scheduler].Unobserved.IsZero() {
				t.Fatalf("%s: desired %d over max %d", p.Address, p.Desired, f.Scaling.Max)
			}
			if p.Create > 0 && p.Counts.Footprint+p.Create > f.Scaling.Max {
				t.Fatalf("%s: %d instances and %d more are over max %d", p.Address, p.Counts.Footprint, p.Create, f.Scaling.Max)
			}
			unobserved := !in.Demand[f.Scheduler].Unobserved.IsZero()
			for _, a := range p.Actions {
				i := in.Instances[slices.IndexFunc(in.Instances, func(i snapshot.Instance) bool { return i.ID == a.Instance })]
				if a.Kind == Drain && (i.Leases > 0 || unobserved || i.IdleSince.IsZero()) {
					t.Fatalf(
						"%s drains %s with %d leases, idle since %s, scheduler unobserved: %t",
						p.Address,
						i.ID,
						i.Leases,
						i.IdleSince,
						unobserved,
					)
				}
			}
			if len(p.Actions) > 0 && p.Create > 0 &&
				slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Kind == Drain }) {
				t.Fatalf("%s grows and shrinks at once: %s", p.Address, story(p))
			}
		}
	})
}

func drawDemand(t *rapid.T) input {
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Demand:       map[fleet.SchedulerAddress]snapshot.Demand{},
		Unobserved:   map[fleet.ProviderAddress]reason.Reason{},
		Holds:        map[fleet.RunnerFleetID]snapshot.Hold{},
	}
	for n := range rapid.IntRange(1, 4).Draw(t, "fleets") {
		min := rapid.IntRange(0, 2).Draw(t, "min")
		f := burst(min, min+rapid.IntRange(0, 5).Draw(t, "more"), rapid.IntRange(0, 2).Draw(t, "warm"))
		f.ID, f.Address = fleet.RunnerFleetID(fmt.Sprintf("f%d", n)), fleet.FleetAddress(fmt.Sprintf("fleet.f%d", n))
		f.Operational = rapid.SampledFrom(
			[]fleet.FleetOperationalState{fleet.FleetActive, fleet.FleetActive, fleet.FleetScaleUpOnly, fleet.FleetFrozen}).
			Draw(t, "state")
		f.Scaling.ScaleUp = fleet.ScaleUpPolicy{MaxStep: rapid.IntRange(0, 3).Draw(t, "step"), Window: time.Minute}
		f.Scaling.ScaleDown.MaxStep = rapid.IntRange(0, 2).Draw(t, "step down")
		if rapid.Bool().Draw(t, "held") {
			in.Holds[f.ID] = snapshot.Hold{Reason: reason.Plain("Because of 100% of something.")}
		}
		in.Fleets = append(in.Fleets, f)
		for k := range rapid.IntRange(0, 6).Draw(t, "instances") {
			i := instance(f, 10*n+k, rapid.SampledFrom(fleet.CapacityInstanceStates()).Draw(t, "state"))
			i.Created = now.Add(-time.Duration(rapid.IntRange(0, 120).Draw(t, "age")) * time.Second)
			i.Silent = rapid.Bool().Draw(t, "silent")
			if i.State == fleet.Draining {
				i.Cause, i.Drain = string(
					lifecycle.ForScaleDown,
				), rapid.SampledFrom([]fleet.DrainStep{fleet.Cordoned, fleet.Stopping}).
					Draw(t, "step")
			}
			if i.State == fleet.Healthy || i.State == fleet.Draining {
				i.Leases = rapid.IntRange(0, 2).Draw(t, "leases")
				i.Busy = i.Leases > 0
			}
			if i.State == fleet.Healthy && i.Leases == 0 && rapid.Bool().Draw(t, "seen idle") {
				i.IdleSince = now.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "idle")) * time.Minute)
			}
			in.Instances = append(in.Instances, i)
		}
	}
	d := snapshot.Demand{
		Uncordons: rapid.Bool().Draw(t, "uncordons"),
		Unobserved: rapid.SampledFrom(
			[]reason.Reason{{}, {}, {}, reason.Of(reason.SchedulerError{Message: "It answered 503."})}).
			Draw(t, "unobserved"),
	}
	for range rapid.IntRange(0, 5).Draw(t, "groups") {
		g := waiting(rapid.IntRange(0, 30).Draw(t, "jobs"))
		g.Resources.CPUMilli = int64(rapid.SampledFrom([]int{0, 500, 1000, 4000, 5000}).Draw(t, "cpu"))
		g.Admissible = rapid.IntRange(0, g.Count).Draw(t, "admissible")
		g.Priority = rapid.IntRange(0, 2).Draw(t, "priority")
		g.Requirement.Capabilities = rapid.SampledFrom([][]string{nil, nil, {"docker"}}).Draw(t, "capabilities")
		d.Snapshot.Queued = append(d.Snapshot.Queued, g)
	}
	in.Demand[ci] = d
	return in
}

func shuffled(t *rapid.T, in input) input {
	in.Fleets = rapid.Permutation(in.Fleets).Draw(t, "fleets in another order")
	in.Instances = rapid.Permutation(in.Instances).Draw(t, "instances in another order")
	d := in.Demand[ci]
	d.Snapshot.Queued = rapid.Permutation(d.Snapshot.Queued).Draw(t, "groups in another order")
	in.Demand = map[fleet.SchedulerAddress]snapshot.Demand{ci: d}
	return in
}

func TestSentencesAboutResourcesAreForPeople(t *testing.T) {
	got := tooSmall(
		fleet.ResourceCapacity{Named: map[string]int64{"license": 3}},
		fleet.ResourceCapacity{Named: map[string]int64{"license": 2}},
	)
	if want := (reason.JobTooLarge{Job: reason.Resource{Name: "license", Amount: 3}, Has: 2}); got != want {
		t.Errorf("%#v, want %#v", got, want)
	}
}

func TestJobsAreNotGivenToHostsThatOnlyAPersonCanJoin(t *testing.T) {
	joined, cloud := burst(0, 4, 0), burst(0, 4, 0)
	joined.Address, joined.Joined = "fleet.joined", true
	cloud.ID, cloud.Address = "f2", "fleet.cloud"
	cloud.Cost.Hourly = fleet.Money{Micros: 1, Currency: "USD"} // a joined host costs nothing, and comes first
	claimed := instance(joined, 0, fleet.Bootstrapping)
	claimed.Asset = "mini-1"
	in := input{
		Now:       now,
		Fleets:    []fleet.ManagedFleet{joined, cloud},
		Instances: []snapshot.Instance{claimed},
		Demand:    demand(waiting(2)),
	}
	out := planInput(in)
	if out.Fleets[0].Create != 1 || len(out.Unplaced) != 0 {
		t.Errorf("%s creates %d, unplaced %+v", out.Fleets[0].Address, out.Fleets[0].Create, out.Unplaced)
	}
	in.Fleets = in.Fleets[:1]
	if out = planInput(
		in,
	); len(out.Unplaced) != 1 ||
		out.Unplaced[0].Nearest[0].Reason != reason.Of(reason.JoinedByHand{}) {
		t.Errorf("unplaced %+v", out.Unplaced)
	}
}

func TestARunnerOfAnotherSchedulerIsReplaced(t *testing.T) {
	f := burst(1, 2, 0)
	i := instance(f, 0, fleet.Healthy)
	i.Scheduling = fleet.Scheduling{Scheduler: "forgeyard.before", Ref: "r"}
	p := planInput(
		input{Now: now, Fleets: []fleet.ManagedFleet{f}, Instances: []snapshot.Instance{i}, Demand: demand(),
			AgentVersion: agentVersion}).Fleets[0]
	if len(p.Drifted) != 1 || p.Drifted[0].Reason != reason.Of(reason.OtherScheduler{}) {
		t.Errorf("drifted %+v", p.Drifted)
	}
}

func TestAnUpgradeOfTheManagerDrainsNoHostThatAPersonJoined(t *testing.T) {
	f := sampleFleet(0, 3, 0)
	f.Joined = true
	var all []snapshot.Instance
	var assets []fleet.Asset
	for n := range 3 {
		i := instance(f, n, fleet.Healthy)
		i.Asset, i.Runner = fmt.Sprint("host-", n), "r"
		all = append(all, i)
		assets = append(assets, fleet.Asset{ID: i.Asset, Platform: f.Class.Platform})
	}
	p := planInput(input{Now: now, Fleets: []fleet.ManagedFleet{f}, Instances: all, AgentVersion: "0.1.7",
		Assets: map[fleet.ProviderAddress][]fleet.Asset{f.Provider: assets}}).Fleets[0]
	if len(p.Actions) != 0 {
		t.Errorf("%s", story(p))
	}
}
