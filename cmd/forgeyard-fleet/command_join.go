package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// joinFlags are those of token create that are about a host.
type joinFlags struct {
	join               string
	foreground, asJSON bool
}

func (f *joinFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.join, "join", "", "claim this `HOST` of an inventory and print the command that joins it")
	flags.BoolVar(&f.foreground, "foreground", false, "with --join: the agent runs in the shell where the command is pasted, and not as a service")
	flags.BoolVar(&f.asJSON, "json", false, "with --join: print JSON")
}

// join claims a host and prints its command: on standard output nothing but the
// line, so that it may be piped; what a person should know is beside it.
func (a *app) join(c *cobra.Command, args, fleets []string, host joinFlags) error {
	if len(args) > 0 || len(fleets) > 1 || c.Flags().Changed("permission") || c.Flags().Changed("for") {
		return errors.New("token create --join HOST takes no name, permission or time, and one --fleet at most: the token is good once and for 24 hours")
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
		fmt.Fprintf(a.err, "Host %s is claimed for %s until %s. Paste this line on the host:\n\n", ticket.Host, ticket.Fleet, moment(ticket.Expires))
		a.printf("%s\n", ticket.Command)
		fmt.Fprintln(a.err)
		if ticket.Renewed {
			fmt.Fprintln(a.err, "The line that was made before is void.")
		}
		for _, note := range ticket.Notes {
			fmt.Fprintf(a.err, "! %s\n", note)
		}
		fmt.Fprintln(a.err, "It holds a token that is good once: keep it to yourself until it was used.")
		return nil
	})
}

// renderToJoin shows the hosts that wait for a person, with what to do.
func (a *app) renderToJoin(indent string, f fleet.FleetAddress, hosts []planner.HostToJoin) {
	if len(hosts) == 0 {
		return
	}
	waits := "hosts wait"
	if len(hosts) == 1 {
		waits = "host waits"
	}
	a.printf("%s%d %s to be joined:\n", indent, len(hosts), waits)
	for _, h := range hosts {
		command := []string{"forgeyard-fleet", "token", "create", "--join", h.Host}
		if h.Ambiguous {
			command = append(command, "--fleet", shellWord(f.Name()))
		}
		until := ""
		if !h.Until.IsZero() {
			until = "   (claimed; its line is good until " + moment(h.Until) + ")"
		}
		a.printf("%s  %s%s\n", indent, strings.Join(command, " "), until)
	}
}

// shellWord quotes an address of for_each, which has brackets and quotes.
func shellWord(text string) string {
	if strings.ContainsAny(text, `["]`) {
		return "'" + text + "'"
	}
	return text
}
