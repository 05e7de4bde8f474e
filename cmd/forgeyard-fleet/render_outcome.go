package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// renderOutcome says how an apply ended and what is left.
func (a *app) renderOutcome(o progress.Outcome, wait time.Duration, daemon bool) error {
	a.printf("\n")
	for provider, u := range o.Last.Unrecorded {
		a.printf("! %s has %s; see forgeyard-fleet instance list --unrecorded.\n", provider, view.UnrecordedWords(u))
	}
	switch o.Ending {
	case progress.Settled:
		a.printf("Applied. %s.\n", capital(sum(o.Last)))
		for _, address := range slices.Sorted(maps.Keys(o.Last.Schedulers)) {
			a.printf("! scheduler.%s can't be seen (%s): nobody knows how many jobs wait.\n", address, o.Last.Schedulers[address])
		}
		switch {
		case daemon:
		case len(o.Last.States) > 0:
			a.printf("They run on by themselves, but nothing scales, renews or removes them until forgeyard-fleet serve or the next apply.\n")
		case o.Last.Following > 0:
			a.printf("Nothing starts for jobs that wait until forgeyard-fleet serve runs.\n")
		}
		return nil
	case progress.Interrupted:
		a.printf("Interrupted: %s. What was asked for is stored; the next apply goes on from here.\n", sum(o.Last))
		return exitStatus(exitInterrupted)
	case progress.Stuck:
		a.printf("Stopped: %s, and what is missing needs a person:\n", sum(o.Last))
		for provider, reason := range o.Last.Blocked {
			a.printf("  provider.%s: %s\n", provider, reason)
		}
		for _, id := range slices.Sorted(maps.Keys(o.Last.Holds)) {
			a.printf("  %s: %s\n", o.Last.Fleets[id], o.Last.Holds[id].Reason)
		}
		for _, address := range slices.Sorted(maps.Keys(o.Last.Rollouts)) {
			a.printf("  %s: %s\n", address, o.Last.Rollouts[address].Sentence)
		}
		return exitStatus(exitUnresolved)
	}
	a.renderUnfinished(o.Last, wait, daemon)
	return exitStatus(exitUnresolved)
}

// renderUnfinished says what is still waited for, and who goes on.
func (a *app) renderUnfinished(last progress.Progress, wait time.Duration, daemon bool) {
	next := "The next apply goes on from here."
	if daemon {
		next = "The manager goes on with it: see forgeyard-fleet status."
	}
	why := reasons(last)
	if len(why) == 0 {
		a.printf("Not finished after %s: %s. %s\n", wait, state(last), next)
		return
	}
	a.printf("Not finished after %s: %s. It waits:\n", wait, state(last))
	for _, reason := range why {
		a.printf("  %s.\n", reason)
	}
	a.printf("%s\n", next)
}

// capital begins a text with a capital letter.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
