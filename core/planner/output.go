package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Output is the plan, sorted by fleet address.
type Output struct {
	Fleets []FleetPlan `json:"fleets"`
	// Unplaced is the waiting work that nothing covers, in order of its schedulers and
	// of their demand.
	Unplaced []UnplacedDemand `json:"unplaced,omitempty"`
	// Reservations are those that haven't ended, the file's first.
	Reservations []ReservationPlan `json:"reservations,omitempty"`
}

// FleetPlan is what should happen to one fleet now.
type FleetPlan struct {
	Fleet   fleet.RunnerFleetID `json:"fleet"`
	Address fleet.FleetAddress  `json:"address"`
	// Follows says that the fleet follows the demand of a scheduler.
	Follows bool `json:"follows,omitempty"`
	// Unseen says why it isn't known how many instances jobs need; zero: it is, or no
	// job can ask.
	Unseen reason.Reason `json:"unseen,omitzero"`
	// Desired is the number of instances the fleet should have, and Bounds the
	// chain that made it.
	Desired int           `json:"desired"`
	Bounds  []fleet.Bound `json:"bounds"`
	Counts  Counts        `json:"counts"`
	// Warm is how many idle runners it keeps now, and NextWarm when a schedule makes
	// that another number; nil: none does for a long time.
	Warm     int         `json:"warm"`
	NextWarm *WarmChange `json:"next_warm,omitempty"`
	// Needed is how many instances jobs run on or wait for, whatever its bounds; nil:
	// no one knows, or no one asks. Forecast is what the fleet's model expects of that.
	Needed   *int                 `json:"needed,omitempty"`
	Forecast *forecast.Prediction `json:"forecast,omitempty"`
	// Create is how many instances start now, with the reason.
	Create       int           `json:"create"`
	CreateReason reason.Reason `json:"create_reason,omitzero"`
	// Actions are about single instances.
	Actions []Action `json:"actions,omitempty"`
	// Waiting are what keeps the fleet from its desired number or definition.
	Waiting []reason.Reason `json:"waiting,omitempty"`
	// Next is when its numbers change by time alone; zero: they don't.
	Next time.Time `json:"next,omitzero"`
	// Drifted lists the instances made from an older definition or image.
	Drifted []Drift `json:"drifted,omitempty"`
	// Joined says that a person joins the fleet's hosts: nothing is created.
	Joined bool `json:"joined,omitempty"`
	// Offers are what its next instances could be made of; nil: a person brings
	// them, or no one has asked.
	Offers *OfferReport `json:"offers,omitempty"`
	// Requests are what each of the instances that start may be made of.
	Requests []Request `json:"-"`
	// Constrained is set where none of the offers can be used now.
	Constrained *snapshot.Hold `json:"constrained,omitempty"`
	// ToJoin are the hosts that could be joined now.
	ToJoin []HostToJoin `json:"to_join,omitempty"`
	// Overrides is what people decided about the fleet beside its file.
	Overrides []reason.Reason `json:"overrides,omitempty"`
	// Halted says that people keep the fleet from what it would do: it stays as it
	// is until they take that back.
	Halted bool `json:"halted,omitempty"`
	// KeptByPin is how many instances above Desired stay because they are pinned.
	KeptByPin int `json:"kept_by_pin,omitempty"`
	// KeptPaid is how many stay because their minimum is paid for.
	KeptPaid int `json:"kept_paid,omitempty"`
	// Cost is what the fleet costs; nil: no one says.
	Cost *CostReport `json:"cost,omitempty"`
	// Rollout is the one that is under way; nil: there is none.
	Rollout *RolloutPlan `json:"rollout,omitempty"`
	// Remember is to be stored of it, where that has changed, and Turn says what has,
	// for people.
	Remember *fleet.Rollout `json:"-"`
	Turn     reason.Reason  `json:"-"`
}

// ActionKind is what happens to one instance.
type ActionKind string

// Cancel ends an instance whose request was never sent, Withdraw removes a host
// that was never admitted, Drain cordons an admitted one, and Reactivate takes a
// drain back that hasn't told the agent to stop.
const (
	Cancel     ActionKind = "cancel"
	Withdraw   ActionKind = "withdraw"
	Drain      ActionKind = "drain"
	Reactivate ActionKind = "reactivate"
)

// Action is one step for one instance.
type Action struct {
	Kind     ActionKind               `json:"kind"`
	Instance fleet.CapacityInstanceID `json:"instance"`
	Cause    lifecycle.Cause          `json:"cause"`
	Reason   reason.Reason            `json:"reason"`
}

// Expected says that a wait is nothing amiss: it is over by itself, or somebody wants it.
func Expected(wait reason.Reason) bool {
	switch wait.Params.(type) {
	case reason.IdleGrace,
		reason.Cooldown,
		reason.Pinned,
		reason.PaidMinimum,
		reason.RolloutWaits,
		reason.CanariesFirst,
		reason.PricesNotAsked:
		return true
	}
	return false
}

// StandsStill says that a wait is for a person who lets a rollout go on.
func StandsStill(wait reason.Reason) bool {
	return reason.Is[reason.RolloutPaused](wait) || reason.Is[reason.RolloutHalted](wait)
}

// Drift is one instance that isn't what the definition asks for.
type Drift struct {
	Instance fleet.CapacityInstanceID `json:"instance"`
	Reason   reason.Reason            `json:"reason"`
}
