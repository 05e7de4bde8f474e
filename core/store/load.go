package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Load reads the state that the loop plans from. It decodes what changed since
// the last Load only, by any writer; the first one decodes everything.
func (s *Store) Load(ctx context.Context) (snapshot.State, error) {
	_, state, err := s.LoadApplied(ctx)
	return state, err
}

// LoadApplied is Load with the whole current definition, as of the same moment.
func (s *Store) LoadApplied(ctx context.Context) (applied AppliedDefinition, state snapshot.State, err error) {
	// The snapshot is taken up before the transaction begins, so that it is never
	// newer than what the transaction sees.
	last := s.loaded.Load()
	next := rowCache{}
	var pending []pendingClaim
	err = s.read(ctx, "load the state", func(tx *sql.Tx) error {
		if applied, _, err = currentDefinition(ctx, tx); err != nil {
			return err
		}
		state.Serial, state.Providers, state.Reservations = applied.Serial, applied.Definition.Providers,
			applied.Definition.Reservations
		state.Policy = applied.Definition.Policy
		if state.Overrides, err = readOverrides(ctx, tx); err != nil {
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
		if pending, err = pendingClaims(ctx, tx); err != nil {
			return err
		}
		if state.Rollouts, err = rollouts(ctx, tx); err != nil {
			return err
		}
		if last == nil {
			next, err = readRows(ctx, tx)
		} else {
			next, err = last.advance(ctx, tx)
		}
		return err
	})
	if err != nil {
		return AppliedDefinition{}, snapshot.State{}, err
	}
	if s.writer == nil {
		// A read-only store is read once: nothing is cached, and nothing copied.
		state.Instances, state.Operations, state.Runners = next.instances, next.operations, next.runners
	} else {
		// Of two Loads at once either may win: an older snapshot only means that the
		// next Load reads a little more.
		s.loaded.Store(&next)
		state.Instances, state.Operations, state.Runners = next.copies()
	}
	state.Commitments = next.commitments.list
	state.Instances, state.Departing = split(state.Instances)
	addPending(&state, pending)
	return applied, state, nil
}

// addPending adds what claims ask for to what is written, in the order of ids.
func addPending(state *snapshot.State, pending []pendingClaim) {
	if len(pending) == 0 {
		return
	}
	state.Instances, state.Operations = slices.Clone(state.Instances), slices.Clone(state.Operations)
	for _, p := range pending {
		state.Instances = append(state.Instances, p.Instance)
		state.Operations = append(state.Operations, p.Operation)
		state.Unwritten = append(state.Unwritten, p.Instance.ID)
	}
	slices.SortFunc(state.Instances, func(a, b fleet.CapacityInstance) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(state.Operations, func(a, b fleet.Operation) int { return cmp.Compare(a.ID, b.ID) })
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
