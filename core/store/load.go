package store

import (
	"context"
	"database/sql"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// State is all that the loop plans from, as of one moment, each list in the
// order of ids. It is the caller's own.
type State struct {
	// Serial is of the current definition; 0: nothing was applied yet.
	Serial int64
	// Providers are those of the current definition.
	Providers []fleet.Provider
	// Fleets are those not retired, the ones being removed among them.
	Fleets []fleet.ManagedFleet
	// Instances are the live ones. Departing are gone, and their scheduler has yet to
	// be told; Operations and Runners are theirs.
	Instances  []fleet.CapacityInstance
	Departing  []fleet.CapacityInstance
	Operations []fleet.Operation
	Runners    []fleet.Runner
	// Leases are what ended instances are paid for, as far as that may be of today or
	// later. They are shared with other States: don't change them.
	Leases []fleet.Lease
	// Claims are all there are, in the order of their providers and assets.
	Claims []fleet.AssetClaim
	// Reservations are those that the current definition declares, and Standing is
	// what people decided beside it. Fleets don't show its freezes: see Governed.
	Reservations []fleet.CapacityReservation
	Standing     fleet.StandingOrders
	// Policy is the current definition's.
	Policy fleet.InstallationPolicy
	// Rollouts are what is remembered of those of the fleets.
	Rollouts map[fleet.RunnerFleetID]fleet.Rollout
}

// Governed are the fleets under their freezes and rollbacks.
func (s State) Governed() []fleet.ManagedFleet {
	if len(s.Standing.Freezes)+len(s.Standing.Rollouts) == 0 {
		return s.Fleets
	}
	governed := make([]fleet.ManagedFleet, 0, len(s.Fleets))
	for _, f := range s.Fleets {
		governed = append(governed, s.Standing.Governed(f))
	}
	return governed
}

// Assets are the inventories of the providers whose hosts are joined by a person.
func (s State) Assets() map[fleet.ProviderAddress][]fleet.Asset {
	assets := map[fleet.ProviderAddress][]fleet.Asset{}
	for _, p := range s.Providers {
		if len(p.Assets) > 0 {
			assets[p.Address] = p.Assets
		}
	}
	return assets
}

// Load reads the state that the loop plans from. It decodes what changed since
// the last Load only, whoever wrote it; the first one decodes everything.
func (s *Store) Load(ctx context.Context) (State, error) {
	_, state, err := s.LoadApplied(ctx)
	return state, err
}

// LoadApplied is Load with the whole current definition, as of the same moment.
func (s *Store) LoadApplied(ctx context.Context) (applied AppliedDefinition, state State, err error) {
	// The snapshot is taken up before the transaction begins, so that it is never
	// newer than what the transaction sees.
	last := s.loaded.Load()
	next := snapshot{}
	err = s.read(ctx, "load the state", func(tx *sql.Tx) error {
		if applied, _, err = currentDefinition(ctx, tx); err != nil {
			return err
		}
		state.Serial, state.Providers, state.Reservations = applied.Serial, applied.Definition.Providers, applied.Definition.Reservations
		state.Policy = applied.Definition.Policy
		if state.Standing, err = standingOrders(ctx, tx); err != nil {
			return err
		}
		if state.Fleets, err = sortedRecords(ctx, tx, decode[fleet.ManagedFleet],
			func(managed *fleet.ManagedFleet) string { return string(managed.ID) },
			`SELECT record FROM fleet WHERE retired = 0`); err != nil {
			return err
		}
		if state.Claims, err = claims(ctx, tx); err != nil {
			return err
		}
		if state.Rollouts, err = rollouts(ctx, tx); err != nil {
			return err
		}
		if last == nil {
			next, err = readSnapshot(ctx, tx)
		} else {
			next, err = last.advance(ctx, tx)
		}
		return err
	})
	if err != nil {
		return AppliedDefinition{}, State{}, err
	}
	if s.writer == nil {
		// Whoever opened it to look looks once: nothing is kept, and nothing copied.
		state.Instances, state.Operations, state.Runners = next.instances, next.operations, next.runners
	} else {
		// Of two Loads at once either may win: an older snapshot only means that the
		// next Load reads a little more.
		s.loaded.Store(&next)
		state.Instances, state.Operations, state.Runners = next.copies()
	}
	state.Leases = next.leases.list
	state.Instances, state.Departing = split(state.Instances)
	return applied, state, nil
}

// split takes the departing apart from the live ones.
func split(all []fleet.CapacityInstance) (live, departing []fleet.CapacityInstance) {
	for _, i := range all {
		if !i.Live() {
			departing = append(departing, i)
		}
	}
	if departing == nil {
		return all, nil
	}
	return slices.DeleteFunc(all, func(i fleet.CapacityInstance) bool { return !i.Live() }), departing
}
