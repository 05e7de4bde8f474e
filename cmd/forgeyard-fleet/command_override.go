package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/argument"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// errForMissing is for overrides without a duration.
//
//nolint:staticcheck // ST1005: two sentences for people
var errForMissing = errors.New(
	"--for is required, for example --for 2h. For a permanent change, edit the file.")

// overrideFlags are the flags of every command that makes or clears an override.
type overrideFlags struct {
	autoApprove, asJSON bool
	reason              string
}

func (f *overrideFlags) register(c *cobra.Command, asks, gives bool) {
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	if asks {
		f.asks(c)
	}
	if gives {
		c.Flags().Var(argument.ReasonFlag{Into: &f.reason}, "reason", "why, shown to others")
	}
}

// asks is the flag of every command that asks first.
func (f *overrideFlags) asks(c *cobra.Command) {
	c.Flags().BoolVar(&f.autoApprove, "auto-approve", false, "don't ask for confirmation")
}

// giveOverride makes or clears an override, or has that checked.
type giveOverride func(context.Context, installation.Orders) (orders.OverrideReceipt, error)

// override asks where there is a question, and has the manager that runs, or
// else the state directory, keep the order.
func (a *app) override(c *cobra.Command, flags overrideFlags, question string, give giveOverride) error {
	check := func(ctx context.Context, look installation.Reader) error {
		_, err := give(ctx, look.CheckOrders())
		return err
	}
	if yes, err := a.agreed(c, flags, check, question); err != nil || !yes {
		return err
	}
	return a.withService(c, func(ctx context.Context, s installation.Service) error {
		receipt, err := give(ctx, s.Orders())
		if err != nil {
			return err
		}
		if flags.asJSON {
			return a.printJSON(receipt)
		}
		a.printf("%s: %s.\n", receipt.Subject, receipt.Done)
		if !receipt.Loop && receipt.Changed {
			a.printf("No manager is running. The next one will apply this.\n")
		}
		return nil
	})
}

func (a *app) scaleCommand() *cobra.Command {
	var flags overrideFlags
	var least, most int
	var clear bool
	var o orders.ScaleRequest
	c := &cobra.Command{
		Use:   "scale FLEET --min N --max N --for DURATION | --clear",
		Short: "Override a fleet's min, max or both for a time",
		Long: "Override the min, the max or both of a fleet's file for a time of at most 30 days; afterwards the " +
			"file applies\n" +
			"again. The max may be higher than the file's. A fleet that may not scale to zero keeps at least one " +
			"instance, and\n" +
			"a protected fleet can't be overridden. --clear ends the override early.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Fleet, o.Reason = args[0], flags.reason
			if c.Flags().Changed("min") {
				o.Min = &least
			}
			if c.Flags().Changed("max") {
				o.Max = &most
			}
			question := fmt.Sprintf("Override the limits of %s for %s?", args[0], o.For)
			switch {
			case clear:
				question = ""
			case o.Min == nil && o.Max == nil:
				return errors.New("give --min, --max or both, or --clear to end an override")
			case !c.Flags().Changed("for"):
				return errForMissing
			}
			return a.override(c, flags, question,
				func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
					if clear {
						return to.ClearScale(ctx, o.Fleet)
					}
					return to.ScaleFleet(ctx, o)
				})
		},
	}
	flags.register(c, true, true)
	argument.NumberFlag(c.Flags(), &least, "min", 0, orders.MostInstances, "minimum number of instances")
	argument.NumberFlag(c.Flags(), &most, "max", 0, orders.MostInstances, "maximum number of instances")
	argument.SpanFlag(c.Flags(), &o.For, "for", 1, orders.LongestOverride, "how long the override lasts, for example 2h")
	c.Flags().BoolVar(&clear, "clear", false, "end the override early")
	for _, other := range []string{"min", "max", "for"} {
		c.MarkFlagsMutuallyExclusive("clear", other)
	}
	a.completes(c, a.fleetNames, "", nil)
	return c
}

func (a *app) pinCommand() *cobra.Command {
	var flags overrideFlags
	o := orders.PinRequest{For: 4 * time.Hour}
	var clear bool
	c := &cobra.Command{
		Use:   "pin INSTANCE [--for DURATION | --clear]",
		Short: "Exclude an instance from scale-down, max_age and rollouts for a time",
		Long: "Keep an instance for a time of at most 30 days, for example to debug it: scale-down, max_age and " +
			"rollouts don't\n" +
			"remove it. It is still removed by drain, by a quarantine, with its fleet, by its provider, and when its agent\n" +
			"reaches its own limit of jobs or age. --clear ends the pin early.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if o.Instance, err = a.instanceNamed(c, args[0]); err != nil {
				return err
			}
			o.Reason = flags.reason
			return a.override(c, flags, "", func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
				if clear {
					return to.ClearPin(ctx, o.Instance)
				}
				return to.PinInstance(ctx, o)
			})
		},
	}
	flags.register(c, false, true)
	argument.SpanFlag(c.Flags(), &o.For, "for", 1, orders.LongestOverride, "how long the pin lasts")
	c.Flags().BoolVar(&clear, "clear", false, "end the pin early")
	c.MarkFlagsMutuallyExclusive("clear", "for")
	a.completes(c, a.instanceIDs, "", nil)
	return c
}
