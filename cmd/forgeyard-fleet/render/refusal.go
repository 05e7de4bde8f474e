package render

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// shownRefusals is how many kinds of refusals the status shows.
const shownRefusals = 5

// Refusals tells of agents' calls that were refused, the latest first.
func (page Page) Refusals(all []fleet.Refusal) {
	if len(all) == 0 {
		return
	}
	page.Printf("\nAgent calls refused since the manager started:\n")
	for _, r := range all[:min(len(all), shownRefusals)] {
		page.refusal(r)
	}
	if more := len(all) - shownRefusals; more > 0 {
		page.Printf("  %d more kinds; see the log of the manager\n", more)
	}
}

func (page Page) refusal(r fleet.Refusal) {
	whose := ""
	if r.Instance != "" {
		whose = " of instance " + string(r.Instance)
	}
	page.Printf(
		"  ! %s%s (%s), last %s ago from %s: %s\n",
		text.Plural(r.Calls, "call"),
		whose,
		r.Code,
		page.ago(r.At),
		r.Address,
		r.Reason,
	)
}
