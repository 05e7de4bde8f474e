package planner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// sized is a fleet that follows demand with hosts of so many cpu, 4 GiB for each,
// and a slot for each, at a price per hour in micros.
func sized(name string, cpu, micros int64, max int) fleet.ManagedFleet {
	f := burst(0, max, 0)
	f.ID, f.Address = fleet.RunnerFleetID(name), fleet.FleetAddress("fleet."+name)
	f.Class.Name = name
	f.Class.Resources = fleet.ResourceCapacity{CPUMilli: cpu * 1000, MemoryBytes: cpu * 4 << 30, Slots: cpu}
	f.Cost.Hourly = fleet.Money{Micros: micros, Currency: "USD"}
	return f
}

// ask is n jobs of so many cpu and GiB.
func ask(n int, cpu, memory int64) fleet.QueuedDemand {
	d := waiting(n)
	d.Resources = fleet.ResourceCapacity{CPUMilli: cpu * 1000, MemoryBytes: memory << 30}
	return d
}

// creates is what a plan starts, by fleet.
func creates(out Output) map[string]int {
	made := map[string]int{}
	for _, p := range out.Fleets {
		if p.Create > 0 {
			made[string(p.Fleet)] = p.Create
		}
	}
	return made
}

func planOf(fleets []fleet.ManagedFleet, instances []snapshot.Instance, groups ...fleet.QueuedDemand) Output {
	return planInput(
		input{
			Now:              now,
			Fleets:           fleets,
			Instances:        instances,
			AgentVersion:     agentVersion,
			Demand:           demand(groups...),
			ImprovementSteps: DefaultImprovementSteps,
		},
	)
}

func TestNewHostsAreChosenByWhatTheyCostForTheJobsTogether(t *testing.T) {
	small, large := sized("small", 4, 100_000, 50), sized("large", 16, 320_000, 50)
	bare := large
	bare.ID, bare.Address, bare.Class.Resources.MemoryBytes = "bare", "fleet.bare", 16<<30
	bare.Cost.Hourly.Micros = 250_000
	spot := sized("spot", 16, 80_000, 50)
	spot.Lifetime = fleet.LifetimePreemptible
	interruptible := ask(16, 1, 4)
	interruptible.PreemptibleAllowed = true
	euro := sized("euro", 16, 1, 50)
	euro.Cost.Hourly.Currency = "EUR"
	free := sized("zfree", 4, 0, 50)
	free.Cost.Hourly = fleet.Money{}
	gpu := sized("gpu", 16, 900_000, 50)
	gpu.Class.Resources.GPU, gpu.Class.Resources.Named = 2, map[string]int64{"license": 1}
	trains := ask(2, 4, 8)
	trains.Resources.GPU = 1
	licensed := ask(2, 1, 1)
	licensed.Resources.Named = map[string]int64{"license": 1}
	for _, test := range []struct {
		name   string
		fleets []fleet.ManagedFleet
		ask    []fleet.QueuedDemand
		want   map[string]int
	}{
		{"many jobs take the hosts whose units are cheaper", []fleet.ManagedFleet{small, large},
			[]fleet.QueuedDemand{ask(32, 1, 4)}, map[string]int{"large": 2}},
		{"a few take the host that is cheaper by itself", []fleet.ManagedFleet{small, large},
			[]fleet.QueuedDemand{ask(4, 1, 4)}, map[string]int{"small": 1}},
		{"what is over takes a small one", []fleet.ManagedFleet{small, large}, []fleet.QueuedDemand{ask(18, 1, 4)},
			map[string]int{"small": 1, "large": 1}},
		{"jobs of different shapes share hosts", []fleet.ManagedFleet{large},
			[]fleet.QueuedDemand{ask(4, 3, 1), ask(4, 1, 15)}, map[string]int{"large": 1}},
		{"each shape gets the hosts that it wastes least of", []fleet.ManagedFleet{large, bare},
			[]fleet.QueuedDemand{ask(16, 1, 1), ask(4, 2, 16)}, map[string]int{"bare": 1, "large": 1}},
		{"hosts that can be taken away are for jobs that allow it alone", []fleet.ManagedFleet{large, spot},
			[]fleet.QueuedDemand{interruptible, ask(16, 1, 4)}, map[string]int{"large": 1, "spot": 1}},
		{"prices of two currencies aren't compared", []fleet.ManagedFleet{euro, large}, []fleet.QueuedDemand{ask(16, 1, 4)},
			map[string]int{"euro": 1}},
		{"a fleet that names no price comes first", []fleet.ManagedFleet{large, free}, []fleet.QueuedDemand{ask(4, 1, 4)},
			map[string]int{"zfree": 1}},
		{"jobs fill up the hosts that others need", []fleet.ManagedFleet{large, gpu},
			[]fleet.QueuedDemand{trains, ask(8, 1, 4)}, map[string]int{"gpu": 1}},
		{"a named resource is a dimension like any other", []fleet.ManagedFleet{large, gpu}, []fleet.QueuedDemand{licensed},
			map[string]int{"gpu": 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := planOf(test.fleets, nil, test.ask...)
			if got := creates(out); fmt.Sprint(got) != fmt.Sprint(test.want) || len(out.Unplaced) > 0 {
				t.Errorf("creates %v, unplaced %+v; want %v", got, out.Unplaced, test.want)
			}
		})
	}
}

func TestHostsThatAreThereAreUsedBeforeCheaperOnesAreMade(t *testing.T) {
	dear, cheap := sized("dear", 8, 900_000, 10), sized("cheap", 8, 1, 10)
	booting := instance(dear, 0, fleet.Bootstrapping)
	if got := creates(
		planOf([]fleet.ManagedFleet{dear, cheap}, []snapshot.Instance{booting}, ask(3, 2, 4), ask(2, 1, 2)),
	); len(
		got,
	) != 0 {
		t.Errorf("the jobs fit on the host that boots, and the plan creates %v", got)
	}
	if got := creates(
		planOf([]fleet.ManagedFleet{dear, cheap}, []snapshot.Instance{booting}, ask(3, 3, 4)),
	); got["cheap"] != 1 ||
		len(got) != 1 {
		t.Errorf("the third job is too much for the host that boots, and the plan creates %v", got)
	}
}

// drawShapes is demand of many shapes over fleets of many sizes.
func drawShapes(t *rapid.T) ([]fleet.ManagedFleet, []fleet.QueuedDemand) {
	var fleets []fleet.ManagedFleet
	for n := range rapid.IntRange(1, 4).Draw(t, "fleets") {
		cpu := int64(1) << rapid.IntRange(1, 5).Draw(t, "size")
		f := sized(
			fmt.Sprintf("f%d", n),
			cpu,
			rapid.Int64Range(0, 50_000).Draw(t, "price per cpu")*cpu,
			rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "max"),
		)
		if rapid.IntRange(0, 3).Draw(t, "for docker") == 0 {
			f.Class.Capabilities = []string{"docker"}
		}
		fleets = append(fleets, f)
	}
	var groups []fleet.QueuedDemand
	for n := range rapid.IntRange(1, 6).Draw(t, "groups") {
		g := ask(
			rapid.IntRange(1, 12).Draw(t, "jobs"),
			rapid.Int64Range(0, 8).Draw(t, "cpu"),
			rapid.Int64Range(0, 40).Draw(t, "memory"),
		)
		g.Priority = rapid.IntRange(0, 2).Draw(t, "priority")
		g.OldestWait = time.Duration(n%2) * time.Minute
		g.Requirement.Capabilities = rapid.SampledFrom([][]string{nil, nil, {"docker"}}).Draw(t, "capabilities")
		groups = append(groups, g)
	}
	return fleets, groups
}

func TestHostsThatWereMadeForJobsTakeThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fleets, groups := drawShapes(t)
		first := planOf(fleets, nil, groups...)
		var booting []snapshot.Instance
		for _, p := range first.Fleets {
			f := fleets[slices.IndexFunc(fleets, func(f fleet.ManagedFleet) bool { return f.ID == p.Fleet })]
			for range p.Create {
				i := instance(f, len(booting), fleet.Provisioning)
				i.Created = now
				booting = append(booting, i)
			}
		}
		if got := creates(planOf(fleets, booting, groups...)); len(got) > 0 && len(first.Unplaced) == 0 {
			t.Fatalf("%v were made for everything that waits, and the next plan makes %v", creates(first), got)
		}
	})
}

func TestOneMoreJobLeavesNoneUncoveredThatComesBeforeIt(t *testing.T) {
	// Kinds are told apart by a project that no fleet asks for.
	uncovered := func(out Output, g fleet.QueuedDemand) (n int) {
		for _, u := range out.Unplaced {
			if u.Requirement.Project == g.Requirement.Project {
				n += u.Count
			}
		}
		return n
	}
	rapid.Check(t, func(t *rapid.T) {
		fleets, groups := drawShapes(t)
		for n := range groups {
			groups[n].Requirement.Project = fmt.Sprint(n)
		}
		before := planOf(fleets, nil, groups...)
		k := rapid.IntRange(0, len(groups)-1).Draw(t, "one more of")
		more := slices.Clone(groups)
		more[k].Count++
		more[k].Admissible++
		after := planOf(fleets, nil, more...)
		if was, is := uncovered(before, groups[k]), uncovered(after, groups[k]); is > was+1 {
			t.Fatalf("one more job, and %d instead of %d of its kind have no host", is, was)
		}
		order := inOrder(groups)
		at := slices.IndexFunc(
			order,
			func(g fleet.QueuedDemand) bool { return g.Requirement.Project == groups[k].Requirement.Project },
		)
		for _, g := range order[:at] {
			if was, is := uncovered(before, g), uncovered(after, g); is != was {
				t.Fatalf("a less urgent job more, and %d instead of %d of a more urgent kind have no host", is, was)
			}
		}
	})
}

// BenchmarkPlanOf500KindsOfJobs is a whole plan of 10,000 instances in 200 fleets
// of five sizes, half of them with leases, and 500 kinds of jobs. Goal: under
// 100 ms.
func BenchmarkPlanOf500KindsOfJobs(b *testing.B) {
	in := busyInput(500)
	s := in.stored()
	b.ReportAllocs()
	var out Output
	for b.Loop() {
		out = Plan(s)
	}
	hourly := int64(0)
	for _, f := range in.Fleets {
		hourly += int64(creates(out)[string(f.ID)]) * f.Cost.Hourly.Micros
	}
	b.ReportMetric(float64(hourly)/1e6, "USD/h")
}

// BenchmarkPlanWithoutJobs is the same without a job that waits.
func BenchmarkPlanWithoutJobs(b *testing.B) {
	s := busyInput(0).stored()
	b.ReportAllocs()
	for b.Loop() {
		Plan(s)
	}
}

func busyInput(kinds int) input {
	in := input{Now: now, AgentVersion: agentVersion, ImprovementSteps: DefaultImprovementSteps}
	for n := range 200 {
		f := sized(fmt.Sprintf("f%03d", n), 4<<(n%5), int64(40_000+n%7*1000)<<(n%5), 150)
		if n%4 == 0 {
			f.Class.Capabilities = []string{"docker"}
		}
		in.Fleets = append(in.Fleets, f)
		for k := range 50 {
			i := instance(f, k, fleet.Healthy)
			i.ID = fleet.CapacityInstanceID(fmt.Sprintf("%s-%02d", f.ID, k))
			i.Created = now.Add(-time.Hour)
			i.Leases, i.Busy, i.Scheduling.Scheduler = k%2*(k%4), k%2 == 1, ci
			in.Instances = append(in.Instances, i)
		}
	}
	var groups []fleet.QueuedDemand
	for n := range int64(kinds) {
		g := ask(int(20+n%300), 1+n%7, 1+n%23)
		g.Resources.CPUMilli += n // no two are equal
		g.Priority = int(n % 3)
		if n%5 == 0 {
			g.Requirement.Capabilities = []string{"docker"}
		}
		groups = append(groups, g)
	}
	in.Demand = demand(groups...)
	return in
}
