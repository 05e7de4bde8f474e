package planner

import (
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Repeats says whether a wait of a fleet is a hold of it in the plan's words: who
// shows the hold has shown the wait. A nil hold repeats nothing.
func Repeats(wait reason.Reason, h *snapshot.Hold) bool {
	if h == nil {
		return false
	}
	switch d := wait.Params.(type) {
	case reason.HeldBack:
		return d.Because == h.Reason
	case reason.NoOffer:
		return h.Constrained && d.Because == h.Reason
	}
	return false
}
