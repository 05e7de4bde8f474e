package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/control"
)

func (a *app) planCommand() *cobra.Command {
	var variables variableFlags
	var detailed, asJSON, prune bool
	c := &cobra.Command{
		Use:   "plan [DIR]",
		Short: "Show what apply would change, and why",
		Long: "Show what apply would change: the difference between the fleet files and what was applied last, and\n" +
			"what would then happen to each fleet, with the chain of bounds behind the number.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w, submission, err := a.submission(args, variables, prune)
			if err != nil {
				return err
			}
			plan, err := a.plan(c, w, submission)
			if err != nil {
				return err
			}
			if err := a.report(plan.Warnings); err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(plan)
			} else {
				a.renderPlan(plan)
			}
			if err == nil && detailed && plan.HasChanges() {
				return exitStatus(exitChanges)
			}
			return err
		},
	}
	variables.register(c.Flags())
	c.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 where applying would change the definition, or replace or remove instances")
	c.Flags().BoolVar(&prune, "prune", false, "plan to take away the fleets that the files don't mention")
	c.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON")
	return c
}

// plan compares the files with what is stored, without becoming the writer.
func (a *app) plan(c *cobra.Command, w control.Workspace, s control.Submission) (plan control.Plan, err error) {
	options, err := a.options(w, c.CommandPath())
	if err != nil {
		return plan, err
	}
	ctx := caller(c)
	err = a.reading(ctx, options, func(r control.Reader, _ string) error {
		plan, err = r.Plan(ctx, s)
		return err
	})
	if errors.Is(err, control.ErrNothingApplied) {
		return control.PlanFromNothing(ctx, s, options)
	}
	return plan, err
}
