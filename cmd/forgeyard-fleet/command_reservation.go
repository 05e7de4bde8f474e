package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

func (a *app) reservationCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "reservation",
		Short: "Create, list and delete reservations of capacity for a time",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.reservationCreateCommand(), a.reservationListCommand(), a.reservationDeleteCommand())
	return c
}

func (a *app) reservationCreateCommand() *cobra.Command {
	var r orders.ReservationRequest
	var start, end string
	var shared, asJSON bool
	c := &cobra.Command{
		Use:   "create --class CLASS --quantity N --start TIME --end TIME",
		Short: "Reserve capacity of a class for a time",
		Long: "Reserve a number of instances of a capacity class from --start to --end; they are started " +
			"--lead-time earlier.\n" +
			"Write times with date and zone, for example 2027-01-10T08:00:00Z or 2027-01-10T09:00:00+01:00. Overlapping\n" +
			"reservations add up, and queued jobs of the class use the reserved instances; the scheduler still decides what\n" +
			"runs where. With --dedicated only fleets whose scope is the --tenant or --project provide it. If part of a\n" +
			"reservation isn't available, this command (exit code 3) and every plan say so; the reservation is stored anyway.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if r.Start, err = timeWithZone("start", start); err != nil {
				return err
			}
			if r.End, err = timeWithZone("end", end); err != nil {
				return err
			}
			return a.withService(c, func(ctx context.Context, s installation.Service) error {
				made, err := s.CreateReservation(ctx, r)
				if err != nil {
					return err
				}
				return a.reserved(made, asJSON)
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&r.Class, "class", "", "name of the capacity class")
	numberFlag(f, &r.Quantity, "quantity", 1, orders.MostInstances, "number of instances")
	f.StringVar(&start, "start", "", "when the instances must be ready")
	f.StringVar(&end, "end", "", "when the reservation ends")
	spanFlag(
		f,
		&r.LeadTime,
		"lead-time",
		0,
		orders.LongestOverride,
		"how long before the start the instances are started, for example 15m",
	)
	f.StringVar(&r.Fleet, "fleet", "", "fleet that provides the instances (default: any fleet of the class)")
	f.StringVar(&r.Scope.Tenant, "tenant", "", "tenant the reservation is for")
	f.StringVar(&r.Scope.Project, "project", "", "project the reservation is for")
	f.BoolVar(&r.Dedicated, "dedicated", false, "use only fleets dedicated to the tenant or project")
	f.BoolVar(&shared, "shared", false, "let other jobs use the instances too (the default)")
	f.Var(reasonFlag{&r.Reason}, "reason", "why, shown to others")
	sentAs(c, "class", "capacity_class")
	c.MarkFlagsMutuallyExclusive("dedicated", "shared")
	c.MarkFlagsMutuallyExclusive("tenant", "project")
	for _, needed := range []string{"class", "quantity", "start", "end"} {
		_ = c.MarkFlagRequired(needed) // it is there: the lines above made it
	}
	a.completes(c, nil, "class", a.classNames)
	a.completes(c, nil, "fleet", a.fleetNames)
	return c
}

// reserved shows a new reservation and what part of it isn't available.
func (a *app) reserved(made planner.ReservationPlan, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(made); err != nil {
			return err
		}
	} else {
		a.printf("Reservation %s: %d of %s from %s to %s.\n", made.ID, made.Quantity, made.Class.Name,
			render.Moment(made.Start), render.Moment(made.End))
		a.page().Unkept([]planner.ReservationPlan{made})
	}
	if made.Missing > 0 {
		return exitStatus(exitUnresolved)
	}
	return nil
}

func timeWithZone(flag, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf(
			"--%s %q: invalid time; give date, time and zone, for example 2027-01-10T08:00:00Z or 2027-01-10T09:00:00+01:00",
			flag,
			text,
		)
	}
	return at, nil
}

func (a *app) reservationListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the current and future reservations, from the files and created by command",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.look(c, func(ctx context.Context, look installation.Reader, _ string) error {
				found, err := look.Reservations(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(slices.Concat([]planner.ReservationPlan{}, found))
				}
				a.page().Reservations(found)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	return c
}

func (a *app) reservationDeleteCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "delete RESERVATION",
		Short: "Delete a reservation that was created by command; its instances scale down as usual",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withService(c, func(ctx context.Context, s installation.Service) error {
				if err := s.DeleteReservation(ctx, fleet.CapacityReservationID(args[0])); err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(map[string]string{"deleted": args[0]})
				}
				a.printf("Reservation %s deleted.\n", args[0])
				return nil
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	a.completes(c, a.reservationIDs, "", nil)
	return c
}

// reservationIDs are those that can be deleted.
func (a *app) reservationIDs(ctx context.Context, look installation.Reader) ([]string, error) {
	all, err := look.Reservations(ctx)
	var found []string
	for _, r := range all {
		if r.ID != "" {
			found = append(found, fmt.Sprintf("%s\t%d of %s, %s", r.ID, r.Quantity, r.Class.Name, r.State))
		}
	}
	return found, err
}

func (a *app) classNames(ctx context.Context, look installation.Reader) ([]string, error) {
	fleets, err := look.Fleets(ctx)
	var found []string
	for _, f := range fleets {
		found = append(found, f.Class)
	}
	slices.Sort(found)
	return slices.Compact(found), err
}
