package main

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// shownRefusals is how many kinds of refusals the status shows.
const shownRefusals = 5

// renderRefusals tells of agents' calls that were refused, the latest first.
func (a *app) renderRefusals(all []fleet.Refusal) {
	if len(all) == 0 {
		return
	}
	a.printf("\nAgent calls refused since the manager started:\n")
	for _, r := range all[:min(len(all), shownRefusals)] {
		a.renderRefusal(r)
	}
	if more := len(all) - shownRefusals; more > 0 {
		a.printf("  %d more kinds; see the log of the manager\n", more)
	}
}

func (a *app) renderRefusal(r fleet.Refusal) {
	whose := ""
	if r.Instance != "" {
		whose = " of instance " + string(r.Instance)
	}
	a.printf(
		"  ! %s%s (%s), last %s ago from %s: %s\n",
		text.Plural(r.Calls, "call"),
		whose,
		r.Code,
		a.ago(r.At),
		r.Address,
		r.Reason,
	)
}
