package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
)

// marks begin the line of a change.
var marks = map[config.Action]string{config.Create: "+", config.Modify: "~", config.Drain: "-", config.Drift: "!"}

// Plan shows a plan: changes with their consequence beside them, then the
// forecast for each fleet, the sums last.
func (page Page) Plan(p plans.Plan) {
	sums := map[config.Action]int{}
	for _, c := range p.Changes {
		sums[c.Action]++
		page.Printf("%s %s%s\n", marks[c.Action], c.Address, consequence(c))
		if c.Action == config.Modify {
			for _, at := range c.Attributes {
				replaces := ""
				if at.ReplacesInstances {
					replaces = "   replaces instances"
				}
				page.Printf("    %s  %s → %s%s\n", at.Path, orNone(at.Old), orNone(at.New), replaces)
			}
		}
	}
	page.renames(p.Changes)
	if len(p.Changes) > 0 {
		page.Printf("\n")
	}
	for _, address := range slices.Sorted(maps.Keys(p.Accounts)) {
		page.Printf("  provider.%s: account %s\n", address, p.Accounts[address])
	}
	starts, replaced, leave, unseen := 0, 0, 0, ""
	for _, f := range p.Preview.Fleets {
		page.preview(f)
		if !f.Unseen.IsZero() {
			unseen = " The demand of queued jobs is unknown."
		}
		starts, replaced = starts+f.Create, replaced+len(f.Drifted)
		for _, act := range f.Actions {
			if act.Cause != "rollout" {
				leave++
			}
		}
	}
	page.Unkept(p.Preview.Reservations)
	for _, u := range p.Preview.Unplaced {
		page.reason("", "! ", u.Reason)
	}
	if p.Unresolved > 0 {
		page.Printf("! %s of provider calls: the next apply inspects the provider.\n",
			text.Plural(p.Unresolved, "unknown outcome"))
	}
	if n := len(p.Unrecorded); n > 0 {
		page.Printf("! %s without a live record, not changed by this plan:\n", text.Plural(n, "resource"))
		page.Unrecorded(p.Unrecorded)
	}
	if !p.HasChanges() {
		page.Printf("No changes. %s, %s.", text.Plural(len(p.Preview.Fleets), "fleet"),
			text.Plural(instances(p.Preview), "instance"))
		if starts > 0 {
			page.Printf(" %s to start to reach the desired number.", text.Plural(starts, "instance"))
		}
		page.Printf("%s\n", unseen)
		return
	}
	page.Printf("Plan: %d to create, %d to change, %d to remove; %s to start, %d to replace, %d to scale down.%s\n",
		sums[config.Create], sums[config.Modify], sums[config.Drain], text.Plural(starts, "instance"), replaced, leave,
		unseen)
}

// renames points to moved blocks if fleets both appear and disappear: a fleet with
// a new name is a new fleet, whose instances would run beside those of the old one.
func (page Page) renames(changes []config.Change) {
	var created, gone []string
	for _, c := range changes {
		switch {
		case !strings.HasPrefix(c.Address, "fleet."):
		case c.Action == config.Create:
			created = append(created, c.Address)
		case c.Action == config.Drain || c.Action == config.Drift:
			gone = append(gone, c.Address)
		}
	}
	if len(created) == 0 || len(gone) == 0 {
		return
	}
	page.Printf(
		"\nIf %s is a new name of %s, add this block to keep its instances:\n  moved {\n    from = %s\n    to   = %s\n  }\n",
		strings.Join(created, " or "),
		strings.Join(gone, " or "),
		gone[0],
		created[0],
	)
}

// preview shows what will happen to one fleet and why.
func (page Page) preview(f planner.FleetPlan) {
	page.Printf("  %s: %d ready, %d desired", f.Address, f.Counts.Ready, f.Desired)
	var chain []string
	for _, b := range f.Bounds {
		link := fmt.Sprintf("%s %d", b.Name, b.After)
		if b.Name == "demand" && !f.Unseen.IsZero() {
			link = fmt.Sprintf("demand unknown, keep %d", b.After)
		}
		chain = append(chain, link)
	}
	page.Printf(" (%s)", strings.Join(chain, " → "))
	if f.Create > 0 {
		page.Printf("; %d to start now", f.Create)
	}
	if way := underWay(f.Counts); way != "" {
		page.Printf("; %s", way)
	}
	page.Printf("\n")
	if !f.Unseen.IsZero() {
		page.reason("      ", "! ", f.Unseen)
	}
	page.nextWarm("      ", f.NextWarm)
	page.cost("      ", f.Cost)
	for _, r := range f.Overrides {
		page.reason("      ", "* ", r)
	}
	for _, act := range f.Actions {
		page.Printf("      %s %s: %s%s\n", act.Kind, act.Instance, act.Reason, afterJob(act))
	}
	if n := len(f.Drifted); n > 0 {
		page.Printf("      %s to replace, each after its job\n", text.Plural(n, "instance"))
	}
	if f.Rollout != nil {
		page.reason("      ", "", f.Rollout.Reason)
	}
	page.offers("      ", f.Offers, planOffers)
	page.toJoin("      ", f.Address, f.ToJoin)
	for _, w := range f.Waiting {
		if !planner.StandsStill(w) { // said above
			page.reason("      ", "! ", w)
		}
	}
}

// underWay says what is there and neither ready nor gone: work in progress that
// the plan counts with.
func underWay(c planner.Counts) string {
	var parts []string
	for _, one := range []struct {
		n    int
		what string
	}{
		{c.Provisioning, "being created"}, {c.Draining, "draining"}, {c.Terminating, "terminating"}, {c.Failed, "failed"},
		{c.Quarantined, "quarantined"}, {c.Silent, "silent"},
	} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.what))
		}
	}
	return strings.Join(parts, ", ")
}

// afterJob says in words what happens to a running job.
func afterJob(act planner.Action) string {
	if act.Kind == planner.Drain {
		return "; it is removed after its job"
	}
	return ""
}

func consequence(c config.Change) string {
	switch {
	case c.Action == config.Drain && strings.HasPrefix(c.Address, "reservation."):
		return "   removed: its instances scale down as usual"
	case c.Action == config.Drain:
		return "   removed: each instance is removed after its job"
	case c.Action == config.Drift && !strings.HasPrefix(c.Address, "fleet."):
		return "   no longer in the files: kept while instances need it"
	case c.Action == config.Drift:
		return "   no longer in the files: keeps running as applied; remove it with a removed block or apply --prune"
	case c.ReplacesInstances:
		return "   replaces instances"
	}
	return ""
}

func instances(o planner.Output) int {
	n := 0
	for _, f := range o.Fleets {
		n += f.Counts.Footprint
	}
	return n
}

func orNone(text string) string {
	if text == "" {
		return "(none)"
	}
	return text
}

// pluralVerb is "1 instance uses", "2 instances use".
func pluralVerb(n int, noun, verb string) string {
	if n == 1 {
		verb += "s"
	}
	return text.Plural(n, noun) + " " + verb
}
