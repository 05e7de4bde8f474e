package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

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
