package planner

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// input is a snapshot as a test writes it down: with the instances as they are
// observed, in the place of the rows and runners from which that is derived.
type input struct {
	Now              time.Time
	AgentVersion     string
	Fleets           []fleet.ManagedFleet
	Instances        []snapshot.Instance
	Unobserved       map[fleet.ProviderAddress]reason.Reason
	Faults           map[fleet.ProviderAddress]reason.Reason
	Demand           map[fleet.SchedulerAddress]snapshot.Demand
	Scaled           map[fleet.RunnerFleetID]time.Time
	Holds            map[fleet.RunnerFleetID]snapshot.Hold
	Assets           map[fleet.ProviderAddress][]fleet.Asset
	Offers           map[fleet.MarketKey]fleet.OfferList
	Circuits         market.Circuits
	Forecasts        map[fleet.RunnerFleetID]forecast.Prediction
	Reservations     []fleet.CapacityReservation
	Overrides        fleet.Overrides
	Policy           fleet.InstallationPolicy
	Commitments      []fleet.Commitment
	Rollouts         map[fleet.RunnerFleetID]fleet.Rollout
	ImprovementSteps int
}

func (in input) snapshot() snapshot.Snapshot {
	s := snapshot.Snapshot{Now: in.Now, AgentVersion: in.AgentVersion}
	s.State = snapshot.State{
		Fleets:       in.Fleets,
		Reservations: in.Reservations,
		Overrides:    in.Overrides,
		Policy:       in.Policy,
		Commitments:  in.Commitments,
		Rollouts:     in.Rollouts,
	}
	for address, assets := range in.Assets {
		s.Providers = append(s.Providers, fleet.Provider{Address: address, Assets: assets})
	}
	s.Observations = snapshot.Observations{
		Unobserved: in.Unobserved,
		Faults:     in.Faults,
		Demand:     in.Demand,
		Scaled:     in.Scaled,
		Holds:      in.Holds,
		Offers:     in.Offers,
		Circuits:   in.Circuits,
		Forecasts:  in.Forecasts,
	}
	return s
}

// planning is what Plan works out of an input before it decides.
func (in input) planning() *planning {
	instances := make([]snapshot.Instance, len(in.Instances))
	for n, i := range in.Instances {
		_, i.Pinned = in.Overrides.Pin(i.ID, in.Now)
		instances[n] = i
	}
	slices.SortFunc(instances, func(a, b snapshot.Instance) int {
		if a.Live() != b.Live() {
			return map[bool]int{true: -1, false: 1}[a.Live()]
		}
		return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(a.ID, b.ID))
	})
	return newPlanning(in.snapshot(), instances, in.ImprovementSteps)
}

// planInput is the plan of an input.
func planInput(in input) Output { return in.planning().plan() }
