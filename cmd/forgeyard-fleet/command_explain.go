package main

import (
	"context"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// explainedDecisions is how many decisions an explanation shows.
const explainedDecisions = 10

func (a *app) explainCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "explain FLEET",
		Short: "Explain why a fleet has its number of instances",
		Long: "Explain why a fleet has its number of instances: the limits between the demand of its scheduler and " +
			"the desired\n" +
			"number, jobs that no fleet can take and the requirement that the nearest fleets miss, what the fleet waits for\n" +
			"and until when, the offers for new instances with prices and age, and the recent decisions.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c, func(ctx context.Context, look installation.Reader, manager string) error {
				fleets, err := look.Fleets(ctx)
				if err != nil {
					return err
				}
				if fleets, err = only(fleets, args[0]); err != nil {
					return err
				}
				f := fleets[0]
				decisions, err := look.Decisions(ctx, f.Address, explainedDecisions)
				if err != nil {
					return err
				}
				f.Decisions = view.Decisions(decisions)
				if asJSON {
					return a.printJSON(f)
				}
				a.renderExplanation(f, manager)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	a.completes(c, a.fleetNames, "", nil)
	return c
}

func (a *app) renderExplanation(f view.Fleet, manager string) {
	a.printf("%s has %s of %d desired: %d ready (%s), %d starting.\n", f.Address,
		text.Plural(f.Counts.Capacity, "instance"), f.Desired, f.Counts.Ready, busyWords(f, manager), f.Counts.Provisioning)
	a.printf("\nWhy %d\n", f.Desired)
	a.renderBounds("  ", f.Bounds)
	a.renderNextWarm("  ", f.NextWarm)
	if f.Cost != nil {
		a.printf("\nEstimated cost\n")
		a.renderCost("  ", f.Cost)
	}
	if len(f.Overrides) > 0 {
		a.printf("\nOverrides\n")
	}
	for _, r := range f.Overrides {
		a.renderReason("  ", "", r)
	}
	if f.Rollout != nil {
		a.printf("\nRollout, since %s\n", moment(f.Rollout.Began))
		a.renderReason("  ", "", f.Rollout.Reason)
	}
	a.renderScheduler(f, manager)
	a.renderInterruptions(f.Interruptions)
	a.renderUnplaced(f.Unplaced)
	a.renderHoldsAndWaits(f)
	if f.Offers.Worth() {
		a.printf("\nOffers for new instances, best first\n")
		a.renderOffers("  ", f.Offers, allOffers)
	}
	if len(f.Decisions) > 0 {
		a.printf("\nRecent decisions, newest first\n")
	}
	for _, d := range f.Decisions {
		a.printf("  %s  %-10s  %s\n", moment(d.At), d.Kind, d.Reason)
	}
}

// renderScheduler says whose demand the fleet follows, and says where it is unknown.
func (a *app) renderScheduler(f view.Fleet, manager string) {
	switch {
	case f.Scheduler == "":
	case manager == "":
		a.printf("\nDemand comes from scheduler.%s; it isn't read while no manager is running.\n", f.Scheduler)
	case !f.Unseen.IsZero():
		a.printf("\nDemand is unknown: %s.\n", f.Unseen)
	default:
		a.printf("\nDemand comes from scheduler.%s.\n", f.Scheduler)
	}
}

func (a *app) renderInterruptions(all []reason.Reason) {
	if len(all) > 0 {
		a.printf("\nInterruptions announced by the provider\n")
	}
	for _, r := range all {
		a.renderReason("  ", "", r)
	}
}

func (a *app) renderUnplaced(unplaced []planner.UnplacedDemand) {
	if len(unplaced) > 0 {
		a.printf("\nBlocked demand\n")
	}
	for _, u := range unplaced {
		a.printf("  %s  %s\n", u.Reason.Code(), u.Reason.TextAt(a.now()))
		for _, near := range u.Nearest {
			a.printf("    %s: %s\n", near.Fleet, near.Reason.TextAt(a.now()))
		}
	}
}

func (a *app) renderHoldsAndWaits(f view.Fleet) {
	if f.Hold == nil && len(f.Waiting) == 0 {
		return
	}
	a.printf("\nWaiting\n")
	if f.Hold != nil {
		a.printf("  no starts: %s\n", holdText(*f.Hold, a.now()))
	}
	for _, w := range f.Waiting {
		if !planner.Repeats(w, f.Hold) {
			a.printf("  %s  %s\n", w.Code(), w.TextAt(a.now()))
		}
	}
	if next := a.nextChange(f); next != "" && !a.triesFirst(f) {
		a.printf("  %s\n", next)
	}
}

// triesFirst says that the next try of what holds the fleet comes before all else.
func (a *app) triesFirst(f view.Fleet) bool {
	return f.Hold != nil && f.Hold.Until.After(a.now()) && !f.Next.Before(f.Hold.Until)
}

// renderExpectedWaits are the waits that are nothing amiss; the others are among the
// reasons.
func (a *app) renderExpectedWaits(f view.Fleet) {
	for _, w := range f.Waiting {
		if planner.Expected(w) {
			a.printf("  %s. %s\n", w.TextAt(a.now()), a.nextChange(f))
		}
	}
}

func (a *app) nextChange(f view.Fleet) string {
	next := f.Next
	if next.IsZero() {
		return ""
	}
	if a.triesFirst(f) {
		next = f.Hold.Until
	}
	return fmt.Sprintf("Next check in %s.", max(next.Sub(a.now()).Round(time.Second), time.Second))
}
