package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

func (a *app) breakGlassCommand() *cobra.Command {
	var flags standingFlags
	var hourly, daily string
	var o orders.OverrideCostsRequest
	var end bool
	c := &cobra.Command{
		Use:   "break-glass FLEET --for DURATION --reason TEXT [--max-hourly AMOUNT] [--max-daily AMOUNT] | --end",
		Short: "Raise or lift a fleet's cost guardrails for a time; it ends by itself",
		Long: "Let a fleet cost more than its file's max_hourly and max_daily for a time, at most 3 days; then the file's hold\n" +
			"again. An amount goes in the place of the file's; without any nothing limits what the fleet costs. Nothing else is\n" +
			"relaxed, and nothing that started meanwhile is ended afterwards. --end ends it before its time.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			o.Fleet, o.Reason = args[0], flags.reason
			if o.MaxHourly, err = amountFlag("max-hourly", hourly); err != nil {
				return err
			}
			if o.MaxDaily, err = amountFlag("max-daily", daily); err != nil {
				return err
			}
			question := fmt.Sprintf("Let %s cost more than its file allows, for %s?", args[0], o.For)
			switch {
			case end:
				question = ""
			case !c.Flags().Changed("for"):
				return errors.New("say how long with --for, such as --for 2h; what is to last belongs into the file")
			case flags.reason == "":
				return errors.New("say why with --reason: somebody will ask about the money")
			}
			return a.override(c, flags, question, func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
				if end {
					return to.ClearCostOverride(ctx, o.Fleet)
				}
				return to.OverrideCosts(ctx, o)
			})
		},
	}
	flags.register(c, true, true)
	c.Flags().StringVar(&hourly, "max-hourly", "", "what an hour may cost meanwhile, such as \"10 USD\"")
	c.Flags().StringVar(&daily, "max-daily", "", "what a day may cost")
	spanFlag(c.Flags(), &o.For, "for", 1, orders.LongestCostOverride, "how long, such as 2h")
	c.Flags().BoolVar(&end, "end", false, "let the file's cost guardrails hold again")
	for _, other := range []string{"max-hourly", "max-daily", "for"} {
		c.MarkFlagsMutuallyExclusive("end", other)
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
