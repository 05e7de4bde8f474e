package policies

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/replay"
)

// Monday is when the generated weeks begin.
var Monday = time.Date(2026, 9, 7, 0, 0, 0, 0, time.UTC)

// shape is one kind of job with its durations, which are lognormal: half of the
// jobs are shorter than median.
type shape struct {
	cpu, memory int64 // processors and GiB
	median      time.Duration
	spread      float64
	// least and most are how many one push has.
	least, most int
}

// shapes are what a push starts: a check of style, tests in parallel, a build, and
// at times tests of everything together.
var shapes = []shape{
	{cpu: 1, memory: 2, median: 75 * time.Second, spread: 0.4, least: 1, most: 1},
	{cpu: 2, memory: 4, median: 4 * time.Minute, spread: 0.6, least: 1, most: 5},
	{cpu: 4, memory: 8, median: 6 * time.Minute, spread: 0.5, least: 0, most: 2},
	{cpu: 4, memory: 12, median: 14 * time.Minute, spread: 0.7, least: 0, most: 1},
}

// hourly are the pushes in each hour of a working day.
var hourly = [24]float64{1, 0.5, 0.5, 0.5, 0.5, 1, 3, 8, 22, 37, 42, 38, 27, 32, 40, 40, 35, 24, 13, 7, 5, 3, 2, 2}

const (
	weekend = 0.08
	// wave is how often a working hour has a wave of pushes, as before a release or
	// after a meeting, and waved how many times as many there are then.
	wave, waved = 0.12, 2.5
)

// Office generates the jobs of so many weeks of an office: pushes follow the time
// of day and the weekday, come in waves, and start several jobs each.
func Office(weeks int, seed uint64, scheduler fleet.SchedulerAddress) *replay.Trace {
	random := rand.New(rand.NewPCG(seed, 1))
	trace := &replay.Trace{}
	for _, s := range shapes {
		trace.Kinds = append(trace.Kinds, replay.Kind{Scheduler: scheduler, QueuedDemand: fleet.QueuedDemand{
			Requirement: fleet.SchedulingRequirementSet{OS: "linux", Arch: "x86_64"},
			Resources:   fleet.ResourceCapacity{CPUMilli: s.cpu * 1000, MemoryBytes: s.memory << 30},
		}})
	}
	for hour := range weeks * 7 * 24 {
		begins := Monday.Add(time.Duration(hour) * time.Hour)
		rate := hourly[begins.Hour()]
		if day := begins.Weekday(); day == time.Saturday || day == time.Sunday {
			rate *= weekend
		}
		if random.Float64() < wave {
			rate *= waved
		}
		for at := gap(random, rate); at < time.Hour; at += gap(random, rate) {
			trace.Jobs = append(trace.Jobs, push(random, begins.Add(at))...)
		}
	}
	slices.SortStableFunc(trace.Jobs, func(a, b replay.Job) int { return int(min(1, max(-1, a.Arrival-b.Arrival))) })
	return trace
}

// gap is the time until the next push.
func gap(random *rand.Rand, perHour float64) time.Duration {
	return time.Duration(random.ExpFloat64() / perHour * float64(time.Hour)).Round(time.Millisecond)
}

// push is the jobs of one push, which arrive within seconds.
func push(random *rand.Rand, at time.Time) (jobs []replay.Job) {
	for kind, s := range shapes {
		for range s.least + random.IntN(s.most-s.least+1) {
			lasts := time.Duration(float64(s.median) * math.Exp(s.spread*random.NormFloat64())).Round(time.Second)
			arrives := at.Add(time.Duration(random.Float64() * float64(5*time.Second)).Round(time.Millisecond))
			jobs = append(
				jobs,
				replay.Job{Arrival: arrives.UnixNano(), Duration: min(max(lasts, 5*time.Second), 2*time.Hour), Kind: int32(kind)},
			)
		}
	}
	return jobs
}
