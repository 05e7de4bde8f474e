package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// monday is when the jobs of these tests begin.
var monday = time.Date(2026, 10, 5, 8, 0, 0, 0, time.UTC)

// builders is a fleet with hosts of 4 processors for 1 USD an hour.
func builders(change func(*fleet.RunnerFleet)) fleet.ManagedFleet {
	f := fleet.RunnerFleet{
		Address: "fleet.builders", Provider: "local.here", Scheduler: "forgeyard.ci",
		Class: fleet.CapacityClass{
			Name: "builder", Platform: fleet.Platform{OS: "linux", Arch: "x86_64"}, Trust: "standard",
			Resources: fleet.ResourceCapacity{CPUMilli: 4000, MemoryBytes: 16 << 30, Slots: 2},
		},
		Scaling:  fleet.ScalingPolicy{Max: 10},
		Timeouts: fleet.DefaultTimeouts(),
		Cost:     fleet.CostPolicy{Hourly: fleet.Money{Micros: 1_000_000, Currency: "USD"}},
	}.WithDefaults()
	if change != nil {
		change(&f)
	}
	return fleet.ManagedFleet{ID: fleet.RunnerFleetID(f.Address), RunnerFleet: f, Operational: fleet.FleetActive}
}

// jobs is a trace of "ARRIVAL DURATION" with the arrival as a duration after
// monday; each job takes two processors.
func jobs(lines ...string) *Trace {
	trace := &Trace{
		Kinds: []Kind{
			{Scheduler: "forgeyard.ci", QueuedDemand: fleet.QueuedDemand{Resources: fleet.ResourceCapacity{CPUMilli: 2000}}},
		},
	}
	for _, line := range lines {
		after, lasts, _ := strings.Cut(line, " ")
		trace.Jobs = append(trace.Jobs, Job{Arrival: monday.Add(must(after)).UnixNano(), Duration: must(lasts)})
	}
	return trace
}

func must(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

func run(t testing.TB, trace *Trace, change func(*Settings), fleets ...fleet.ManagedFleet) *Result {
	t.Helper()
	s := Settings{Fleets: fleets, Boot: DefaultBoot, Step: DefaultStep, Relaunch: DefaultRelaunch}
	if change != nil {
		change(&s)
	}
	r, err := Run(context.Background(), s, trace)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestJobWaitsForStepAndBootAndIsBilledToItsEnd(t *testing.T) {
	// The beats are ten seconds apart, and the first job arrives on one of them: a
	// second, three seconds after a beat, is seen seven seconds later.
	r := run(t, jobs("0s 10m", "1h3s 5m"), nil, builders(func(f *fleet.RunnerFleet) {
		f.Scaling.ScaleDown.IdleGrace = time.Minute
	}))
	if r.Wait.P50 != 90 || r.Wait.Max != 97 || r.Wait.Waited != 1 {
		t.Errorf("waits: %+v", r.Wait)
	}
	// Launched at 0 and at 1:00:10. The first ends 1m after its job at 12:30, is
	// drained there for having been idle, and is gone a step later. The cooldown is
	// over by then.
	lived := must("12m40s") + must("6m30s")
	if got := time.Duration(r.Total.InstanceHours * float64(time.Hour)).Round(time.Second); got != lived {
		t.Errorf("hosts were there for %s, want %s", got, lived)
	}
	if want := (fleet.Money{Micros: int64(lived.Hours() * 1e6), Currency: "USD"}); r.Costs[0] != want {
		t.Errorf("it cost %s, want %s", r.Costs[0], want)
	}
	if r.Total.Launches != 2 || r.Total.Relaunches != 0 || r.Total.BusyHours != 0.25 ||
		r.Total.Utilisation != 0.125/lived.Hours() {
		t.Errorf("%+v", r.Total)
	}
}

func TestJobsShareAHostAsFarAsItsSlotsAndResourcesGo(t *testing.T) {
	r := run(t, jobs("0s 10m", "0s 10m", "0s 10m"), nil, builders(nil))
	if r.Total.Launches != 2 || r.Total.MostHosts != 2 || r.Wait.Max != 90 {
		t.Errorf("%+v %+v", r.Total, r.Wait)
	}
}

func TestAHostIsBilledForTheMinimumAtLeast(t *testing.T) {
	r := run(t, jobs("0s 1m"), nil, builders(func(f *fleet.RunnerFleet) { f.Cost.Minimum = time.Hour }))
	if r.Costs[0].Micros != 1_000_000 {
		t.Errorf("it cost %s", r.Costs[0])
	}
}

func TestAFleetWithoutAPriceMakesTheCostUnknownAndNotZero(t *testing.T) {
	r := run(t, jobs("0s 1m"), nil, builders(func(f *fleet.RunnerFleet) { f.Cost = fleet.CostPolicy{} }))
	if len(r.Costs) != 0 || r.Fleets[0].Cost != nil || !slices.Equal(r.Unpriced, []fleet.FleetAddress{"fleet.builders"}) {
		t.Errorf("%+v", r)
	}
}

func TestARunnerWithAJobLimitLeavesAndAnotherComes(t *testing.T) {
	r := run(t, jobs("0s 1m", "5m 1m", "10m 1m"), nil, builders(func(f *fleet.RunnerFleet) { f.Runner.MaxJobs = 1 }))
	if r.Total.Launches != 3 || r.Total.Relaunches != 2 || r.Wait.P50 != 90 {
		t.Errorf("%+v %+v", r.Total, r.Wait)
	}
}

func TestALaunchIsARelaunchOfOneHostThatLeftShortlyBefore(t *testing.T) {
	grace := func(f *fleet.RunnerFleet) {
		f.Scaling.ScaleDown = fleet.ScaleDownPolicy{IdleGrace: time.Minute}
	}
	// One host leaves at about 5:00; two are launched at 8:00, of which one is its
	// relaunch. By an hour later what has left is too long ago.
	r := run(t, jobs("0s 2m", "8m 2m", "8m 2m", "8m 2m", "8m 2m", "1h 1m"), nil, builders(grace))
	if r.Total.Launches != 4 || r.Total.Relaunches != 1 {
		t.Errorf("%+v", r.Total)
	}
}

func TestJobsThatNoFleetCanRunAreCountedAndExplained(t *testing.T) {
	trace := jobs("0s 1m", "1s 1m", "2s 1m")
	trace.Kinds = append(trace.Kinds, trace.Kinds[0], trace.Kinds[0])
	trace.Kinds[1].Requirement.OS, trace.Kinds[2].Requirement.OS = "darwin", "darwin"
	trace.Kinds[2].Priority = 1
	trace.Jobs[1].Kind, trace.Jobs[2].Kind = 1, 2
	r := run(t, trace, nil, builders(nil))
	want := reason.Of(reason.NoEligibleFleet{Jobs: 2, Nearest: "fleet.builders",
		Because: reason.Of(reason.RequirementDiffers{Attribute: "os", Required: "darwin", Has: "linux"})})
	if r.Unrunnable != 2 || r.Ran != 1 || len(r.Unplaced) != 1 || r.Unplaced[0].Reason != want {
		t.Errorf("%d can't run, %d did: %+v", r.Unrunnable, r.Ran, r.Unplaced)
	}
}

func TestJobsWhoseHostNeverComesEndTheReplayAndAreExplained(t *testing.T) {
	r := run(t, jobs("0s 1m"), nil, builders(func(f *fleet.RunnerFleet) { f.Protected = true }))
	if r.Unfinished != 1 || len(r.Unplaced) != 1 || r.Unplaced[0].Nearest[0].Reason != reason.Of(reason.FleetProtected{}) {
		t.Errorf("%d: %+v", r.Unfinished, r.Unplaced)
	}
}

func TestMinimumAndWarmHostsAreThereWhenTheFirstJobArrives(t *testing.T) {
	r := run(t, jobs("0s 1m"), nil, builders(func(f *fleet.RunnerFleet) { f.Scaling.Min = 1 }))
	if r.Wait.Max != 0 {
		t.Errorf("it waited %g s", r.Wait.Max)
	}
}

func TestTheMoreUrgentJobGoesFirst(t *testing.T) {
	trace := jobs("0s 10m", "0s 10m", "1m 1m", "2m 1m")
	trace.Kinds = append(trace.Kinds, trace.Kinds[0])
	trace.Kinds[1].Priority = 1
	trace.Jobs[3].Kind = 1
	r := run(t, trace, nil, builders(func(f *fleet.RunnerFleet) {
		f.Scaling.Max, f.Scaling.Min, f.Class.Resources.Slots = 1, 1, 1
	}))
	// One host for all: the jobs at 0:00 end at 10:00 and 20:00; then the one of 2:00
	// goes before the one of 1:00.
	if r.Wait.Max != 20*60 || r.Wait.P50 != 8*60 && r.Wait.P50 != 10*60 {
		t.Errorf("%+v", r.Wait)
	}
}

func TestFromAndUntilTakeAPartOfTheTrace(t *testing.T) {
	r := run(t, jobs("0s 1m", "1h 1m", "2h 1m"), func(s *Settings) {
		s.From, s.Until = monday.Add(time.Hour), monday.Add(2*time.Hour)
	}, builders(nil))
	if r.Jobs != 1 || !r.Begin.Equal(monday.Add(time.Hour)) {
		t.Errorf("%d jobs from %s", r.Jobs, r.Begin)
	}
	_, err := Run(context.Background(), Settings{Step: DefaultStep, From: monday.Add(5 * time.Hour)}, jobs("0s 1m"))
	if err == nil || !strings.Contains(err.Error(), "widen --from and --until") {
		t.Errorf("got %v", err)
	}
}

func TestAReplayEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := Settings{
		Fleets:   []fleet.ManagedFleet{builders(nil)},
		Boot:     DefaultBoot,
		Step:     DefaultStep,
		Progress: func(int, int) { cancel() },
	}
	var lines []string
	for n := range 5000 {
		lines = append(lines, fmt.Sprintf("%ds 1m", n*100))
	}
	if _, err := Run(ctx, s, jobs(lines...)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsUnknownOfAFleetIsSaid(t *testing.T) {
	market := builders(func(f *fleet.RunnerFleet) { f.Market = true })
	limited := builders(func(f *fleet.RunnerFleet) {
		f.Address, f.Market, f.Cost = "fleet.limited", true, fleet.CostPolicy{
			MaxHourly: fleet.Money{Micros: 1, Currency: "USD"},
		}
	})
	alone := builders(func(f *fleet.RunnerFleet) { f.Address, f.Scheduler = "fleet.fixed", "" })
	r := run(t, jobs("0s 1m"), nil, market, limited, alone)
	want := []string{
		"The offers of fleet.builders aren't known here, since no plugin is asked: there is always room, and each host is " +
			"taken for its hourly = 1 USD.",
		"The offers of fleet.limited aren't known here, since no plugin is asked: there is always room, and it names no " +
			"price, so its cost limits hold nothing back.",
		"fleet.fixed follows no scheduler: it has the size of its file, and no job of the trace runs there.",
	}
	if diff := cmp.Diff(want, r.Notes); diff != "" {
		t.Error(diff)
	}
}

// randomTrace is jobs of several kinds that come in waves.
func randomTrace(random *rand.Rand, count int) *Trace {
	trace := &Trace{}
	for range 1 + random.IntN(4) {
		k := Kind{Scheduler: "forgeyard.ci"}
		k.Resources = fleet.ResourceCapacity{
			CPUMilli:    1000 * random.Int64N(6),
			MemoryBytes: random.Int64N(20) << 30,
		} // some are too large
		k.Priority = random.IntN(2)
		trace.Kinds = append(trace.Kinds, k)
	}
	at := monday
	for range count {
		if random.IntN(5) == 0 {
			at = at.Add(time.Duration(random.Int64N(int64(time.Hour))))
		}
		trace.Jobs = append(
			trace.Jobs,
			Job{
				Arrival:  at.UnixNano(),
				Duration: time.Duration(random.Int64N(int64(30 * time.Minute))),
				Kind:     int32(random.IntN(len(trace.Kinds))),
			},
		)
	}
	return trace
}

// Every job of any trace runs, or is counted as one that didn't; no host ever has
// more than it can take or goes with a job on it; and nothing is paid that wasn't
// there.
func TestNoJobIsLostAndNoHostIsOverfull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		random := rand.New(rand.NewPCG(seed, 5))
		f := builders(func(f *fleet.RunnerFleet) {
			f.Class.Resources.Slots = 1 + random.Int64N(4)
			f.Runner.MaxJobs = random.IntN(4)
			f.Scaling.Warm = random.IntN(3)
			f.Scaling.ScaleDown.IdleGrace = time.Duration(1+random.IntN(600)) * time.Second
		})
		trace := randomTrace(random, 1+random.IntN(50))
		leased := map[fleet.CapacityInstanceID]int{}
		s := Settings{
			Fleets:   []fleet.ManagedFleet{f},
			Boot:     DefaultBoot,
			Step:     DefaultStep,
			Relaunch: DefaultRelaunch,
			Policy: func(in snapshot.Snapshot) planner.Output {
				seen := map[fleet.CapacityInstanceID]bool{}
				for _, i := range in.ObservedInstances() {
					seen[i.ID] = true
					if i.Leases < 0 || i.Leases > int(f.Class.Resources.Slots) || i.Busy != (i.Leases > 0) ||
						i.Busy && i.State == fleet.Provisioning {
						t.Fatalf("%s is %s with %d jobs", i.ID, i.State, i.Leases)
					}
					if i.State == fleet.Draining && i.Leases > leased[i.ID] {
						t.Fatalf("%s got a job while it drained", i.ID)
					}
					leased[i.ID] = i.Leases
				}
				if len(seen) > f.Scaling.Max {
					t.Fatalf("%d hosts, and max is %d", len(seen), f.Scaling.Max)
				}
				return planner.Plan(in)
			},
		}
		r, err := Run(context.Background(), s, trace)
		if err != nil {
			t.Fatal(err)
		}
		if r.Ran+r.Unrunnable+r.Unfinished != len(trace.Jobs) || r.Unfinished != 0 || r.Total.Jobs != r.Ran {
			t.Fatalf("%d jobs: %d ran, %d can't, %d didn't", len(trace.Jobs), r.Ran, r.Unrunnable, r.Unfinished)
		}
		if r.Total.BusyHours > r.Total.InstanceHours+1e-9 || r.Total.Utilisation > 1+1e-9 || r.Wait.P50 > r.Wait.P95 ||
			r.Wait.P99 > r.Wait.Max {
			t.Fatalf("%+v %+v", r.Total, r.Wait)
		}
	})
}

func TestTheSameTraceGivesTheSameBytes(t *testing.T) {
	trace := randomTrace(rand.New(rand.NewPCG(3, 5)), 300)
	var all []string
	for range 2 {
		text, err := json.Marshal(run(t, trace, nil, builders(nil)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	if all[0] != all[1] {
		t.Error("two replays of one trace differ")
	}
}

func TestASeriesOfAnyLengthHasFewMomentsAndLosesNothing(t *testing.T) {
	s := newSeries(0)
	hour := int64(time.Hour)
	for n := range int64(24 * 56) { // one host of two is busy, and in one hour 99 jobs wait
		waiting := 0
		if n == 700 {
			waiting = 99
		}
		s.upTo((n+1)*hour, waiting, 2, 1)
	}
	moments := s.moments()
	most, hours := 0, 0.0
	for n, m := range moments {
		most = max(most, m.Waiting)
		lasts := time.Duration(min(s.width, s.last-int64(n)*s.width)).Hours()
		hours += m.Hosts * lasts
	}
	if len(moments) > mostMoments || most != 99 || hours < 2*24*56-0.01 || hours > 2*24*56+0.01 {
		t.Errorf("%d moments, at most %d waited, %g host hours", len(moments), most, hours)
	}
}
