package orders

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// ReservationRequest is what a reservation is made from.
type ReservationRequest struct {
	// Class is the name of a capacity class of an applied fleet.
	Class      string
	Quantity   int
	Start, End time.Time
	LeadTime   time.Duration
	// Fleet is the address or name of the one that has to have it; empty: any.
	Fleet     string
	Scope     fleet.FleetScope
	Dedicated bool
	Reason    string
}

// mostReservations bounds those made by command that haven't ended.
const mostReservations = 200

// CreateReservation promises capacity of a class for a time. It makes no lease: which jobs
// run there is the scheduler's to say (spec §100).
func (h Handler) CreateReservation(ctx context.Context, r ReservationRequest) (planner.ReservationPlan, error) {
	none := planner.ReservationPlan{}
	caller, err := access.Authorize(ctx, "reservation create")
	if err != nil {
		return none, err
	}
	state, err := h.store.Load(ctx)
	if err != nil {
		return none, err
	}
	now := h.clock()
	made, err := newReservation(state, caller, r, now)
	if err != nil {
		return none, err
	}
	id, err := fleet.NewULID(now, rand.Reader)
	if err != nil {
		return none, err
	}
	made.ID = fleet.CapacityReservationID(id)
	record, err := access.NewAuditRecord(
		ctx,
		h.clock(),
		"reservation create",
		fmt.Sprintf("%s: %d of %s from %s to %s%s", id, made.Quantity, made.Class.Name,
			fleet.TimeText(made.Start), fleet.TimeText(made.End), afterSemicolon(r.Reason)),
	)
	if err != nil {
		return none, err
	}
	if err := h.store.SetOverride(ctx, made, record); err != nil {
		return none, err
	}
	if _, err := h.noted(ctx, "the reservation "+id); err != nil {
		return none, err
	}
	if state, err = h.store.Load(ctx); err != nil {
		return none, err
	}
	for _, p := range h.queries.PlannedReservations(state) {
		if p.ID == made.ID {
			return p, nil
		}
	}
	return planner.ReservationPlan{CapacityReservation: made}, nil // it has ended meanwhile
}

// newReservation holds a request against itself and against what was applied.
func newReservation(
	s snapshot.State,
	caller access.Caller,
	r ReservationRequest,
	now time.Time,
) (fleet.CapacityReservation, error) {
	made := fleet.CapacityReservation{
		Quantity:  r.Quantity,
		Start:     r.Start.UTC(),
		End:       r.End.UTC(),
		LeadTime:  r.LeadTime,
		Scope:     r.Scope,
		Dedicated: r.Dedicated,
		Made:      fleet.Attribution{By: caller.Name, At: now.UTC(), Reason: r.Reason},
	}
	if why := reservationProblem(made, now); why != "" {
		return made, &access.InvalidError{Reason: "invalid reservation: " + why}
	}
	ended := func(r fleet.CapacityReservation) bool { return !now.Before(r.End) }
	if n := len(slices.DeleteFunc(slices.Clone(s.Overrides.Reservations), ended)); n >= mostReservations {
		return made, access.Conflict(
			"%d reservations were created by command, which is the limit; delete some, or write them into the file",
			n,
		)
	}
	if len(caller.Fleets) > 0 && r.Fleet == "" {
		return made, &access.DeniedError{
			Caller:  caller.Name,
			UseCase: "reservation create for",
			Fleet:   "any fleet of the class",
		}
	}
	v := &validation{state: s, caller: caller}
	if r.Fleet != "" {
		f, err := v.fleet(r.Fleet)
		if err != nil {
			return made, err
		}
		made.Fleet = f.Address
	}
	class, err := classOf(s, made.Fleet, r.Class)
	made.Class = class
	return made, err
}

// reservationProblem says what is wrong with a request by itself; "": nothing.
func reservationProblem(r fleet.CapacityReservation, now time.Time) string {
	switch {
	case r.Quantity < 1 || r.Quantity > MostInstances:
		return fmt.Sprintf("quantity is %d: use 1 to %d", r.Quantity, MostInstances)
	case r.Start.IsZero() || r.End.IsZero():
		return "it needs a start and an end with date, time and zone, such as 2027-01-10T08:00:00Z"
	case r.Start.Year() < 1 || r.End.Year() > 9999: // no record holds such a time
		return "start and end must be in the years 1 to 9999 (UTC)"
	case !r.End.After(r.Start):
		return fmt.Sprintf("the end %s is not after the start %s", fleet.TimeText(r.End), fleet.TimeText(r.Start))
	case !r.End.After(now):
		return fmt.Sprintf("the end %s is in the past", fleet.TimeText(r.End))
	case r.LeadTime < 0 || r.LeadTime > LongestOverride:
		return fmt.Sprintf("the lead time is %s: use 0 to %d days", r.LeadTime, LongestOverride/(24*time.Hour))
	case r.Scope.Tenant != "" && r.Scope.Project != "":
		return "a reservation is for a tenant or a project; give one of them"
	case r.Dedicated && r.Scope == fleet.FleetScope{}:
		return "dedicated capacity needs a tenant or a project"
	}
	for _, text := range []struct{ of, is string }{{"reason", r.Made.Reason}, {"tenant", r.Scope.Tenant},
		{"project", r.Scope.Project}} {
		if why := TextProblem(text.is); why != "" {
			return "the " + text.of + " " + why
		}
	}
	return ""
}

// classOf is the class of a name as the fleets have it; where a fleet that the file
// no longer mentions has an older one, the one that was applied last.
func classOf(s snapshot.State, address fleet.FleetAddress, name string) (fleet.CapacityClass, error) {
	var names []string
	var with []fleet.ManagedFleet
	for _, f := range s.Fleets {
		if address != "" && f.Address != address {
			continue
		}
		if names = append(names, f.Class.Name); f.Class.Name == name {
			with = append(with, f)
		}
	}
	if len(with) == 0 {
		of := "no fleet has"
		if address != "" {
			of = string(address) + " hasn't"
		}
		return fleet.CapacityClass{}, access.Invalid("%s the capacity class %q; valid: %s", of, name, listed(names))
	}
	return slices.MaxFunc(with, func(a, b fleet.ManagedFleet) int {
		return cmp.Or(cmp.Compare(a.Serial, b.Serial), strings.Compare(string(a.Address), string(b.Address)))
	}).Class, nil
}

// DeleteReservation ends a reservation that was made by command.
func (h Handler) DeleteReservation(ctx context.Context, id fleet.CapacityReservationID) error {
	caller, err := access.Authorize(ctx, "reservation delete")
	if err != nil {
		return err
	}
	if strings.HasPrefix(string(id), "reservation.") {
		return access.Conflict("%s is defined in the file: remove its block there, and apply", id)
	}
	state, err := h.store.Load(ctx)
	if err != nil {
		return err
	}
	missing := &access.NotFoundError{Kind: "reservation", ID: string(id)}
	n := slices.IndexFunc(state.Overrides.Reservations, func(r fleet.CapacityReservation) bool { return r.ID == id })
	if n < 0 || !caller.MaySee(state.Overrides.Reservations[n]) {
		return missing
	}
	record, err := access.NewAuditRecord(ctx, h.clock(), "reservation delete", string(id))
	if err != nil {
		return err
	}
	ended, err := h.store.ClearOverride(ctx, state.Overrides.Reservations[n], record)
	if err != nil {
		return err
	}
	if !ended {
		return missing
	}
	_, err = h.noted(ctx, "the end of the reservation "+string(id))
	return err
}
