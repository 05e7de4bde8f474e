package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spf13/pflag"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/argument"
	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

func (a *app) tokenCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Create, list and delete API tokens, and join machines of an inventory",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.tokenCreateCommand(), a.tokenListCommand(), a.tokenDeleteCommand())
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
		Short: "Create an API token, or a command that joins a machine",
		Long: "Create an API token. Its secret is shown only now.\n\n" +
			"With --join, claim a machine of an inventory for a fleet and print one command line. Run on the machine, it\n" +
			"installs the agent and makes the machine a runner. The line contains a token that can be used once, within 24\n" +
			"hours; running token create --join again replaces the line until the machine has joined.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if host.join != "" {
				return a.join(c, args, fleets, host)
			}
			if len(args) == 0 || host.foreground {
				return errors.New("give the NAME of an API token, or --join HOST; --foreground is valid only with --join")
			}
			wanted.Name = args[0]
			var err error
			if wanted.Permissions, err = permissionsOf(args[0], permissions, names); err != nil {
				return err
			}
			for _, f := range fleets {
				wanted.Fleets = append(wanted.Fleets, fleet.FleetAddress(f))
			}
			return a.withService(c, func(ctx context.Context, s installation.Service) error {
				token, secret, err := s.CreateToken(ctx, wanted)
				if err != nil {
					return err
				}
				a.printf("Token %s (%s) created. Its secret, shown only now:\n%s\n", token.Name, token.ID, secret)
				return nil
			})
		},
	}
	host.register(c.Flags())
	argument.SentAs(c, "join", "host")
	c.Flags().
		StringSliceVar(&permissions, "permission", nil,
			"permissions, repeated or separated by commas; required without --join: "+strings.Join(names, ", "))
	c.Flags().
		StringSliceVar(&fleets, "fleet", nil,
			"limit the token to this fleet, as fleet.NAME; can be repeated. With --join: the fleet that the machine joins")
	wanted.For = 30 * 24 * time.Hour
	argument.SpanFlag(c.Flags(), &wanted.For, "for", 0, access.LongestToken,
		"how long the token is valid; 0: until it is deleted")
	_ = c.RegisterFlagCompletionFunc("permission", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	a.completes(c, nil, "fleet", a.fleetAddresses)
	return c
}

// permissionsOf reads the permissions of a token; names are those that there are.
func permissionsOf(token string, given, names []string) ([]access.Permission, error) {
	if len(given) == 0 {
		return nil, fmt.Errorf("--permission is required for token %q; valid values, repeated or separated by commas: %s",
			token, strings.Join(names, ", "))
	}
	var all []access.Permission
	for _, p := range given {
		if !slices.Contains(names, p) {
			return nil, fmt.Errorf("--permission: unknown value %q; valid: %s", p, strings.Join(names, ", "))
		}
		all = append(all, access.Permission(p))
	}
	return all, nil
}

func (a *app) tokenListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the API tokens without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.look(c, func(ctx context.Context, s installation.Reader, _ string) error {
				tokens, err := s.Tokens(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(tokens)
				}
				a.page().Tokens(tokens)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	return c
}

func (a *app) tokenDeleteCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "delete NAME|ID",
		Short: "Delete an API token; it stops working at once",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withService(c, func(ctx context.Context, s installation.Service) error {
				if err := s.DeleteToken(ctx, args[0]); err != nil {
					return err
				}
				a.printf("Token %s deleted.\n", args[0])
				return nil
			})
		},
	}
	a.completes(c, a.tokenNames, "", nil)
	return c
}

// joinFlags are those of token create that are about a host.
type joinFlags struct {
	join               string
	foreground, asJSON bool
}

func (f *joinFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.join, "join", "", "claim this `HOST` of an inventory and print the command that joins it")
	flags.BoolVar(
		&f.foreground,
		"foreground",
		false,
		"with --join: run the agent in the foreground instead of as a service",
	)
	flags.BoolVar(&f.asJSON, "json", false, "with --join: print JSON")
}

// join claims a host and prints its command: on standard output nothing but the
// line, so that it may be piped; what a person should know is beside it.
func (a *app) join(c *cobra.Command, args, fleets []string, host joinFlags) error {
	if len(args) > 0 || len(fleets) > 1 || c.Flags().Changed("permission") || c.Flags().Changed("for") {
		return errors.New(
			"--join can't be combined with a NAME, --permission, --for or several --fleet: its token can be used once, " +
				"within 24 hours",
		)
	}
	request := orders.JoinRequest{Host: host.join, Foreground: host.foreground}
	if len(fleets) == 1 {
		request.Fleet = fleets[0]
	}
	return a.withService(c, func(ctx context.Context, s installation.Service) error {
		ticket, err := s.Join(ctx, request)
		if err != nil {
			return err
		}
		if host.asJSON {
			return a.printJSON(ticket)
		}
		fmt.Fprintf(
			a.err,
			"Host %s is claimed for %s until %s. Run this line on the host:\n\n",
			ticket.Host,
			ticket.Fleet,
			render.Moment(ticket.Expires),
		)
		a.printf("%s\n", ticket.Command)
		fmt.Fprintln(a.err)
		if ticket.Renewed {
			fmt.Fprintln(a.err, "The previous line is no longer valid.")
		}
		for _, note := range ticket.Notes {
			fmt.Fprintf(a.err, "! %s\n", note)
		}
		fmt.Fprintln(a.err, "The line contains a one-time token; keep it secret until it is used.")
		return nil
	})
}
