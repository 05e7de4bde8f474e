package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// standingFlags are the flags of every command that decides something which holds
// until it expires or is taken back.
type standingFlags struct {
	autoApprove, asJSON bool
	reason              string
}

func (f *standingFlags) register(c *cobra.Command, asks, gives bool) {
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	if asks {
		f.asks(c)
	}
	if gives {
		c.Flags().Var(reason{&f.reason}, "reason", "why, for others to read")
	}
}

// asks is the flag of every command that asks first.
func (f *standingFlags) asks(c *cobra.Command) {
	c.Flags().BoolVar(&f.autoApprove, "auto-approve", false, "don't ask before it is done")
}

// giveOverride gives an order, or has it checked.
type giveOverride func(context.Context, installation.Orders) (orders.OverrideReceipt, error)

// override asks where there is a question, and has the manager that runs, or
// else the state directory, keep the order.
func (a *app) override(c *cobra.Command, flags standingFlags, question string, give giveOverride) error {
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
			a.printf("No manager runs; the next one goes by it.\n")
		}
		return nil
	})
}

func (a *app) scaleCommand() *cobra.Command {
	var flags standingFlags
	var least, most int
	var clear bool
	var o orders.ScaleRequest
	c := &cobra.Command{
		Use:   "scale FLEET --min N --max N --for DURATION | --clear",
		Short: "Replace a fleet's min, max or both for a time; it ends by itself",
		Long: "Replace the min, the max or both of a fleet's file for a time, at most 30 days; then the file's hold again. The\n" +
			"max may be more than the file's. A fleet whose file doesn't allow scale to zero keeps at least one, and a\n" +
			"protected fleet keeps the size of its file. --clear ends it before its time.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Fleet, o.Reason = args[0], flags.reason
			if c.Flags().Changed("min") {
				o.Min = &least
			}
			if c.Flags().Changed("max") {
				o.Max = &most
			}
			question := fmt.Sprintf("Replace the limits of %s for %s?", args[0], o.For)
			switch {
			case clear:
				question = ""
			case o.Min == nil && o.Max == nil:
				return errors.New("give --min, --max or both, or --clear to let the file's hold again")
			case !c.Flags().Changed("for"):
				return errors.New("say how long with --for, such as --for 2h; what is to last belongs into the file")
			}
			return a.override(c, flags, question, func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
				if clear {
					return to.ClearScale(ctx, o.Fleet)
				}
				return to.ScaleFleet(ctx, o)
			})
		},
	}
	flags.register(c, true, true)
	numberFlag(c.Flags(), &least, "min", 0, orders.MostInstances, "the least number of instances")
	numberFlag(c.Flags(), &most, "max", 0, orders.MostInstances, "the most")
	spanFlag(c.Flags(), &o.For, "for", 1, orders.LongestOverride, "how long, such as 2h")
	c.Flags().BoolVar(&clear, "clear", false, "let the file's min and max hold again")
	for _, other := range []string{"min", "max", "for"} {
		c.MarkFlagsMutuallyExclusive("clear", other)
	}
	a.completes(c, a.fleetNames, "", nil)
	return c
}

func (a *app) pinCommand() *cobra.Command {
	var flags standingFlags
	o := orders.PinRequest{For: 4 * time.Hour}
	c := &cobra.Command{
		Use:   "pin INSTANCE [--for DURATION]",
		Short: "Keep an instance out of scale-downs, max_age and rollouts for a time",
		Long: "Keep an instance for a time, at most 30 days, for example to look at it: it isn't chosen for a scale-down,\n" +
			"max_age or a rollout. An operator's drain, a quarantine, the removal of its fleet and the provider still take\n" +
			"it, and so does its agent's own limit of jobs or age.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if o.Instance, err = a.instanceNamed(c, args[0]); err != nil {
				return err
			}
			o.Reason = flags.reason
			return a.override(c, flags, "", func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
				return to.PinInstance(ctx, o)
			})
		},
	}
	flags.register(c, false, true)
	spanFlag(c.Flags(), &o.For, "for", 1, orders.LongestOverride, "how long")
	a.completes(c, a.instanceIDs, "", nil)
	return c
}

func (a *app) unpinCommand() *cobra.Command {
	var flags standingFlags
	c := &cobra.Command{
		Use:   "unpin INSTANCE",
		Short: "End a pin before its time",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := a.instanceNamed(c, args[0])
			if err != nil {
				return err
			}
			return a.override(c, flags, "", func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
				return to.ClearPin(ctx, id)
			})
		},
	}
	flags.register(c, false, false)
	a.completes(c, a.instanceIDs, "", nil)
	return c
}
