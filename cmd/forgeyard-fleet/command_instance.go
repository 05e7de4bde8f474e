package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/control"
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
	var dir, fleetName string
	var asJSON, unrecorded bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the live instances, a line each",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.look(c, dir, func(ctx context.Context, look control.Reader, manager string) error {
				if unrecorded {
					return a.listUnrecorded(ctx, look, manager, asJSON)
				}
				instances, err := look.Instances(ctx)
				if err != nil {
					return err
				}
				if fleetName != "" {
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
	lookFlags(c, &dir, &asJSON)
	c.Flags().StringVar(&fleetName, "fleet", "", "only those of one fleet")
	c.Flags().BoolVar(&unrecorded, "unrecorded", false, "list what providers have without a live record instead: orphans of ours, and foreign resources")
	c.MarkFlagsMutuallyExclusive("fleet", "unrecorded")
	return c
}

func (a *app) instanceShowCommand() *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "show INSTANCE",
		Short: "Show everything that is known of an instance",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c, dir, func(ctx context.Context, look control.Reader, _ string) error {
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
	lookFlags(c, &dir, &asJSON)
	return c
}
