package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// explainedDecisions is how many decisions an explanation shows.
const explainedDecisions = 10

func (a *app) explainCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "explain FLEET",
		Short: "Explain why a fleet has so many instances: bounds, unmet demand, waits and decisions",
		Long: "Explain why a fleet has so many instances: the chain of bounds from the demand of its scheduler to the desired\n" +
			"number, waiting work that nothing covers, with the requirement that the nearest fleets miss, what the fleet waits\n" +
			"for and until when, the offers that hosts could be made of with their prices and their age, and what was decided last.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c, func(ctx context.Context, look control.Reader, manager string) error {
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
	a.printf("%s has %s of %d wanted: ready %d (%s), on the way %d.\n", f.Address,
		plural(f.Counts.Capacity, "instance"), f.Desired, f.Counts.Ready, busyWords(f, manager), f.Counts.Provisioning)
	a.printf("\nWhy %d\n", f.Desired)
	a.renderBounds("  ", f.Bounds)
	a.renderNextWarm("  ", f.NextWarm)
	if f.Cost != nil {
		a.printf("\nAn estimate, and no bill\n")
		a.renderCost("  ", f.Cost)
	}
	if len(f.Standing) > 0 {
		a.printf("\nDecided by people\n")
	}
	for _, text := range f.Standing {
		a.printf("  %s\n", text)
	}
	if f.Rollout != nil {
		a.printf("\nRollout, since %s\n  %s\n", moment(f.Rollout.Began), f.Rollout.Sentence)
	}
	a.renderScheduler(f, manager)
	a.renderInterruptions(f.Interruptions)
	a.renderUnmet(f.Unmet)
	a.renderHoldsAndWaits(f)
	if f.Offers.Worth() {
		a.printf("\nWhat the next hosts could be made of, the first choice first\n")
		a.renderOffers("  ", f.Offers, allOffers)
	}
	if len(f.Decisions) > 0 {
		a.printf("\nDecided last, the newest first\n")
	}
	for _, d := range f.Decisions {
		a.printf("  %s  %-10s  %s\n", moment(d.At), d.Kind, d.Reason)
	}
}

// renderScheduler says whose demand the fleet follows, and where nobody knows it.
func (a *app) renderScheduler(f view.Fleet, manager string) {
	switch {
	case f.Scheduler == "":
	case manager == "":
		a.printf("\nIt follows scheduler.%s, which nobody asks while no manager runs.\n", f.Scheduler)
	case f.Unseen != "":
		a.printf("\nIt follows scheduler.%s, which can't be seen: %s.\n", f.Scheduler, f.Unseen)
	default:
		a.printf("\nIt follows scheduler.%s.\n", f.Scheduler)
	}
}

func (a *app) renderInterruptions(lines []string) {
	if len(lines) > 0 {
		a.printf("\nAnnounced by its provider\n")
	}
	for _, line := range lines {
		a.printf("  %s\n", line)
	}
}

func (a *app) renderUnmet(unmet []planner.Unmet) {
	if len(unmet) > 0 {
		a.printf("\nWaits in vain\n")
	}
	for _, u := range unmet {
		a.printf("  %s  %s\n", u.Code, u.Sentence)
		for _, near := range u.Nearest {
			a.printf("    %s: %s\n", near.Fleet, near.Reason)
		}
	}
}

func (a *app) renderHoldsAndWaits(f view.Fleet) {
	if f.Hold == nil && len(f.Waiting) == 0 {
		return
	}
	a.printf("\nIt waits\n")
	if f.Hold != nil {
		a.printf("  nothing is started: %s\n", planner.HoldSentence(*f.Hold, a.now()))
	}
	for _, w := range f.Waiting {
		if !w.Repeats(f.Hold) {
			a.printf("  %s  %s\n", w.Code, w.Sentence)
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

// renderCalmWaits are the waits that are nothing amiss; the others are among the
// reasons.
func (a *app) renderCalmWaits(f view.Fleet) {
	for _, w := range f.Waiting {
		if w.Code.Calm() {
			a.printf("  %s %s\n", w.Sentence, a.nextChange(f))
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
	return fmt.Sprintf("It is looked at again in %s.", max(next.Sub(a.now()).Round(time.Second), time.Second))
}
