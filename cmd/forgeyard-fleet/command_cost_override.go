package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/argument"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

func (a *app) costOverrideCommand() *cobra.Command {
	var flags overrideFlags
	var hourly, daily string
	var o orders.OverrideCostsRequest
	var clear bool
	c := &cobra.Command{
		Use:   "cost-override FLEET --for DURATION --reason TEXT [--max-hourly AMOUNT] [--max-daily AMOUNT] | --clear",
		Short: "Raise or lift a fleet's cost guardrails for a time",
		Long: "Let a fleet cost more than max_hourly and max_daily in its file for a time of at most 3 days; " +
			"afterwards the file\n" +
			"applies again. A given amount replaces the one in the file; without any amount the cost isn't limited. No other\n" +
			"limit changes, and instances started during the override keep running afterwards. --clear ends it early.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			o.Fleet, o.Reason = args[0], flags.reason
			if o.MaxHourly, err = amountFlag("max-hourly", hourly); err != nil {
				return err
			}
			if o.MaxDaily, err = amountFlag("max-daily", daily); err != nil {
				return err
			}
			question := fmt.Sprintf("Override the cost guardrails of %s for %s?", args[0], o.For)
			switch {
			case clear:
				question = ""
			case !c.Flags().Changed("for"):
				return errForMissing
			case flags.reason == "":
				return errors.New("--reason is required: others will ask why the fleet cost more")
			}
			return a.override(
				c,
				flags,
				question,
				func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
					if clear {
						return to.ClearCostOverride(ctx, o.Fleet)
					}
					return to.OverrideCosts(ctx, o)
				},
			)
		},
	}
	flags.register(c, true, true)
	c.Flags().StringVar(&hourly, "max-hourly", "", "limit per hour during the override, for example \"10 USD\"")
	c.Flags().StringVar(&daily, "max-daily", "", "limit per day during the override")
	argument.SpanFlag(c.Flags(), &o.For, "for", 1, orders.LongestCostOverride,
		"how long the override lasts, for example 2h")
	c.Flags().BoolVar(&clear, "clear", false, "end the override early")
	for _, other := range []string{"max-hourly", "max-daily", "for"} {
		c.MarkFlagsMutuallyExclusive("clear", other)
	}
	a.completes(c, a.fleetNames, "", nil)
	return c
}

// amountFlag reads money from a flag; "": none.
func amountFlag(name, text string) (fleet.Money, error) {
	if text == "" {
		return fleet.Money{}, nil
	}
	amount, err := fleet.ParseMoney(text)
	if err != nil {
		return fleet.Money{}, fmt.Errorf("--%s %q: %w", name, text, err)
	}
	return amount, nil
}
