package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

func (a *app) instanceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "instance",
		Short: "Show, replace, resolve and adopt instances",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		a.instanceListCommand(),
		a.instanceShowCommand(),
		a.instanceResolveCommand(),
		a.instanceReplaceCommand(),
		a.instanceAdoptCommand(),
	)
	return c
}

func (a *app) instanceListCommand() *cobra.Command {
	var fleetName, before string
	var asJSON, everything, unrecorded bool
	limit := 100
	c := &cobra.Command{
		Use:   "list",
		Short: "List the live instances",
		Long: "List the live instances by fleet. With --all ended instances are listed too, the newest first; --before " +
			"continues\n" +
			"where a list of --limit ended. Ended instances are kept for 30 days.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if everything {
				return a.listHistory(
					c,
					query.HistoryFilter{Fleet: fleetName, Before: fleet.CapacityInstanceID(before), Limit: limit},
					asJSON,
				)
			}
			if c.Flags().Changed("before") || c.Flags().Changed("limit") {
				return errors.New("--before and --limit need --all")
			}
			return a.look(c, func(ctx context.Context, look installation.Reader, manager string) error {
				if unrecorded {
					return a.listUnrecorded(ctx, look, manager, asJSON)
				}
				instances, err := look.Instances(ctx)
				if err != nil {
					return err
				}
				if fleetName != "" {
					if err := fleetIsThere(ctx, look, fleetName); err != nil {
						return err
					}
					instances = slices.DeleteFunc(instances, func(i view.Instance) bool {
						return i.Fleet.Name() != fleetName && string(i.Fleet) != fleetName
					})
				}
				if asJSON {
					return a.printJSON(instances)
				}
				a.page().Instances(instances)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	c.Flags().StringVar(&fleetName, "fleet", "", "list only the instances of this fleet")
	c.Flags().BoolVar(&everything, "all", false, "list ended instances too, the newest first")
	numberFlag(c.Flags(), &limit, "limit", 1, 1000, "with --all: maximum number of instances")
	c.Flags().StringVar(&before, "before", "", "with --all: list instances older than the one with this id")
	a.completes(c, nil, "fleet", a.fleetNames)
	a.completes(c, nil, "before", a.instanceIDs)
	c.Flags().
		BoolVar(&unrecorded, "unrecorded", false,
			"list the resources at providers that have no live record: orphans and foreign resources")
	c.MarkFlagsMutuallyExclusive("fleet", "unrecorded")
	c.MarkFlagsMutuallyExclusive("all", "unrecorded")
	return c
}

// listHistory lists what is and was.
func (a *app) listHistory(c *cobra.Command, q query.HistoryFilter, asJSON bool) error {
	if q.Limit < 1 || q.Limit > 1000 {
		return fmt.Errorf("--limit %d: must be 1 ≤ limit ≤ 1000", q.Limit)
	}
	if q.Before != "" {
		var err error
		if q.Before, err = a.instanceNamed(c, string(q.Before)); err != nil {
			return err
		}
	}
	return a.look(c, func(ctx context.Context, look installation.Reader, _ string) error {
		page, err := look.History(ctx, q)
		if err == nil && len(page.Instances) == 0 && q.Fleet != "" {
			err = fleetIsThere(ctx, look, q.Fleet) // else it has, or had, instances
		}
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(page.Instances)
		}
		a.page().History(page)
		return nil
	})
}

func (a *app) instanceShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show INSTANCE",
		Short: "Show all details of an instance",
		Long: "Show all details of a live or ended instance. Wherever a command takes an INSTANCE, the beginning or " +
			"the end of\n" +
			"its id is enough if it is unique.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c, func(ctx context.Context, look installation.Reader, _ string) error {
				i, err := look.Instance(ctx, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(i)
				}
				a.page().Instance(i)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	a.completes(c, a.instanceIDs, "", nil)
	return c
}
