package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

const noFleets = "No fleets."

func (a *app) renderStatus(fleets []view.Fleet, manager string) {
	if len(fleets) == 0 {
		a.printf("%s\n", noFleets)
	}
	for n, f := range fleets {
		if n > 0 {
			a.printf("\n")
		}
		a.renderFleet(f, manager)
	}
	if manager != "" {
		a.printf("\nManager: %s.\n", manager)
		return
	}
	a.printf(
		"\nNo manager is running: these are the last stored numbers, and nothing scales, renews or removes instances until " +
			"the\nnext apply. To run a manager:\n  forgeyard-fleet serve\n",
	)
}

func (a *app) renderFleet(f view.Fleet, manager string) {
	c := f.Counts
	a.printf("%s   %s, %s\n", f.Address, f.Health, f.Operational)
	follows := ""
	if f.Scheduler != "" {
		follows = fmt.Sprintf(", scheduler %s", f.Scheduler)
	}
	a.printf("  provider %s, class %s%s%s\n", f.Provider, f.Class, follows, a.ages(f))
	a.printf("  ready %d (%s)  provisioning %d  draining %d  terminating %d  failed %d  quarantined %d  silent %d\n",
		c.Ready, busyWords(f, manager), c.Provisioning, c.Draining, c.Terminating, c.Failed, c.Quarantined, c.Silent)
	a.printf(
		"  desired %d  min %d  max %d  warm %d  outdated %d  unresolved %d\n",
		f.Desired,
		f.Min,
		f.Max,
		f.Warm,
		f.Outdated,
		f.Unresolved,
	)
	a.renderBounds("    ", f.Bounds)
	a.renderNextWarm("    ", f.NextWarm)
	a.renderCost("  ", f.Cost)
	for _, r := range f.Overrides {
		a.renderReason("  ", "* ", r)
	}
	if r := f.Rollout; r != nil && r.Stage != planner.RolloutHalted &&
		r.Stage != planner.RolloutPaused { // these are reasons
		a.renderReason("  ", "> ", r.Reason)
	}
	for _, r := range f.Reasons {
		a.renderReason("  ", "! ", r)
	}
	a.renderExpectedWaits(f)
	a.renderOffers("  ", f.Offers, statusOffers)
	a.renderToJoin("  ", f.Address, f.ToJoin)
	if len(f.Decisions) > 0 {
		a.printf("  recent decisions\n")
	}
	for _, d := range f.Decisions {
		a.printf("    %s  %-10s  %s\n", moment(d.At), d.Kind, d.Reason)
	}
}

// busyWords say how many runners have a job. Of those that follow a scheduler only a
// running manager knows, which asks it.
func busyWords(f view.Fleet, manager string) string {
	if f.Scheduler != "" && manager == "" && f.Counts.Ready > 0 {
		return "busy and idle unknown without a running manager"
	}
	return fmt.Sprintf("busy %d, idle %d", f.Counts.Busy, f.Counts.Idle)
}

// renderBounds shows the chain of bounds, and the reason of each.
func (a *app) renderBounds(indent string, bounds []fleet.Bound) {
	width := 8
	for _, b := range bounds {
		width = max(width, len(b.Name))
	}
	for _, b := range bounds {
		a.printf("%s%-*s → %d  %s\n", indent, width, b.Name, b.After, b.Reason)
	}
}

// renderNextWarm says when a schedule changes how many idle runners are kept.
func (a *app) renderNextWarm(indent string, change *planner.WarmChange) {
	if change != nil {
		a.printf("%s%s\n", indent, change.Reason)
	}
}

// ages say how old what is shown is.
func (a *app) ages(f view.Fleet) string {
	text := ""
	if !f.Seen.IsZero() {
		text += fmt.Sprintf("; inspected %s ago", a.ago(f.Seen))
	}
	if !f.Heard.IsZero() {
		text += fmt.Sprintf("; last heartbeat %s ago", a.ago(f.Heard))
	}
	return text
}

// renderHistory shows live and ended instances and how to go on.
func (a *app) renderHistory(page query.History) {
	a.table([]string{"INSTANCE", "FLEET", "STATE", "SINCE", "CREATED", "WHY"}, len(page.Instances), func(n int) []any {
		i := page.Instances[n]
		return []any{i.ID, orDash(string(i.Fleet)), i.State, moment(i.Since), moment(i.Created), i.Reason}
	})
	if page.Next != "" {
		a.printf("\nMore instances exist. To continue, add:\n  --before %s\n", page.Next)
	}
}

func (a *app) renderFleets(fleets []view.Fleet) {
	if len(fleets) == 0 {
		a.printf("%s\n", noFleets)
		return
	}
	a.table([]string{"FLEET", "READY", "DESIRED", "MIN", "MAX", "PROVIDER", "HEALTH"}, len(fleets), func(n int) []any {
		f := fleets[n]
		return []any{f.Address, f.Counts.Ready, f.Desired, f.Min, f.Max, f.Provider, f.Health}
	})
}

func (a *app) renderInstances(instances []view.Instance) {
	a.table(
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
				a.ago(i.Since),
				orDash(string(i.ProviderInstance)),
				runner,
				a.leases(i),
				i.Reason,
			}
		},
	)
}

// leases is how many jobs the scheduler shows of an instance, or since when none.
func (a *app) leases(i view.Instance) string {
	switch at := i.Scheduling; {
	case at == nil || at.Leases == nil:
		return "-"
	case *at.Leases == 0 && !at.IdleSince.IsZero():
		return fmt.Sprintf("0 for %s", a.ago(at.IdleSince))
	default:
		return fmt.Sprint(*at.Leases)
	}
}

// table prints rows in aligned columns.
func (a *app) table(header []string, rows int, row func(int) []any) {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for n := range rows {
		cells := row(n)
		text := make([]string, len(cells))
		for c, cell := range cells {
			text[c] = fmt.Sprint(cell)
		}
		fmt.Fprintln(w, strings.Join(text, "\t"))
	}
	// What can't be written to standard output can't be reported there either.
	_ = w.Flush()
}

// ago is how long ago a time was.
func (a *app) ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return max(0, a.now().Sub(t).Truncate(time.Second)).String()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
