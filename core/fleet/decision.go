package fleet

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// DecisionKind is what the planner decided about a fleet.
type DecisionKind string

// The kinds of decision (spec §30, §32).
const (
	ScaleUp   DecisionKind = "scale_up"
	ScaleDown DecisionKind = "scale_down"
	Replace   DecisionKind = "replace"
	Cancel    DecisionKind = "cancel"
	// Reactivate takes a drain back.
	Reactivate DecisionKind = "reactivate"
	// RolloutProgress: a rollout begins, continues, or is halted.
	RolloutProgress DecisionKind = "rollout"
)

// Decision is one decision with its reasons (spec §184, §185).
type Decision struct {
	ID    string        `json:"id"`
	At    time.Time     `json:"at"`
	Fleet RunnerFleetID `json:"fleet"`
	Kind  DecisionKind  `json:"kind"`
	// Add is how many instances a ScaleUp makes.
	Add int `json:"add,omitempty"`
	// Instances are the ones that the decision is about.
	Instances []CapacityInstanceID `json:"instances,omitempty"`
	// Reason is why; Bounds is the chain that made the desired number.
	Reason reason.Reason `json:"reason"`
	Bounds []Bound       `json:"bounds,omitempty"`
}

// Bound is one link in the chain from demand to the desired number.
type Bound struct {
	// Name is the rule: demand, warm, min, max, footprint, ….
	Name string `json:"name"`
	// After is the number once the rule had its say.
	After int `json:"after"`
	// Reason is why.
	Reason reason.Reason `json:"reason"`
}
