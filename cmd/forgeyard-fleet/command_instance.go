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
		Short: "Look at single instances, and decide about them",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.instanceListCommand(), a.instanceShowCommand(), a.instanceResolveCommand(), a.instanceReplaceCommand(), a.instanceAdoptCommand())
	return c
}

func (a *app) instanceListCommand() *cobra.Command {
	var fleetName, before string
	var asJSON, everything, unrecorded bool
	limit := 100
	c := &cobra.Command{
		Use:   "list",
		Short: "List the live instances, a line each",
		Long: "List the live instances, by fleet, a line each. With --all it lists those that ended, too, the newest first and\n" +
			"how each one ended; --before goes on where a list of --limit ended. Ended ones are kept for 30 days.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if everything {
				return a.listHistory(c, query.HistoryFilter{Fleet: fleetName, Before: fleet.CapacityInstanceID(before), Limit: limit}, asJSON)
			}
			if c.Flags().Changed("before") || c.Flags().Changed("limit") {
				return errors.New("--before and --limit are for long lists; give --all, too")
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
				a.renderInstances(instances)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	c.Flags().StringVar(&fleetName, "fleet", "", "only those of one fleet")
	c.Flags().BoolVar(&everything, "all", false, "list the ended ones, too, the newest first")
	numberFlag(c.Flags(), &limit, "limit", 1, 1000, "with --all: how many at most, of up to 1000")
	c.Flags().StringVar(&before, "before", "", "with --all: only those older than the instance of this id")
	a.completes(c, nil, "fleet", a.fleetNames)
	a.completes(c, nil, "before", a.instanceIDs)
	c.Flags().BoolVar(&unrecorded, "unrecorded", false, "list what providers have without a live record instead: orphans of ours, and foreign resources")
	c.MarkFlagsMutuallyExclusive("fleet", "unrecorded")
	c.MarkFlagsMutuallyExclusive("all", "unrecorded")
	return c
}

// listHistory lists what is and was.
func (a *app) listHistory(c *cobra.Command, q query.HistoryFilter, asJSON bool) error {
	if q.Limit < 1 || q.Limit > 1000 {
		return fmt.Errorf("--limit %d: give a number from 1 to 1000", q.Limit)
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
		a.renderHistory(page)
		return nil
	})
}

func (a *app) instanceShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show INSTANCE",
		Short: "Show everything that is known of an instance",
		Long: "Show everything that is known of an instance, live or ended. The beginning or the end of its id is\n" +
			"enough where no other has it, here and wherever an INSTANCE is asked for.",
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
				a.renderInstance(i)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	a.completes(c, a.instanceIDs, "", nil)
	return c
}
