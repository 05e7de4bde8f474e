package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// lastDecisions is how many decisions the status of a single fleet shows.
const lastDecisions = 5

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status [FLEET]",
		Short: "Show the numbers and health of all fleets, or of one with its recent decisions",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c, func(ctx context.Context, look installation.Reader, manager string) error {
				fleets, err := look.Fleets(ctx)
				if err != nil {
					return err
				}
				if len(args) == 1 {
					if fleets, err = only(fleets, args[0]); err != nil {
						return err
					}
					decisions, err := look.Decisions(ctx, fleets[0].Address, lastDecisions)
					if err != nil {
						return err
					}
					fleets[0].Decisions = view.Decisions(decisions)
				}
				if asJSON {
					return a.printJSON(fleets)
				}
				refusals, err := look.Refusals(ctx)
				if err != nil {
					return err
				}
				a.page().Status(fleets, manager)
				a.page().Refusals(refusals)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	a.completes(c, a.fleetNames, "", nil)
	return c
}

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the fleets",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.look(c, func(ctx context.Context, look installation.Reader, manager string) error {
				fleets, err := look.Fleets(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(fleets)
				}
				a.page().Fleets(fleets)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	return c
}

// lookFlags are the flags of every command that looks.
func lookFlags(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

// look reads an installation, from the manager that runs or from its state
// directory. The manager's words are empty where none runs.
func (a *app) look(c *cobra.Command, do func(context.Context, installation.Reader, string) error) error {
	options, err := a.installed(c)
	if err != nil {
		return err
	}
	ctx := caller(c)
	return a.reading(ctx, options, func(r installation.Reader, manager string) error { return do(ctx, r, manager) })
}

// fleetIsThere fails if no fleet has the name or address: an empty list would look as
// if the fleet had nothing to show.
func fleetIsThere(ctx context.Context, look installation.Reader, name string) error {
	fleets, err := look.Fleets(ctx)
	if err == nil {
		_, err = only(fleets, name)
	}
	return err
}

// only is the fleet of a name or address.
func only(fleets []view.Fleet, name string) ([]view.Fleet, error) {
	n := slices.IndexFunc(fleets, func(f view.Fleet) bool { return string(f.Address) == name || f.Address.Name() == name })
	if n >= 0 {
		return fleets[n : n+1], nil
	}
	e := &noFleetError{name: name}
	for _, f := range fleets {
		e.there = append(e.there, f.Address.Name())
	}
	return nil, e
}

// noFleetError says that no fleet has a name, and which names fleets have.
type noFleetError struct {
	name  string
	there []string
}

func (e *noFleetError) Error() string {
	if len(e.there) == 0 {
		return fmt.Sprintf("fleet %q not found; no fleets exist. Add a fleet block and run:\n  forgeyard-fleet apply", e.name)
	}
	return fmt.Sprintf("fleet %q not found; fleets: %s", e.name, strings.Join(e.there, ", "))
}
