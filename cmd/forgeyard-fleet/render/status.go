package render

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

const noFleets = "No fleets."

// Status shows fleets with their numbers, and the manager that they come from.
func (page Page) Status(fleets []view.Fleet, manager string) {
	if len(fleets) == 0 {
		page.Printf("%s\n", noFleets)
	}
	for n, f := range fleets {
		if n > 0 {
			page.Printf("\n")
		}
		page.fleet(f, manager)
	}
	if manager != "" {
		page.Printf("\nManager: %s.\n", manager)
		return
	}
	page.Printf(
		"\nNo manager is running: these are the last stored numbers, and nothing scales, renews or removes instances until "+
			"the\nnext apply. To run a manager:\n  %s\n",
		page.Command("serve"),
	)
}

func (page Page) fleet(f view.Fleet, manager string) {
	c := f.Counts
	page.Printf("%s   %s\n", f.Address, condition(f, true))
	follows := ""
	if f.Scheduler != "" {
		follows = fmt.Sprintf(", scheduler %s", f.Scheduler)
	}
	page.Printf("  provider %s, class %s%s%s\n", f.Provider, f.Class, follows, page.ages(f))
	page.Printf("  ready %d (%s)  provisioning %d  draining %d  terminating %d  failed %d  quarantined %d  silent %d\n",
		c.Ready, busyWords(f, manager), c.Provisioning, c.Draining, c.Terminating, c.Failed, c.Quarantined, c.Silent)
	page.Printf(
		"  desired %d  min %d  max %d  warm %d  outdated %d  unresolved %d\n",
		f.Desired,
		f.Min,
		f.Max,
		f.Warm,
		f.Outdated,
		f.Unresolved,
	)
	page.bounds("    ", f.Bounds)
	page.nextWarm("    ", f.NextWarm)
	page.cost("  ", f.Cost)
	for _, r := range f.Overrides {
		page.reason("  ", "* ", r)
	}
	if r := f.Rollout; r != nil && r.Stage != planner.RolloutHalted &&
		r.Stage != planner.RolloutPaused { // these are reasons
		page.reason("  ", "> ", r.Reason)
	}
	for _, r := range f.Reasons {
		page.reason("  ", "! ", r)
	}
	page.expectedWaits(f)
	page.offers("  ", f.Offers, statusOffers)
	page.toJoin("  ", f.Address, f.ToJoin)
	if len(f.Decisions) > 0 {
		page.Printf("  recent decisions\n")
	}
	for _, d := range f.Decisions {
		page.Printf("    %s  %-10s  %s\n", Moment(d.At), d.Kind, d.Reason)
	}
}

// condition is a fleet's health, and what a person decided that keeps it from its work;
// where usual is set, also that it is active.
func condition(f view.Fleet, usual bool) string {
	words := []string{string(f.Health)}
	if usual || f.Operational != fleet.FleetActive {
		words = append(words, string(f.Operational))
	}
	for _, r := range f.Overrides {
		if q, is := r.Params.(reason.QuarantineInForce); is && q.Image == "" {
			words = append(words, "quarantined")
		} else if is {
			words = append(words, "image quarantined")
		}
	}
	return strings.Join(words, ", ")
}

// busyWords say how many runners have a job. Of those that follow a scheduler only a
// running manager knows, which asks it.
func busyWords(f view.Fleet, manager string) string {
	if f.Scheduler != "" && manager == "" && f.Counts.Ready > 0 {
		return "busy and idle unknown without a running manager"
	}
	return fmt.Sprintf("busy %d, idle %d", f.Counts.Busy, f.Counts.Idle)
}

// bounds shows the chain of bounds, and the reason of each.
func (page Page) bounds(indent string, bounds []fleet.Bound) {
	width := 8
	for _, b := range bounds {
		width = max(width, len(b.Name))
	}
	for _, b := range bounds {
		page.Printf("%s%-*s → %d  %s\n", indent, width, b.Name, b.After, b.Reason)
	}
}

// nextWarm says when a schedule changes how many idle runners are kept.
func (page Page) nextWarm(indent string, change *planner.WarmChange) {
	if change != nil {
		page.Printf("%s%s\n", indent, change.Reason)
	}
}

// ages say how old what is shown is.
func (page Page) ages(f view.Fleet) string {
	text := ""
	if !f.Seen.IsZero() {
		text += fmt.Sprintf("; inspected %s ago", page.ago(f.Seen))
	}
	if !f.Heard.IsZero() {
		text += fmt.Sprintf("; last heartbeat %s ago", page.ago(f.Heard))
	}
	return text
}

// History shows live and ended instances and how to go on.
func (page Page) History(history query.History) {
	page.table([]string{"INSTANCE", "FLEET", "STATE", "SINCE", "CREATED", "WHY"}, len(history.Instances),
		func(n int) []any {
			i := history.Instances[n]
			return []any{i.ID, OrDash(string(i.Fleet)), i.State, Moment(i.Since), Moment(i.Created), i.Reason}
		})
	if history.Next != "" {
		page.Printf("\nMore instances exist. To continue, add:\n  --before %s\n", history.Next)
	}
}

// Fleets is a table of fleets.
func (page Page) Fleets(fleets []view.Fleet) {
	if len(fleets) == 0 {
		page.Printf("%s\n", noFleets)
		return
	}
	page.table([]string{"FLEET", "READY", "DESIRED", "MIN", "MAX", "PROVIDER", "HEALTH"}, len(fleets), func(n int) []any {
		f := fleets[n]
		return []any{f.Address, f.Counts.Ready, f.Desired, f.Min, f.Max, f.Provider, condition(f, false)}
	})
}

// Instances is a table of live instances.
func (page Page) Instances(instances []view.Instance) {
	page.table(
		[]string{"INSTANCE", "FLEET", "STATE", "FOR", "PROVIDER INSTANCE", "RUNNER", "LEASES", "WHY"},
		len(instances),
		func(n int) []any {
			i := instances[n]
			runner := "-"
			if i.Runner != nil {
				runner = string(i.Runner.ID)
			}
			return []any{
				i.ID,
				i.Fleet,
				i.State,
				page.ago(i.Since),
				OrDash(string(i.ProviderInstance)),
				runner,
				page.leases(i),
				i.Reason,
			}
		},
	)
}

// leases is how many jobs the scheduler shows of an instance, or since when none.
func (page Page) leases(i view.Instance) string {
	switch at := i.Scheduling; {
	case at == nil || at.Leases == nil:
		return "-"
	case *at.Leases == 0 && !at.IdleSince.IsZero():
		return fmt.Sprintf("0 for %s", page.ago(at.IdleSince))
	default:
		return fmt.Sprint(*at.Leases)
	}
}
