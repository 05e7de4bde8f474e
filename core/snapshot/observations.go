package snapshot

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Observations are what a running manager knows beyond the store. The zero value is
// what is known where none runs: no runner is silent, no scheduler or market was
// asked, and no provider was inspected.
type Observations struct {
	// Since is since when the manager has listened to agents without a gap. No
	// silence is counted before it; zero: no one listens.
	Since time.Time
	// Unheard names the providers whose runners fell silent together, with the
	// reason: their silence says nothing about them.
	Unheard map[fleet.ProviderAddress]reason.Reason
	// Unobserved names the providers whose last inspection failed, was incomplete or
	// never happened, with the reason, those Unheard among them. Not observed is not
	// zero: nothing is taken away from their fleets.
	Unobserved map[fleet.ProviderAddress]reason.Reason
	// Faults are what went wrong with providers last, where something did: a plugin
	// that doesn't start, a configuration that is refused, an inspection that failed.
	Faults map[fleet.ProviderAddress]reason.Reason
	// Blocked names the providers that only a person can bring back, with all that their
	// plugin's host has to say, which may have many lines.
	Blocked map[fleet.ProviderAddress]string
	// Inspected is when the last complete inspection of each provider began.
	Inspected map[fleet.ProviderAddress]time.Time
	// Accounts are what the credentials of each provider reach.
	Accounts map[fleet.ProviderAddress]string
	// Unrecorded are the resources of the installation without a live record, by
	// provider.
	Unrecorded map[fleet.ProviderAddress]fleet.Unrecorded
	// Demand is what the schedulers say. A scheduler that is missing here hasn't
	// been asked yet, which is no different from one that can't be observed.
	Demand map[fleet.SchedulerAddress]Demand
	// Schedulers are those that can't be observed, with the reason; not those whose
	// first answer is still awaited.
	Schedulers map[fleet.SchedulerAddress]reason.Reason
	// Usage is what the schedulers show of single instances.
	Usage map[fleet.CapacityInstanceID]Usage
	// Offers are what the providers with a market said last. A market that is
	// missing here hasn't answered yet; nil: no one can ask, and it is taken that
	// there will be offers.
	Offers map[fleet.MarketKey]fleet.OfferList
	// Circuits say where there was no room, and when that is tried again.
	Circuits market.Circuits
	// Forecasts are what the models of the fleets' forecast blocks say. One that is
	// missing hasn't been made.
	Forecasts map[fleet.RunnerFleetID]forecast.Prediction
	// Holds are the fleets that may not start instances now.
	Holds map[fleet.RunnerFleetID]Hold
	// Scaled is when fleets last changed their size, for the cooldown.
	Scaled map[fleet.RunnerFleetID]time.Time
	// Failures are the instances that failed in this step, with what went wrong: one
	// didn't boot or enroll, was quarantined, or was lost. They are counted once, by
	// the step that saw them, so that they are part of no later snapshot.
	Failures map[fleet.CapacityInstanceID]reason.Reason
}

// Demand is what one scheduler says, or why it can't be observed.
type Demand struct {
	Snapshot fleet.CapacityDemandSnapshot
	// Unobserved is why nothing may be concluded now; zero: the snapshot holds. Not
	// observed is not zero: the scheduler's fleets keep what they have.
	Unobserved reason.Reason
	// Uncordons says that the scheduler gives a cordoned runner new leases when
	// it is asked to, so that a drain can be taken back.
	Uncordons bool
}

// Usage is what a scheduler shows of an instance.
type Usage struct {
	// Leases is how many jobs it last showed on it.
	Leases int `json:"leases"`
	// IdleSince is since when it has shown it without a lease, beyond doubt; zero: it
	// doesn't. At a scheduler that doesn't list its runners: since when the fleet has
	// had more of them than it needs.
	IdleSince time.Time `json:"idle_since,omitzero"`
}

// Hold keeps a fleet from starting instances.
type Hold struct {
	// Until is when the hold ends by itself; zero: when a person acts.
	Until time.Time `json:"until,omitzero"`
	// Reason says what went wrong, and not when the next try is: what shows it
	// knows the time, and whether anybody will try.
	Reason reason.Reason `json:"reason"`
	// NeedsPerson says that waiting alone won't help.
	NeedsPerson bool `json:"needs_person,omitempty"`
	// Constrained says that the planner holds the fleet itself: none of its offers
	// can be used. Each plan finds that out for itself.
	Constrained bool `json:"constrained,omitempty"`
}

// InForce says whether the hold holds at a time.
func (h Hold) InForce(now time.Time) bool { return h.Until.IsZero() || h.Until.After(now) }

// SilentFor is how long the runner of a provider's instance is known to have been
// silent.
func (o *Observations) SilentFor(provider fleet.ProviderAddress, r fleet.Runner, now time.Time) time.Duration {
	if _, unheard := o.Unheard[provider]; unheard || o.Since.IsZero() {
		return 0
	}
	return lifecycle.SilentFor(r, o.Since, now)
}
