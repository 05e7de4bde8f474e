package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
)

func (a *app) showCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show PLANFILE",
		Short: "Show a saved plan",
		Long: "Show a plan that plan --out saved. It needs neither plugins nor an installation. Who created the plan, " +
			"when, and\n" +
			"which sensitive variables apply needs is printed to standard error.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			saved, err := plans.ReadFile(args[0])
			if err != nil {
				return err
			}
			if err := a.report(saved.Plan.Warnings); err != nil {
				return err
			}
			a.noteOrigin(saved)
			if asJSON {
				return a.printJSON(saved.Plan)
			}
			a.page().Plan(saved.Plan)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON, as plan --json does")
	return c
}

// noteOrigin says beside a saved plan whose it is.
func (a *app) noteOrigin(saved plans.SavedPlan) {
	by := saved.Plan.Approval.Saved
	fmt.Fprintf(a.err, "Plan %s for installation %s, saved by %s at %s with version %s.\n",
		by.ID, saved.Plan.Installation, by.By, render.Moment(by.Made), saved.Program)
	if needed := saved.Sensitive.Needed; len(needed) > 0 {
		fmt.Fprintf(a.err, "To apply it, set its sensitive variables again: %s.\n", render.JoinWords(needed))
	}
}

// isPlanFile says whether an argument names a plan rather than a directory.
func isPlanFile(args []string) bool {
	if len(args) == 0 {
		return false
	}
	info, err := os.Stat(args[0])
	return err == nil && !info.IsDir()
}
