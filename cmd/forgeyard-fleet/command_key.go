package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
)

func (a *app) keyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "key",
		Short: "List, rotate and drop the installation's keys",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.keyListCommand(), a.keyRotateCommand(), a.keyDropCommand())
	return c
}

func (a *app) keyListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the keys: what each is for, and what an old one is still needed for",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withService(c, func(ctx context.Context, s control.Service) error {
				keys, err := s.Keys(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(keys)
				}
				for _, key := range keys {
					a.renderKey(key)
				}
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	return c
}

func (a *app) keyRotateCommand() *cobra.Command {
	var flags standingFlags
	c := &cobra.Command{
		Use:   "rotate KIND",
		Short: "Replace a key (authority, enrollment or ownership) by a new one",
		Long: "Replace the key of a kind by a new one, which is used from now on: authority (or ca), enrollment or\n" +
			"ownership, as key list names them. The old one stays trusted until nothing needs it any more and is dropped\n" +
			"then by itself; an old ownership key stays until it is dropped by hand. It works with a running manager and\n" +
			"without.",
		ValidArgs: []string{"authority", "ca", "enrollment", "ownership"},
		Args:      cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(c.ValidArgs, args[0]) {
				return fmt.Errorf("there is no kind of key %.60q: it is authority, enrollment or ownership", args[0])
			}
			question := fmt.Sprintf("Replace the %s key by a new one? It can't be taken back.", args[0])
			if yes, err := a.agreed(c, flags, nil, question); err != nil || !yes {
				return err
			}
			return a.withService(c, func(ctx context.Context, s control.Service) error {
				key, err := s.RotateKey(ctx, args[0])
				if err != nil {
					return err
				}
				a.printf("The %s key is %s now: %s.\n", key.Kind, key.ID, key.Replaces)
				if key.Fingerprint != "" {
					a.printf("Its fingerprint is %s\n", key.Fingerprint)
				}
				return nil
			})
		},
	}
	flags.asks(c)
	return c
}

func (a *app) keyDropCommand() *cobra.Command {
	var flags standingFlags
	c := &cobra.Command{
		Use:   "drop ID",
		Short: "End the trust in an old key now, if nothing needs it",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			question := fmt.Sprintf("End the trust in the key %s? It can't be taken back.", args[0])
			if yes, err := a.agreed(c, flags, nil, question); err != nil || !yes {
				return err
			}
			return a.withService(c, func(ctx context.Context, s control.Service) error {
				if err := s.DeleteKey(ctx, args[0]); err != nil {
					return err
				}
				a.printf("Key %s isn't trusted any more, and its file is removed.\n", args[0])
				return nil
			})
		},
	}
	flags.asks(c)
	return c
}

func (a *app) renderKey(k keys.Key) {
	state := "in use since " + moment(k.Created)
	if !k.Retired.IsZero() {
		state = "retired since " + moment(k.Retired)
	}
	a.printf("%s %s   %s\n", k.Kind, k.ID, state)
	if k.Fingerprint != "" {
		a.printf("  fingerprint %s\n", k.Fingerprint)
	}
	if k.Retired.IsZero() {
		a.printf("  %s\n  rotate with: forgeyard-fleet key rotate %s; then %s\n", k.Purpose, k.Kind, k.Replaces)
		return
	}
	if len(k.Needed) == 0 {
		a.printf("  nothing needs it; it is dropped within the hour by a running manager\n")
	}
	for _, why := range k.Needed {
		a.printf("  still needed: %s\n", strings.TrimSuffix(why, "."))
	}
}
