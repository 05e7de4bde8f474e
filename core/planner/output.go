package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"

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
	// Unseen says why it isn't known how many instances jobs need; "": it is, or no
	// job can ask.
	Unseen string `json:"unseen,omitempty"`
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
	// nobody knows, or nobody asks. Forecast is what the fleet's model expects of that.
	Needed   *int                 `json:"needed,omitempty"`
	Forecast *forecast.Prediction `json:"forecast,omitempty"`
	// Create is how many instances start now, with the reason.
	Create       int    `json:"create"`
	CreateReason string `json:"create_reason,omitempty"`
	// Actions are about single instances.
	Actions []Action `json:"actions,omitempty"`
	// Waiting says in one sentence each what keeps the fleet from its desired
	// number or definition.
	Waiting []Wait `json:"waiting,omitempty"`
	// Next is when its numbers change by time alone; zero: they don't.
	Next time.Time `json:"next,omitzero"`
	// Drifted lists the instances made from an older definition or image.
	Drifted []Drift `json:"drifted,omitempty"`
	// Joined says that a person joins the fleet's hosts: nothing is created.
	Joined bool `json:"joined,omitempty"`
	// Offers are what its next instances could be made of; nil: a person brings
	// them, or nobody has asked.
	Offers *OfferReport `json:"offers,omitempty"`
	// Requests are what each of the instances that start may be made of.
	Requests []Request `json:"-"`
	// Constrained is set where none of the offers can be used now.
	Constrained *snapshot.Hold `json:"constrained,omitempty"`
	// ToJoin are the hosts that could be joined now.
	ToJoin []HostToJoin `json:"to_join,omitempty"`
	// Overrides says in a sentence each what people decided about the fleet beside
	// its file.
	Overrides []string `json:"overrides,omitempty"`
	// Halted says that people keep the fleet from what it would do: it stays as it
	// is until they take that back.
	Halted bool `json:"halted,omitempty"`
	// KeptByPin is how many instances above Desired stay because they are pinned.
	KeptByPin int `json:"kept_by_pin,omitempty"`
	// KeptPaid is how many stay because their minimum is paid for.
	KeptPaid int `json:"kept_paid,omitempty"`
	// Cost is what the fleet costs; nil: nobody says.
	Cost *CostReport `json:"cost,omitempty"`
	// Rollout is the one that is under way; nil: there is none.
	Rollout *RolloutPlan `json:"rollout,omitempty"`
	// Remember is to be stored of it, where that has changed, and Turn says what has,
	// for people.
	Remember *fleet.Rollout `json:"-"`
	Turn     string         `json:"-"`
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
	Reason   string                   `json:"reason"`
}

// Wait is one reason why a fleet isn't where it should be.
type Wait struct {
	// Code is stable, for metrics and tests.
	Code     WaitCode `json:"code"`
	Sentence string   `json:"sentence"`
}

// WaitCode names a kind of wait.
type WaitCode string

// The kinds of wait.
const (
	MaxHeldByUnproven WaitCode = "max_held_by_unproven" // rows not proven gone fill max
	HeldBack          WaitCode = "held_back"            // back-off or a permanent error
	CannotSee         WaitCode = "cannot_see"           // the provider can't be observed
	IsFrozen          WaitCode = "frozen"               // an operator froze the fleet
	WaitsForProvider  WaitCode = "waits_for_provider"   // a request is under way
	StepLimit         WaitCode = "step_limit"           // scale_up.max_step in its window
	IdleGrace         WaitCode = "idle_grace"           // idle for too short a time
	CoolsDown         WaitCode = "cooldown"             // it changed its size just now
	WaitsForPerson    WaitCode = "waits_for_person"     // hosts are joined by hand
	LosesRunners      WaitCode = "runners_lost"         // its scheduler counts more and more lost runners
	NoOffer           WaitCode = "no_offer"             // no offer can be used, or one request tries first
	IsProtected       WaitCode = "protected"            // nothing but the file changes its size
	IsPinned          WaitCode = "pinned"               // a person wants an instance to stay
	IsQuarantined     WaitCode = "quarantined"          // a person lets no new instance come
	EntitlementHeld   WaitCode = "entitlement"          // the entitlements to its class allow no more
	SpreadHeld        WaitCode = "spread"               // its provider would have more than its even share
	CostGuardrail     WaitCode = "cost_guardrail"       // max_hourly or max_daily
	PaidMinimum       WaitCode = "paid_minimum"         // it is paid for, whether it leaves or not
	NotAsked          WaitCode = "not_asked"            // its provider's prices aren't known yet
	RolloutWaits      WaitCode = "rollout_waits"        // its rollout leaves no room for one more now
	RolloutStopped    WaitCode = "rollout_halted"       // something went wrong with a new one, or a person paused it
)

// Calm says that a wait is nothing amiss: it is over by itself, or somebody wants it.
func (c WaitCode) Calm() bool {
	return c == IdleGrace || c == CoolsDown || c == IsPinned || c == PaidMinimum || c == RolloutWaits || c == NotAsked
}

// Drift is one instance that isn't what the definition asks for.
type Drift struct {
	Instance fleet.CapacityInstanceID `json:"instance"`
	Reason   string                   `json:"reason"`
}
