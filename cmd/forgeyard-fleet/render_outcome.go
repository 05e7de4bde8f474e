package main

import (
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// renderOutcome says how an apply ended and what is left.
func (a *app) renderOutcome(o progress.Outcome, wait time.Duration, daemon bool) error {
	a.printf("\n")
	for provider, u := range o.Last.Unrecorded {
		a.renderReason(
			"",
			"! ",
			reason.Of(reason.ResourcesUnrecorded{Provider: string(provider), Orphans: u.Orphans, Foreign: u.Foreign}),
		)
	}
	switch o.Ending {
	case progress.Settled:
		a.printf("Applied. %s.\n", text.Capital(sum(o.Last)))
		for _, address := range slices.Sorted(maps.Keys(o.Last.Schedulers)) {
			a.printf(
				"! scheduler.%s is unobservable (%s): the number of queued jobs is unknown.\n",
				address,
				o.Last.Schedulers[address],
			)
		}
		switch {
		case daemon:
		case len(o.Last.States) > 0:
			a.printf(
				"The instances keep running, but nothing scales, renews or removes them until the next apply. To run a " +
					"manager:\n  forgeyard-fleet serve\n",
			)
		case o.Last.Following > 0:
			a.printf(
				"No instance starts for queued jobs while no manager is running. To run a manager:\n  forgeyard-fleet serve\n",
			)
		}
		return nil
	case progress.Interrupted:
		a.printf("Interrupted: %s. The definition is stored; the next apply continues from here.\n", sum(o.Last))
		return exitStatus(exitInterrupted)
	case progress.Stuck:
		a.printf("Stopped: %s. The rest needs your action:\n", sum(o.Last))
		for provider, why := range o.Last.Blocked {
			a.printf("  provider.%s: %s\n", provider, why)
		}
		for _, id := range slices.Sorted(maps.Keys(o.Last.Holds)) {
			a.printf("  %s: %s\n", o.Last.Fleets[id], o.Last.Holds[id].Reason)
		}
		for _, address := range slices.Sorted(maps.Keys(o.Last.Rollouts)) {
			a.renderReason("  ", string(address)+": ", o.Last.Rollouts[address].Reason)
		}
		return exitStatus(exitUnresolved)
	}
	a.renderUnfinished(o.Last, wait, daemon)
	return exitStatus(exitUnresolved)
}

// renderUnfinished says what is unfinished, and who continues it.
func (a *app) renderUnfinished(last progress.Progress, wait time.Duration, daemon bool) {
	next := "The next apply continues from here."
	if daemon {
		next = "The manager continues. To see its progress:\n  forgeyard-fleet status"
	}
	why := reasons(last)
	if len(why) == 0 {
		a.printf("Not finished after %s: %s. %s\n", wait, state(last), next)
		return
	}
	a.printf("Not finished after %s: %s. Waiting for:\n", wait, state(last))
	for _, text := range why {
		a.printf("  %s.\n", text)
	}
	a.printf("%s\n", next)
}
