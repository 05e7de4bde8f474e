package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

func (a *app) reservationCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "reservation",
		Short: "Make, list and cancel reservations: capacity that is there for a time",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.reservationCreateCommand(), a.reservationListCommand(), a.reservationCancelCommand())
	return c
}

func (a *app) reservationCreateCommand() *cobra.Command {
	var r control.ReservationRequest
	var start, end string
	var shared, asJSON bool
	c := &cobra.Command{
		Use:   "create --class CLASS --quantity N --start TIME --end TIME",
		Short: "Promise capacity of a class for a time",
		Long: "Promise that a number of instances of a capacity class are there from --start to --end, made --lead-time before.\n" +
			"Times are written with date and zone, such as 2027-01-10T08:00:00Z or 2027-01-10T09:00:00+01:00. It makes no\n" +
			"lease: the scheduler decides what runs. Overlapping reservations add up, and waiting work of the class uses what\n" +
			"is reserved. With --dedicated only fleets whose scope is the --tenant or --project may have it. What can't be\n" +
			"had is said at once and in every plan; the reservation is kept all the same, and the status is 3.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if r.Start, err = timeWithZone("start", start); err != nil {
				return err
			}
			if r.End, err = timeWithZone("end", end); err != nil {
				return err
			}
			return a.withService(c, func(ctx context.Context, s control.Service) error {
				made, err := s.Reserve(ctx, r)
				if err != nil {
					return err
				}
				return a.reserved(made, asJSON)
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&r.Class, "class", "", "the name of a fleet's capacity class")
	numberFlag(f, &r.Quantity, "quantity", 1, control.MostInstances, "how many instances")
	f.StringVar(&start, "start", "", "when they must be there")
	f.StringVar(&end, "end", "", "when they needn't be there any more")
	spanFlag(f, &r.LeadTime, "lead-time", 0, control.LongestStanding, "how long before the start they are made, such as 15m")
	f.StringVar(&r.Fleet, "fleet", "", "the fleet that has to have them (default: any of the class)")
	f.StringVar(&r.Scope.Tenant, "tenant", "", "for whom they are")
	f.StringVar(&r.Scope.Project, "project", "", "for whom they are")
	f.BoolVar(&r.Dedicated, "dedicated", false, "only in fleets that are for the tenant or project alone")
	f.BoolVar(&shared, "shared", false, "others' jobs may use them, too (the default)")
	f.Var(reason{&r.Reason}, "reason", "why, for others to read")
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

// reserved says what was promised, and what of it can't be kept.
func (a *app) reserved(made planner.ReservationPlan, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(made); err != nil {
			return err
		}
	} else {
		a.printf("Reservation %s: %d of %s from %s to %s.\n", made.ID, made.Quantity, made.Class.Name,
			moment(made.Start), moment(made.End))
		a.renderUnkept([]planner.ReservationPlan{made})
	}
	if made.Missing > 0 {
		return exitStatus(exitUnresolved)
	}
	return nil
}

func timeWithZone(flag, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("--%s %q: give date, time and zone, such as 2027-01-10T08:00:00Z or 2027-01-10T09:00:00+01:00", flag, text)
	}
	return at, nil
}

func (a *app) reservationListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the reservations that haven't ended, of the file and made by command",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.look(c, func(ctx context.Context, look control.Reader, _ string) error {
				found, err := look.Reservations(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(slices.Concat([]planner.ReservationPlan{}, found))
				}
				a.renderReservations(found)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	return c
}

func (a *app) renderReservations(found []planner.ReservationPlan) {
	if len(found) == 0 {
		a.printf("There are no reservations.\n")
		return
	}
	a.table([]string{"RESERVATION", "CLASS", "QUANTITY", "START", "END", "STATE", "FOR", "IN", "BY"}, len(found), func(n int) []any {
		r := found[n]
		var in []string
		for _, share := range r.Shares {
			in = append(in, fmt.Sprintf("%s %d", share.Fleet, share.Quantity))
		}
		whom := orDash(r.Scope.Tenant + r.Scope.Project)
		if r.Dedicated {
			whom += ", dedicated"
		}
		by := r.Made.By
		if r.ID == "" {
			by = "the file"
		}
		return []any{r.Address(), r.Class.Name, r.Quantity, moment(r.Start), moment(r.End), r.State, whom, orDash(strings.Join(in, ", ")), by}
	})
	a.renderUnkept(found)
}

// renderUnkept shows the promises that can't be kept.
func (a *app) renderUnkept(found []planner.ReservationPlan) {
	for _, r := range found {
		if r.Missing > 0 {
			a.printf("! %s\n", r.Sentence)
		}
	}
}

func (a *app) reservationCancelCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "cancel RESERVATION",
		Short: "End a reservation that was made by command; its hosts leave as for any scale-down",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withService(c, func(ctx context.Context, s control.Service) error {
				if err := s.DeleteReservation(ctx, fleet.CapacityReservationID(args[0])); err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(map[string]string{"cancelled": args[0]})
				}
				a.printf("Reservation %s is cancelled.\n", args[0])
				return nil
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	a.completes(c, a.reservationIDs, "", nil)
	return c
}

// reservationIDs are those that can be cancelled.
func (a *app) reservationIDs(ctx context.Context, look control.Reader) ([]string, error) {
	all, err := look.Reservations(ctx)
	var found []string
	for _, r := range all {
		if r.ID != "" {
			found = append(found, fmt.Sprintf("%s\t%d of %s, %s", r.ID, r.Quantity, r.Class.Name, r.State))
		}
	}
	return found, err
}

func (a *app) classNames(ctx context.Context, look control.Reader) ([]string, error) {
	fleets, err := look.Fleets(ctx)
	var found []string
	for _, f := range fleets {
		found = append(found, f.Class)
	}
	slices.Sort(found)
	return slices.Compact(found), err
}
