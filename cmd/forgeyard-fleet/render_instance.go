package main

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"

	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// renderInstance shows an instance: its facts in two columns, then what is wrong, the
// checks of its admission, and the calls to its provider.
func (a *app) renderInstance(i view.Instance) {
	a.printf("%s   %s for %s\n", i.ID, i.State, a.ago(i.Since))
	a.renderReason("  ", "", i.Reason)
	a.renderFacts(i)
	if i.Detail != "" {
		a.printf("  %s\n", i.Detail)
	}
	if !i.Conflict.IsZero() {
		a.renderReason("  ", "! ", i.Conflict)
	}
	if i.Interruption != nil {
		a.renderReason("  ", "! ", i.Interruption.Reason)
	}
	if i.Runner != nil && i.Runner.Alert != "" {
		a.printf("  ! %s\n", i.Runner.Alert)
	}
	for _, r := range i.Refusals {
		a.renderRefusal(r)
	}
	if len(i.Admission.Checks) > 0 {
		a.printf("  admission %s\n", i.Admission.State)
		width := 14
		for _, c := range i.Admission.Checks {
			width = max(width, len(c.Name))
		}
		for _, c := range i.Admission.Checks {
			a.printf("    %-8s %-*s  %s\n", c.Result, width, c.Name, c.Evidence)
		}
	}
	for _, op := range i.Operations {
		a.printf("  %s %s: %s after %s", op.Kind, op.ID, op.State, text.Plural(op.Attempts, "call"))
		if !op.Reason.IsZero() {
			a.printf("; %s", op.Reason)
		}
		a.printf("\n")
	}
}

func (a *app) renderFacts(i view.Instance) {
	fact := func(name, format string, args ...any) { a.printf("  %-18s %s\n", name, fmt.Sprintf(format, args...)) }
	fact("fleet", "%s", i.Fleet)
	fact("provider", "%s", i.Provider)
	fact("provider instance", "%s (%s)", orDash(string(i.ProviderInstance)), orDash(string(i.Seen)))
	if r := i.Runner; r != nil {
		fact("runner", "%s", r.ID)
		fact("agent", "%s at %s, %s, last heartbeat %s ago", r.AgentVersion, r.Address, r.Phase, a.ago(r.LastBeat))
		fact("jobs", "%s", text.Plural(r.JobsRun, "job")+" done")
		if r.LastExit != "" {
			fact("last job", "%s", r.LastExit)
		}
	}
	if at := i.Scheduling; at != nil {
		notes := ""
		if at.Cordoned {
			notes += ", cordoned"
		}
		if at.Removed {
			notes += ", removed there"
		}
		fact("scheduler", "%s, leases %s%s", at.Scheduler, a.leases(i), notes)
	}
	if i.Pin != nil {
		fact("pinned", "by %s until %s", i.Pin.By, moment(i.Pin.Until))
	}
}
