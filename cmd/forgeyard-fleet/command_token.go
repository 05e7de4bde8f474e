package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func (a *app) tokenCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke API tokens",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
	return c
}

func (a *app) tokenCreateCommand() *cobra.Command {
	var permissions, fleets []string
	var wanted access.NewToken
	var host joinFlags
	var names []string
	for _, p := range access.AllPermissions() {
		names = append(names, string(p))
	}
	c := &cobra.Command{
		Use:   "create NAME --permission PERMISSION | --join HOST",
		Short: "Make an API token, or the command that joins a host; its secret is shown this once",
		Long: "Make an API token, whose secret is shown this once.\n\n" +
			"With --join, claim a host of an inventory for a fleet and print the one line that, pasted on the host, makes\n" +
			"it a runner. The line holds a token that is good once and for 24 hours; the same command again makes a new\n" +
			"line and voids the one before, until the host is joined.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if host.join != "" {
				return a.join(c, args, fleets, host)
			}
			if len(args) == 0 || host.foreground {
				return errors.New("token create needs the NAME of an API token, or --join HOST, and --foreground goes with the latter")
			}
			if len(permissions) == 0 {
				return fmt.Errorf("the token %q could do nothing: say what it may do with --permission, often or with commas: %s", args[0], strings.Join(names, ", "))
			}
			wanted.Name = args[0]
			for _, p := range permissions {
				wanted.Permissions = append(wanted.Permissions, access.Permission(p))
			}
			for _, f := range fleets {
				wanted.Fleets = append(wanted.Fleets, fleet.FleetAddress(f))
			}
			return a.withService(c, func(ctx context.Context, s control.Service) error {
				token, secret, err := s.CreateToken(ctx, wanted)
				if err != nil {
					return err
				}
				a.printf("Token %s (%s). Its secret, shown this once:\n%s\n", token.Name, token.ID, secret)
				return nil
			})
		},
	}
	host.register(c.Flags())
	sentAs(c, "join", "host")
	c.Flags().StringSliceVar(&permissions, "permission", nil, "what it may do, needed but with --join, often or with commas: "+strings.Join(names, ", "))
	c.Flags().StringSliceVar(&fleets, "fleet", nil, "limit it to fleets, as fleet.NAME; may be given often. With --join: the one fleet that the host joins")
	wanted.For = 30 * 24 * time.Hour
	spanFlag(c.Flags(), &wanted.For, "for", 0, access.LongestToken, "how long it is good; 0: until it is revoked")
	_ = c.RegisterFlagCompletionFunc("permission", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	a.completes(c, nil, "fleet", a.fleetAddresses)
	return c
}

func (a *app) tokenListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the API tokens, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.look(c, func(ctx context.Context, s control.Reader, _ string) error {
				tokens, err := s.Tokens(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(tokens)
				}
				a.renderTokens(tokens)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	return c
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "revoke NAME|ID",
		Short: "End an API token at once",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withService(c, func(ctx context.Context, s control.Service) error {
				if err := s.DeleteToken(ctx, args[0]); err != nil {
					return err
				}
				a.printf("Token %s is revoked.\n", args[0])
				return nil
			})
		},
	}
	a.completes(c, a.tokenNames, "", nil)
	return c
}

func (a *app) renderTokens(tokens []access.Token) {
	if len(tokens) == 0 {
		a.printf("There are no API tokens.\n")
		return
	}
	a.table([]string{"NAME", "ID", "PERMISSIONS", "FLEETS", "UNTIL", "BY"}, len(tokens), func(n int) []any {
		t := tokens[n]
		fleets := "all"
		if len(t.Fleets) > 0 {
			fleets = joinWords(t.Fleets)
		}
		until := "revoked"
		switch {
		case !t.Revoked.IsZero():
		case t.Expires.IsZero():
			until = "revoked by hand"
		default:
			until = moment(t.Expires)
		}
		return []any{t.Name, t.ID, joinWords(t.Permissions), fleets, until, t.By}
	})
}

// joinWords joins words of any kind with commas.
func joinWords[T ~string](words []T) string {
	var text []string
	for _, w := range words {
		text = append(text, string(w))
	}
	slices.Sort(text)
	return strings.Join(text, ",")
}
