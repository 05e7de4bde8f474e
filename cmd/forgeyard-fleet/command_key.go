package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/installation"
)

func (a *app) keyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "key",
		Short: "List, rotate and delete the installation's keys",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.keyListCommand(), a.keyRotateCommand(), a.keyDeleteCommand())
	return c
}

func (a *app) keyListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the keys with their purposes, and what still needs an old key",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withService(c, func(ctx context.Context, s installation.Service) error {
				keys, err := s.Keys(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(keys)
				}
				for _, key := range keys {
					a.page().Key(key)
				}
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	return c
}

func (a *app) keyRotateCommand() *cobra.Command {
	var flags overrideFlags
	c := &cobra.Command{
		Use:   "rotate KIND",
		Short: "Replace a key (authority, enrollment or ownership) with a new one",
		Long: "Replace the key of a kind (authority or ca, enrollment, ownership) with a new one, which is used " +
			"from now on.\n" +
			"The old key stays trusted while something needs it and is then deleted automatically; an old ownership " +
			"key stays\n" +
			"until key delete. Works with and without a running manager.",
		ValidArgs: []string{"authority", "ca", "enrollment", "ownership"},
		Args:      cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(c.ValidArgs, args[0]) {
				return fmt.Errorf("invalid kind of key %.60q; valid kinds: authority, enrollment, ownership", args[0])
			}
			question := fmt.Sprintf("Replace the %s key? This can't be undone.", args[0])
			if yes, err := a.agreed(c, flags, nil, question); err != nil || !yes {
				return err
			}
			return a.withService(c, func(ctx context.Context, s installation.Service) error {
				key, err := s.RotateKey(ctx, args[0])
				if err != nil {
					return err
				}
				a.printf("The %s key is now %s: %s.\n", key.Kind, key.ID, key.Replaces)
				if key.Fingerprint != "" {
					a.printf("Fingerprint: %s\n", key.Fingerprint)
				}
				return nil
			})
		},
	}
	flags.asks(c)
	return c
}

func (a *app) keyDeleteCommand() *cobra.Command {
	var flags overrideFlags
	c := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete an old key now, if nothing needs it",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			question := fmt.Sprintf("Delete the key %s? This can't be undone.", args[0])
			if yes, err := a.agreed(c, flags, nil, question); err != nil || !yes {
				return err
			}
			return a.withService(c, func(ctx context.Context, s installation.Service) error {
				if err := s.DeleteKey(ctx, args[0]); err != nil {
					return err
				}
				a.printf("Key %s deleted: it is no longer trusted, and its file is removed.\n", args[0])
				return nil
			})
		},
	}
	flags.asks(c)
	return c
}
