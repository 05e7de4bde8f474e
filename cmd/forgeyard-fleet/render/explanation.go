package render

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"

	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Explanation shows why a fleet has its number of instances.
func (page Page) Explanation(f view.Fleet, manager string) {
	page.Printf("%s has %s of %d desired: %d ready (%s), %d starting.\n", f.Address,
		text.Plural(f.Counts.Capacity, "instance"), f.Desired, f.Counts.Ready, busyWords(f, manager), f.Counts.Provisioning)
	page.Printf("\nWhy %d\n", f.Desired)
	page.bounds("  ", f.Bounds)
	page.nextWarm("  ", f.NextWarm)
	if f.Cost != nil {
		page.Printf("\nEstimated cost\n")
		page.cost("  ", f.Cost)
	}
	if len(f.Overrides) > 0 {
		page.Printf("\nOverrides\n")
	}
	for _, r := range f.Overrides {
		page.reason("  ", "", r)
	}
	if f.Rollout != nil {
		page.Printf("\nRollout, since %s\n", Moment(f.Rollout.Began))
		page.reason("  ", "", f.Rollout.Reason)
	}
	page.scheduler(f, manager)
	page.interruptions(f.Interruptions)
	page.unplaced(f.Unplaced)
	page.holdsAndWaits(f)
	if f.Offers.Worth() {
		page.Printf("\nOffers for new instances, best first\n")
		page.offers("  ", f.Offers, allOffers)
	}
	if len(f.Decisions) > 0 {
		page.Printf("\nRecent decisions, newest first\n")
	}
	for _, d := range f.Decisions {
		page.Printf("  %s  %-10s  %s\n", Moment(d.At), d.Kind, d.Reason)
	}
}

// scheduler says whose demand the fleet follows, and says where it is unknown.
func (page Page) scheduler(f view.Fleet, manager string) {
	switch {
	case f.Scheduler == "":
	case manager == "":
		page.Printf("\nDemand comes from scheduler.%s; it isn't read while no manager is running.\n", f.Scheduler)
	case !f.Unseen.IsZero():
		page.Printf("\nDemand is unknown: %s.\n", f.Unseen)
	default:
		page.Printf("\nDemand comes from scheduler.%s.\n", f.Scheduler)
	}
}

func (page Page) interruptions(all []reason.Reason) {
	if len(all) > 0 {
		page.Printf("\nInterruptions announced by the provider\n")
	}
	for _, r := range all {
		page.reason("  ", "", r)
	}
}

func (page Page) unplaced(unplaced []planner.UnplacedDemand) {
	if len(unplaced) > 0 {
		page.Printf("\nBlocked demand\n")
	}
	for _, u := range unplaced {
		page.Printf("  %s  %s\n", u.Reason.Code(), u.Reason.TextAt(page.Now()))
		for _, near := range u.Nearest {
			page.Printf("    %s: %s\n", near.Fleet, near.Reason.TextAt(page.Now()))
		}
	}
}

func (page Page) holdsAndWaits(f view.Fleet) {
	if f.Hold == nil && len(f.Waiting) == 0 {
		return
	}
	page.Printf("\nWaiting\n")
	if f.Hold != nil {
		page.Printf("  no starts: %s\n", holdText(*f.Hold, page.Now()))
	}
	for _, w := range f.Waiting {
		if !planner.Repeats(w, f.Hold) {
			page.Printf("  %s  %s\n", w.Code(), w.TextAt(page.Now()))
		}
	}
	if next := page.nextChange(f); next != "" && !page.triesFirst(f) {
		page.Printf("  %s\n", next)
	}
}

// triesFirst says that the next try of what holds the fleet comes before all else.
func (page Page) triesFirst(f view.Fleet) bool {
	return f.Hold != nil && f.Hold.Until.After(page.Now()) && !f.Next.Before(f.Hold.Until)
}

// expectedWaits are the waits that are nothing amiss; the others are among the
// reasons.
func (page Page) expectedWaits(f view.Fleet) {
	for _, w := range f.Waiting {
		if planner.Expected(w) {
			page.Printf("  %s. %s\n", w.TextAt(page.Now()), page.nextChange(f))
		}
	}
}

func (page Page) nextChange(f view.Fleet) string {
	next := f.Next
	if next.IsZero() {
		return ""
	}
	if page.triesFirst(f) {
		next = f.Hold.Until
	}
	return fmt.Sprintf("Next check in %s.", max(next.Sub(page.Now()).Round(time.Second), time.Second))
}
