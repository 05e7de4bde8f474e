package planner

import (
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
)

// Input is everything that a plan depends on.
type Input struct {
	Now       time.Time
	Fleets    []fleet.ManagedFleet
	Instances []Instance
	// Unobserved names the providers whose last inspection failed, was
	// incomplete or never happened, with the reason. Can't see is not zero:
	// nothing is taken away from their fleets.
	Unobserved map[fleet.ProviderAddress]string
	// Faults are what went wrong with providers last, where something did: why their
	// markets don't answer.
	Faults map[fleet.ProviderAddress]string
	// Demand is what the schedulers say. A scheduler that is missing here hasn't
	// been asked yet, which is no different from one that can't be seen.
	Demand map[fleet.SchedulerAddress]Demand
	// Scaled is when fleets last changed their size, for the cooldown.
	Scaled map[fleet.RunnerFleetID]time.Time
	// ImprovementSteps bounds the search for cheaper hosts: a count, so that the same
	// input gives the same plan however fast the machine is.
	ImprovementSteps int
	// Holds names the fleets that may not start instances now.
	Holds map[fleet.RunnerFleetID]Hold
	// AgentVersion is the version of the agent that new instances get.
	AgentVersion string
	// Assets are the inventories of providers whose hosts are joined by a person.
	Assets map[fleet.ProviderAddress][]fleet.Asset
	// Offers are what the providers with a market said last. A market that is
	// missing here hasn't answered yet; nil: nobody can ask, as where no manager
	// runs, and it is taken that there will be offers.
	Offers map[fleet.MarketKey]fleet.OfferList
	// Circuits say where there was no room, and when that is tried again.
	Circuits market.Circuits

	// Forecasts are what the models of the fleets' forecast blocks say. One that is
	// missing hasn't been made: that is a running manager's task.
	Forecasts map[fleet.RunnerFleetID]forecast.Prediction

	// markets are the judged offers of each fleet, and book who probes, while Plan
	// works.
	markets map[fleet.RunnerFleetID]*fleetOffers
	book    probeBook

	// Reservations are those of the file, and Standing is what people decided beside
	// it. Fleets and Instances may be given with or without its effect.
	Reservations []fleet.CapacityReservation
	Standing     fleet.StandingOrders

	// Policy is what the current definition allows [175].
	Policy fleet.InstallationPolicy
	// entitled counts who may have more of the classes that are limited, and spreads
	// what fleets that are spread over providers have where.
	entitled entitledRoom
	spreads  providerSpreads

	// waits is what the schedulers' demand waits for hosts to show.
	waits map[fleet.SchedulerAddress]waitsFor

	// allotted is what the reservations come to.
	allotted allotted
	// warm is how many idle runners fleets keep now.
	warm map[fleet.RunnerFleetID]warmth

	// Leases are what ended instances are paid for, as far as that may be of today
	// or later. purses are what the cost guardrails leave to each fleet.
	Leases []fleet.Lease
	purses map[fleet.RunnerFleetID]*purse

	// Rollouts are what is remembered of those of the fleets, rollouts how far they
	// are.
	Rollouts map[fleet.RunnerFleetID]fleet.Rollout
	rollouts map[fleet.RunnerFleetID]*rollout
}

// Instance is a live capacity instance with what was observed of it.
type Instance struct {
	fleet.CapacityInstance
	// Busy says that the agent's last word was that a job runs, or that its
	// scheduler shows a lease.
	Busy bool
	// Leases is what its scheduler last showed; 0 where there is none.
	Leases int
	// IdleSince is since when its scheduler has shown it without a lease, beyond
	// doubt; zero: it doesn't, or can't be asked. At a scheduler that doesn't list
	// its runners: since when its fleet has had more of them than it needs.
	IdleSince time.Time
	// Silent says that heartbeats are missing.
	Silent bool
	// Left says that its agent has ended by itself.
	Left bool
	// HeadsFor is the zone of the first offer of its request, until it is seen.
	HeadsFor string
	// JoinUntil is how long its host may still be joined, where it waits for that.
	JoinUntil time.Time
	// Spoiled says what went wrong with it in this step: it didn't boot or enroll, was
	// quarantined, or was lost. Empty: nothing.
	Spoiled string
	// Pinned says that a person wants it to stay. Plan sets it.
	Pinned bool
}

// Usage is what a scheduler shows of an instance, as in Instance.
type Usage struct {
	Leases    int       `json:"leases"`
	IdleSince time.Time `json:"idle_since,omitzero"`
}

// Hold keeps a fleet from starting instances.
type Hold struct {
	// Until is when the hold ends by itself; zero: when a person acts.
	Until time.Time `json:"until,omitzero"`
	// Reason says what went wrong, and not when the next try is: whoever shows it
	// knows the time, and whether anybody will try.
	Reason string `json:"reason"`
	// NeedsPerson says that waiting alone won't help.
	NeedsPerson bool `json:"needs_person,omitempty"`
	// Constrained says that the planner holds the fleet itself: none of its offers
	// can be used. Each plan finds that out anew.
	Constrained bool `json:"constrained,omitempty"`
}

// Sentence is the reason with the time until the next try, for where one will be
// made.
func (h Hold) Sentence(now time.Time) string {
	if !h.Until.After(now) {
		return h.Reason
	}
	return sentence("%s. The next try is in %s.", strings.TrimSuffix(h.Reason, "."), max(h.Until.Sub(now).Round(time.Second), time.Second))
}

// Says is whether a wait of the fleet is this hold in the plan's words: who shows the
// hold has said it. No hold says nothing.
func (h *Hold) Says(w Wait) bool {
	return h != nil && (w.Code == HeldBack || w.Code == NoOffer && h.Constrained)
}
