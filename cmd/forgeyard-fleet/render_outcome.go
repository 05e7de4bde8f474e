package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// renderOutcome says how an apply ended and what is left.
func (a *app) renderOutcome(o control.Outcome, wait time.Duration, daemon bool) error {
	a.printf("\n")
	for provider, u := range o.Last.Unrecorded {
		a.printf("! %s has %s; see forgeyard-fleet instance list --unrecorded.\n", provider, view.UnrecordedWords(u))
	}
	switch o.Ending {
	case control.Settled:
		a.printf("Applied. %s.\n", capital(sum(o.Last)))
		if len(o.Last.States) > 0 && !daemon {
			a.printf("They run on by themselves, but nothing scales, renews or removes them until serve or the next apply.\n")
		}
		return nil
	case control.Interrupted:
		a.printf("Interrupted: %s. What was asked for is stored; the next apply goes on from here.\n", sum(o.Last))
		return exitStatus(exitInterrupted)
	case control.Stuck:
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
	for provider, reason := range o.Last.Unobserved {
		a.printf("! provider.%s can't be seen: %s.\n", provider, reason)
	}
	a.printf("Not finished after %s: %s, %s. The next apply goes on from here.\n", wait, sum(o.Last), plural(o.Last.Unresolved, "unknown outcome"))
	return exitStatus(exitUnresolved)
}

// capital begins a text with a capital letter.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
