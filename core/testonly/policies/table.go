package policies

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/replay"
)

// Outcome is what one setup did with the jobs.
type Outcome struct {
	Setup
	*replay.Result
}

// Try has every setup do the same jobs.
func Try(ctx context.Context, setups []Setup, trace *replay.Trace) ([]Outcome, error) {
	outcomes, errs := make([]Outcome, len(setups)), make([]error, len(setups))
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for n, s := range setups {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			outcomes[n].Setup = s
			outcomes[n].Result, errs[n] = replay.Run(ctx, replay.Settings{
				Fleets: []fleet.ManagedFleet{
					s.Fleet,
				},
				Boot:     boot,
				Step:     replay.DefaultStep,
				Relaunch: replay.DefaultRelaunch,
				Policy:   s.Policy,
			}, trace)
		})
	}
	all.Wait()
	for n, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("replay %s: %w", setups[n].Name, err)
		}
		if o := outcomes[n]; o.Ran != o.Jobs {
			return nil, fmt.Errorf("replay %s: %d of %d jobs ran", setups[n].Name, o.Ran, o.Jobs)
		}
	}
	return outcomes, nil
}

// Tables is a section of the page: what each policy did with the jobs, and what the
// planner does at the cost, and at the wait, of each other one.
func Tables(title string, rivals, ours []Outcome) string {
	var page strings.Builder
	fmt.Fprintf(&page, "### %s\n\n", title)
	page.WriteString(
		"| policy | cost | wait, average | 95% | 99% | waited | utilised | launches per job | relaunches per job " +
			"|\n|---|---|---|---|---|---|---|---|---|\n",
	)
	for _, all := range [][]Outcome{rivals, ours} {
		for _, o := range all {
			fmt.Fprintf(
				&page,
				"| %s | %s | %.1f s | %.0f s | %.0f s | %.1f%% | %.0f%% | %.3f | %.3f |\n",
				o.Name,
				o.dollars(),
				o.Wait.Mean,
				o.Wait.P95,
				o.Wait.P99,
				o.Wait.Waited*100,
				o.Total.Utilisation*100,
				o.Total.LaunchesPerJob,
				o.Total.RelaunchesPerJob,
			)
		}
	}
	page.WriteString("\nThe planner against each, with the one of its settings above that is best at it:\n\n")
	page.WriteString(
		"| against | for no more money, the shortest wait of 95% | and on average | for no longer a wait, of 95% and on " +
			"average, the least cost |\n|---|---|---|---|\n",
	)
	for _, r := range rivals {
		fmt.Fprintf(
			&page,
			"| %s (%s; %.0f s, %.1f s) | %s | %s |\n",
			r.Name,
			r.dollars(),
			r.Wait.P95,
			r.Wait.Mean,
			atItsCost(r, ours),
			atItsWait(r, ours),
		)
	}
	page.WriteString("\n")
	return page.String()
}

func (o Outcome) micros() int64 { return o.Costs[0].Micros }

func (o Outcome) dollars() string { return fmt.Sprintf("$%.0f", float64(o.micros())/1e6) }

// atItsCost is the shortest wait that ours have for no more than a rival's cost.
func atItsCost(rival Outcome, ours []Outcome) string {
	var best, bestMean *Outcome
	for n := range ours {
		if ours[n].micros() > rival.micros() {
			continue
		}
		if best == nil || ours[n].Wait.P95 < best.Wait.P95 {
			best = &ours[n]
		}
		if bestMean == nil || ours[n].Wait.Mean < bestMean.Wait.Mean {
			bestMean = &ours[n]
		}
	}
	if best == nil {
		return "none is as cheap | none is as cheap"
	}
	return fmt.Sprintf(
		"%s: %.0f s, %s | %s: %.1f s, %s",
		best.Name,
		best.Wait.P95,
		change(best.Wait.P95, rival.Wait.P95),
		bestMean.Name,
		bestMean.Wait.Mean,
		change(bestMean.Wait.Mean, rival.Wait.Mean),
	)
}

// atItsWait is the least cost at which ours wait no longer than a rival.
func atItsWait(rival Outcome, ours []Outcome) string {
	var best *Outcome
	for n := range ours {
		waits := ours[n].Wait.P95 <= rival.Wait.P95 && ours[n].Wait.Mean <= rival.Wait.Mean
		if waits && (best == nil || ours[n].micros() < best.micros()) {
			best = &ours[n]
		}
	}
	if best == nil {
		return "none waits as little"
	}
	return fmt.Sprintf("%s: %s, %s", best.Name, best.dollars(), change(float64(best.micros()), float64(rival.micros())))
}

// change is the difference to a rival's number, where less is better.
func change(ours, rival float64) string {
	switch {
	case ours == rival:
		return "the same"
	case rival == 0:
		return "more"
	}
	return fmt.Sprintf("%+.0f%%", (ours-rival)/rival*100)
}
