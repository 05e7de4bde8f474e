package render

import (
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// Outcome says how an apply ended and what is left.
func (page Page) Outcome(o progress.Outcome, wait time.Duration, daemon bool) {
	page.Printf("\n")
	for provider, u := range o.Last.Unrecorded {
		page.reason(
			"",
			"! ",
			reason.Of(reason.ResourcesUnrecorded{Provider: string(provider), Orphans: u.Orphans, Foreign: u.Foreign}),
		)
	}
	switch o.Ending {
	case progress.Settled:
		page.Printf("Applied. %s.\n", text.Capital(sum(o.Last)))
		for _, address := range slices.Sorted(maps.Keys(o.Last.Schedulers)) {
			page.Printf(
				"! scheduler.%s is unobservable (%s): the number of queued jobs is unknown.\n",
				address,
				o.Last.Schedulers[address],
			)
		}
		switch {
		case daemon:
		case len(o.Last.States) > 0:
			page.Printf(
				"The instances keep running, but nothing scales, renews or removes them until the next apply. To run a " +
					"manager:\n  forgeyard-fleet serve\n",
			)
		case o.Last.Following > 0:
			page.Printf(
				"No instance starts for queued jobs while no manager is running. To run a manager:\n  forgeyard-fleet serve\n",
			)
		}
		return
	case progress.Interrupted:
		page.Printf("Interrupted: %s. The definition is stored; the next apply continues from here.\n", sum(o.Last))
		return
	case progress.Stuck:
		page.Printf("Stopped: %s. The rest needs your action:\n", sum(o.Last))
		for provider, why := range o.Last.Blocked {
			page.Printf("  provider.%s: %s\n", provider, why)
		}
		for _, id := range slices.Sorted(maps.Keys(o.Last.Holds)) {
			page.Printf("  %s: %s\n", o.Last.Fleets[id], o.Last.Holds[id].Reason)
		}
		for _, address := range slices.Sorted(maps.Keys(o.Last.Rollouts)) {
			page.reason("  ", string(address)+": ", o.Last.Rollouts[address].Reason)
		}
		return
	}
	page.unfinished(o.Last, wait, daemon)
}

// unfinished says what is unfinished, and who continues it.
func (page Page) unfinished(last progress.Progress, wait time.Duration, daemon bool) {
	next := "The next apply continues from here."
	if daemon {
		next = "The manager continues. To see its progress:\n  forgeyard-fleet status"
	}
	why := WaitReasons(last)
	if len(why) == 0 {
		page.Printf("Not finished after %s: %s. %s\n", wait, state(last), next)
		return
	}
	page.Printf("Not finished after %s: %s. Waiting for:\n", wait, state(last))
	for _, text := range why {
		page.Printf("  %s.\n", text)
	}
	page.Printf("%s\n", next)
}
