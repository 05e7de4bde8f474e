package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/control"
)

func (a *app) planCommand() *cobra.Command {
	var variables variableFlags
	var detailed, asJSON bool
	c := &cobra.Command{
		Use:   "plan [DIR]",
		Short: "Show what apply would change, and why",
		Long: "Show what apply would change: the difference between the fleet files and what was applied last, and\n" +
			"what would then happen to each fleet, with the chain of bounds behind the number.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w, err := a.workspace(args)
			if err != nil {
				return err
			}
			loaded, err := a.load(w, variables)
			if err != nil {
				return err
			}
			if err := a.validateWithPlugins(c, w, loaded); err != nil {
				return err
			}
			plan, err := a.plan(c, w, loaded)
			if err != nil {
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
	c.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON")
	return c
}

// plan compares the files with what is stored, without becoming the writer.
func (a *app) plan(c *cobra.Command, w control.Workspace, loaded *config.Loaded) (control.Plan, error) {
	options, err := a.options(w, c.CommandPath())
	if err != nil {
		return control.Plan{}, err
	}
	look, err := control.OpenToLook(c.Context(), options)
	if errors.Is(err, control.ErrNothingApplied) {
		return control.PlanFromNothing(loaded.Definition, options)
	}
	if err != nil {
		return control.Plan{}, err
	}
	plan, err := look.Plan(c.Context(), loaded.Definition)
	return plan, errors.Join(err, look.Close())
}
