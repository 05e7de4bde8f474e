package main

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

// renderPlan shows a plan: changes with their consequence beside them, then the
// forecast for each fleet, the sums last.
func (a *app) renderPlan(p plans.Plan) {
	sums := map[config.Action]int{}
	for _, c := range p.Changes {
		sums[c.Action]++
		a.printf("%s %s%s\n", marks[c.Action], c.Address, consequence(c))
		if c.Action == config.Modify {
			for _, at := range c.Attributes {
				replaces := ""
				if at.ReplacesInstances {
					replaces = "   replaces instances"
				}
				a.printf("    %s  %s → %s%s\n", at.Path, orNone(at.Old), orNone(at.New), replaces)
			}
		}
	}
	a.renderRenames(p.Changes)
	if len(p.Changes) > 0 {
		a.printf("\n")
	}
	for _, address := range slices.Sorted(maps.Keys(p.Accounts)) {
		a.printf("  provider.%s: account %s\n", address, p.Accounts[address])
	}
	starts, replaced, leave, unseen := 0, 0, 0, ""
	for _, f := range p.Preview.Fleets {
		a.renderPreview(f)
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
	a.renderUnkept(p.Preview.Reservations)
	for _, u := range p.Preview.Unplaced {
		a.renderReason("", "! ", u.Reason)
	}
	if p.Unresolved > 0 {
		a.printf("! %s of provider calls: the next apply inspects the provider.\n",
			text.Plural(p.Unresolved, "unknown outcome"))
	}
	if n := len(p.Unrecorded); n > 0 {
		a.printf("! %s without a live record, not changed by this plan:\n", text.Plural(n, "resource"))
		a.renderUnrecorded(p.Unrecorded)
	}
	if !p.HasChanges() {
		a.printf("No changes. %s, %s.", text.Plural(len(p.Preview.Fleets), "fleet"),
			text.Plural(instances(p.Preview), "instance"))
		if starts > 0 {
			a.printf(" %s to start to reach the desired number.", text.Plural(starts, "instance"))
		}
		a.printf("%s\n", unseen)
		return
	}
	a.printf("Plan: %d to create, %d to change, %d to remove; %s to start, %d to replace, %d to scale down.%s\n",
		sums[config.Create], sums[config.Modify], sums[config.Drain], text.Plural(starts, "instance"), replaced, leave,
		unseen)
}

// renderRenames points to moved blocks if fleets both appear and disappear: a fleet with
// a new name is a new fleet, whose instances would run beside those of the old one.
func (a *app) renderRenames(changes []config.Change) {
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
	a.printf(
		"\nIf %s is a new name of %s, add this block to keep its instances:\n  moved {\n    from = %s\n    to   = %s\n  }\n",
		strings.Join(created, " or "),
		strings.Join(gone, " or "),
		gone[0],
		created[0],
	)
}

// renderPreview shows what will happen to one fleet and why.
func (a *app) renderPreview(f planner.FleetPlan) {
	a.printf("  %s: %d ready, %d desired", f.Address, f.Counts.Ready, f.Desired)
	var chain []string
	for _, b := range f.Bounds {
		link := fmt.Sprintf("%s %d", b.Name, b.After)
		if b.Name == "demand" && !f.Unseen.IsZero() {
			link = fmt.Sprintf("demand unknown, keep %d", b.After)
		}
		chain = append(chain, link)
	}
	a.printf(" (%s)", strings.Join(chain, " → "))
	if f.Create > 0 {
		a.printf("; %d to start now", f.Create)
	}
	if way := underWay(f.Counts); way != "" {
		a.printf("; %s", way)
	}
	a.printf("\n")
	if !f.Unseen.IsZero() {
		a.renderReason("      ", "! ", f.Unseen)
	}
	a.renderNextWarm("      ", f.NextWarm)
	a.renderCost("      ", f.Cost)
	for _, r := range f.Overrides {
		a.renderReason("      ", "* ", r)
	}
	for _, act := range f.Actions {
		a.printf("      %s %s: %s%s\n", act.Kind, act.Instance, act.Reason, afterJob(act))
	}
	if n := len(f.Drifted); n > 0 {
		a.printf("      %s to replace, each after its job\n", text.Plural(n, "instance"))
	}
	if f.Rollout != nil {
		a.renderReason("      ", "", f.Rollout.Reason)
	}
	a.renderOffers("      ", f.Offers, planOffers)
	a.renderToJoin("      ", f.Address, f.ToJoin)
	for _, w := range f.Waiting {
		if !planner.StandsStill(w) { // said above
			a.renderReason("      ", "! ", w)
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
