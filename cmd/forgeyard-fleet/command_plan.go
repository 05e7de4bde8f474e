package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// planFlags are the flags of plan.
type planFlags struct {
	variables                variableFlags
	detailed, asJSON, pruned bool
	out                      string
}

func (a *app) planCommand() *cobra.Command {
	var flags planFlags
	c := &cobra.Command{
		Use:   "plan [DIR]",
		Short: "Show what apply would change, and why",
		Long: "Show what apply would change: the difference between the fleet files and the applied definition, and " +
			"what would\n" +
			"happen to each fleet, with the limits behind each number. With --out the plan is saved to a file that show\n" +
			"prints on any machine and that apply applies exactly, once.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			plan, err := a.plan(c, args, flags)
			if err != nil {
				return err
			}
			if flags.asJSON {
				err = a.printJSON(plan)
			} else {
				a.page().Plan(plan)
			}
			if flags.out != "" {
				fmt.Fprintf(
					a.err,
					"Plan saved to %s. Apply it with:\n  forgeyard-fleet apply %s\n",
					flags.out,
					text.ShellQuote(flags.out),
				)
			}
			if err == nil && flags.detailed && plan.HasChanges() {
				return exitStatus(exitChanges)
			}
			return err
		},
	}
	flags.variables.register(c.Flags())
	c.Flags().
		BoolVar(&flags.detailed, "detailed-exitcode", false,
			"exit with 2 if apply would change the definition, or replace or remove instances")
	c.Flags().BoolVar(&flags.pruned, "prune", false, "plan to remove the fleets that the files don't mention")
	c.Flags().BoolVar(&flags.asJSON, "json", false, "print the plan as JSON")
	c.Flags().
		StringVar(&flags.out, "out", "",
			"save the plan to this file; it contains the fleet files, but no secrets and no sensitive values")
	return c
}

// plan compares the files with what is stored, without becoming the writer, and
// saves the plan where that is asked for.
func (a *app) plan(c *cobra.Command, args []string, flags planFlags) (plans.Plan, error) {
	w, submission, err := a.submission(args, flags.variables, flags.pruned)
	if err != nil {
		return plans.Plan{}, err
	}
	options, err := a.options(w, c.CommandPath())
	if err != nil {
		return plans.Plan{}, err
	}
	ctx := caller(c)
	plan, err := a.planned(ctx, submission, options)
	if err != nil {
		return plans.Plan{}, err
	}
	if err := a.report(plan.Warnings); err != nil {
		return plans.Plan{}, err
	}
	if flags.out == "" {
		return plan, nil
	}
	saved, err := plan.Save(ctx, submission, options)
	if err != nil {
		return plans.Plan{}, err
	}
	return saved.Plan, plans.WriteFile(flags.out, saved)
}

func (a *app) planned(ctx context.Context, s plans.Submission, o workspace.Options) (plan plans.Plan, err error) {
	err = a.reading(ctx, o, func(r installation.Reader, _ string) error {
		a.tellVersion(r)
		plan, err = r.Plan(ctx, s)
		return err
	})
	if errors.Is(err, workspace.ErrNothingApplied) {
		return plans.FirstPlan(ctx, s, o)
	}
	return plan, err
}
