package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/installation"
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
				a.page().Explanation(f, manager)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	a.completes(c, a.fleetNames, "", nil)
	return c
}
