package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Queries answer what people ask of an installation.
type Queries struct {
	store *store.Store
	// now makes a snapshot of a state that was loaded just now.
	now Present
	// refused are the calls of agents that a running manager refused; nil: none
	// runs here.
	refused func() []fleet.Refusal
}

// Present is what is known beyond the store.
type Present struct {
	Clock        func() time.Time
	AgentVersion string
	// Observed is what a running manager knows; zero: none runs here.
	Observed func() snapshot.Observations
}

// Snapshot is a state that was loaded just now with what is known beyond it.
func (p Present) Snapshot(state snapshot.State) snapshot.Snapshot {
	return snapshot.Snapshot{Now: p.Clock(), AgentVersion: p.AgentVersion, State: state, Observations: p.Observed()}
}

// New asks a store that may be read-only. refused are the calls of agents that it
// refused; nil: none runs here.
func New(s *store.Store, now Present, refused func() []fleet.Refusal) Queries {
	return Queries{store: s, now: now, refused: refused}
}

// Fleets lists the caller's fleets with their numbers, health and reasons.
func (q Queries) Fleets(ctx context.Context) ([]view.Fleet, error) {
	caller, err := access.Authorize(ctx, "fleets")
	if err != nil {
		return nil, err
	}
	state, err := q.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	fleets := slices.DeleteFunc(
		view.Fleets(q.now.Snapshot(state)),
		func(f view.Fleet) bool { return !caller.MayTouch(f.Address) },
	)
	for n := range fleets {
		fleets[n].Unplaced = caller.Unplaced(fleets[n].Unplaced)
	}
	return fleets, nil
}

// Instances lists the live instances of the caller's fleets.
func (q Queries) Instances(ctx context.Context) ([]view.Instance, error) {
	caller, err := access.Authorize(ctx, "instances")
	if err != nil {
		return nil, err
	}
	state, err := q.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(
		view.Instances(q.now.Snapshot(state)),
		func(i view.Instance) bool { return !caller.MayTouch(i.Fleet) },
	), nil
}

// Decisions are the newest decisions about a fleet.
func (q Queries) Decisions(ctx context.Context, address fleet.FleetAddress, limit int) ([]fleet.Decision, error) {
	caller, err := access.Authorize(ctx, "decisions")
	if err != nil {
		return nil, err
	}
	fleets, err := q.store.Fleets(ctx)
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(fleets, func(f fleet.ManagedFleet) bool { return f.Address == address })
	if n < 0 || !caller.MayTouch(address) {
		return nil, &access.NotFoundError{Kind: "fleet", ID: string(address)}
	}
	return q.store.Decisions(ctx, fleets[n].ID, limit)
}

// Images lists the images of the caller's fleets.
func (q Queries) Images(ctx context.Context) ([]view.ImageReport, error) {
	caller, err := access.Authorize(ctx, "images")
	if err != nil {
		return nil, err
	}
	state, err := q.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return view.Images(q.now.Snapshot(state), caller.MayTouch), nil
}

// Reservations are those that haven't ended. Callers who are limited to fleets see
// those that name one of theirs.
func (q Queries) Reservations(ctx context.Context) ([]planner.ReservationPlan, error) {
	caller, err := access.Authorize(ctx, "reservations")
	if err != nil {
		return nil, err
	}
	state, err := q.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return caller.Reservations(q.PlannedReservations(state)), nil
}

// PlannedReservations are those of a state with what of each is there and missing now.
func (q Queries) PlannedReservations(state snapshot.State) []planner.ReservationPlan {
	return planner.Plan(q.now.Snapshot(state)).Reservations
}

// Unrecorded lists what providers have of the installation that no live instance
// accounts for, as the running manager last saw it; without one nothing is known.
// Callers who are limited to fleets see the orphans of those.
func (q Queries) Unrecorded(ctx context.Context) ([]fleet.UnrecordedResource, error) {
	caller, err := access.Authorize(ctx, "unrecorded")
	if err != nil {
		return nil, err
	}
	return VisibleUnrecorded(q.now.Observed().Unrecorded, caller), nil
}

// VisibleUnrecorded lists of what providers have what the caller may see.
func VisibleUnrecorded(
	seen map[fleet.ProviderAddress]fleet.Unrecorded,
	caller access.Caller,
) []fleet.UnrecordedResource {
	all := []fleet.UnrecordedResource{}
	for _, u := range seen {
		all = append(all, caller.Unrecorded(u).Resources...)
	}
	slices.SortStableFunc(all, func(a, b fleet.UnrecordedResource) int {
		return cmp.Or(
			cmp.Compare(a.Provider, b.Provider),
			-cmp.Compare(a.Classification, b.Classification),
			cmp.Compare(a.ID, b.ID),
		)
	})
	return all
}
