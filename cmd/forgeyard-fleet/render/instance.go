package render

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"

	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Instance shows an instance: its facts in two columns, then what is wrong, the
// checks of its admission, and the calls to its provider.
func (page Page) Instance(i view.Instance) {
	page.Printf("%s   %s for %s\n", i.ID, i.State, page.ago(i.Since))
	page.reason("  ", "", i.Reason)
	page.facts(i)
	if i.Detail != "" {
		page.Printf("  %s\n", i.Detail)
	}
	if !i.Conflict.IsZero() {
		page.reason("  ", "! ", i.Conflict)
	}
	if i.Interruption != nil {
		page.reason("  ", "! ", i.Interruption.Reason)
	}
	if i.Runner != nil && i.Runner.Alert != "" {
		page.Printf("  ! %s\n", i.Runner.Alert)
	}
	for _, r := range i.Refusals {
		page.refusal(r)
	}
	if len(i.Admission.Checks) > 0 {
		page.Printf("  admission %s\n", i.Admission.State)
		width := 14
		for _, c := range i.Admission.Checks {
			width = max(width, len(c.Name))
		}
		for _, c := range i.Admission.Checks {
			page.Printf("    %-8s %-*s  %s\n", c.Result, width, c.Name, c.Evidence)
		}
	}
	for _, op := range i.Operations {
		page.Printf("  %s %s: %s after %s", op.Kind, op.ID, op.State, text.Plural(op.Attempts, "call"))
		if !op.Reason.IsZero() {
			page.Printf("; %s", op.Reason)
		}
		page.Printf("\n")
	}
}

func (page Page) facts(i view.Instance) {
	fact := func(name, format string, args ...any) {
		page.Printf("  %-18s %s\n", name, fmt.Sprintf(format, args...))
	}
	fact("fleet", "%s", i.Fleet)
	fact("provider", "%s", i.Provider)
	fact("provider instance", "%s (%s)", OrDash(string(i.ProviderInstance)), OrDash(string(i.Seen)))
	if r := i.Runner; r != nil {
		fact("runner", "%s", r.ID)
		fact("agent", "%s at %s, %s, last heartbeat %s ago", r.AgentVersion, r.Address, r.Phase, page.ago(r.LastBeat))
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
		fact("scheduler", "%s, leases %s%s", at.Scheduler, page.leases(i), notes)
	}
	if i.Pin != nil {
		fact("pinned", "by %s until %s", i.Pin.By, Moment(i.Pin.Until))
	}
}
