package view

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// LastDecision is one decision about a fleet as people see it (spec §184, §185).
type LastDecision struct {
	At     time.Time          `json:"at"`
	Kind   fleet.DecisionKind `json:"kind"`
	Reason reason.Reason      `json:"reason,omitzero"`
	// Add is how many instances a scale_up made; Instances are the ones that any
	// other decision is about.
	Add       int                        `json:"add,omitempty"`
	Instances []fleet.CapacityInstanceID `json:"instances,omitempty"`
	Bounds    []fleet.Bound              `json:"bounds,omitempty"`
}

// Decisions is the view of decisions, in the order given.
func Decisions(decisions []fleet.Decision) []LastDecision {
	out := make([]LastDecision, 0, len(decisions))
	for _, d := range decisions {
		out = append(
			out,
			LastDecision{At: d.At, Kind: d.Kind, Reason: d.Reason, Add: d.Add, Instances: d.Instances, Bounds: d.Bounds},
		)
	}
	return out
}
