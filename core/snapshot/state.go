package snapshot

import "github.com/forgeyard/forgeyard-fleet/core/fleet"

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
	// Unwritten are those of Instances that claims ask for, in the order of ids: the next
	// step of the loop writes them, each with its operation.
	Unwritten []fleet.CapacityInstanceID
	// Commitments are what ended instances are paid for, as far as that may be of today or
	// later. They are shared with other States: don't change them.
	Commitments []fleet.Commitment
	// Claims are all there are, in the order of their providers and assets.
	Claims []fleet.AssetClaim
	// Reservations are those that the current definition declares, and Overrides is
	// what people decided beside it. Fleets don't show its freezes: see Governed.
	Reservations []fleet.CapacityReservation
	Overrides    fleet.Overrides
	// Policy is the current definition's.
	Policy fleet.InstallationPolicy
	// Rollouts are what is remembered of those of the fleets.
	Rollouts map[fleet.RunnerFleetID]fleet.Rollout
}

// Governed are the fleets under their freezes and rollbacks.
func (s State) Governed() []fleet.ManagedFleet {
	if len(s.Overrides.Freezes)+len(s.Overrides.Rollouts) == 0 {
		return s.Fleets
	}
	governed := make([]fleet.ManagedFleet, 0, len(s.Fleets))
	for _, f := range s.Fleets {
		governed = append(governed, s.Overrides.Apply(f))
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
