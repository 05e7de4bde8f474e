package simulation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// drawAhead gives the fleet that follows a scheduler, in some worlds, schedules whose
// windows open and close while the faults strike, and in some a forecast that
// expects jobs then. Both are over when there is peace. It returns how many
// instances that may ask for.
func (w *world) drawAhead(random *rand.Rand) (asked int) {
	jobs := &w.store.fleets[0]
	if random.IntN(3) == 0 {
		for n := range 1 + random.IntN(2) {
			begins, warm := random.IntN(4), random.IntN(3)
			jobs.Scaling.Schedules = append(jobs.Scaling.Schedules, fleet.ScalingSchedule{
				Name: fmt.Sprintf("s%d", n), Cron: fmt.Sprintf("%d,%d 0 1 1 *", begins, begins+1+random.IntN(3)),
				Duration: time.Duration(1+random.IntN(3)) * time.Minute, TimeZone: "UTC", Warm: warm,
			})
			asked += 2 * warm
		}
	}
	if random.IntN(3) == 1 {
		jobs.Forecast = forecast.Models()[random.IntN(2)]
		needed := 1 + random.IntN(3)
		w.store.needed[jobs.ID] = daysBefore(forecast.SlotOf(beginning), needed)
		asked += needed
	}
	return asked
}

// daysBefore are three days of which the first five minutes of each needed some
// runners, and the rest none.
func daysBefore(now forecast.Slot, needed int) map[forecast.Slot]forecast.Run {
	const day = forecast.Slot(24 * time.Hour / forecast.Bucket)
	runs := map[forecast.Slot]forecast.Run{}
	for begin := now - 3*day; begin < now; begin += day {
		runs[begin] = forecast.Run{First: begin, Last: begin, Needed: needed}
		runs[begin+1] = forecast.Run{First: begin + 1, Last: begin + day - 1}
	}
	return runs
}

// Needed is what the fleets needed.
func (m *memoryStore) Needed(
	_ context.Context,
	ids []fleet.RunnerFleetID,
) (map[fleet.RunnerFleetID][]forecast.Run, error) {
	out := map[fleet.RunnerFleetID][]forecast.Run{}
	for _, id := range ids {
		out[id] = slices.SortedFunc(
			maps.Values(m.needed[id]),
			func(a, b forecast.Run) int { return cmp.Compare(a.First, b.First) },
		)
	}
	return out, nil
}

// takeDown stores what fleets needed.
func (m *memoryStore) takeDown(runs []store.NeededRun) {
	for _, r := range runs {
		if m.needed[r.Fleet] == nil {
			m.needed[r.Fleet] = map[forecast.Slot]forecast.Run{}
		}
		m.needed[r.Fleet][r.First] = r.Run
	}
}
