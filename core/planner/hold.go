package planner

import (
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// HoldSentence is the reason of a hold with the time until the next try, for where
// one will be made.
func HoldSentence(h snapshot.Hold, now time.Time) string {
	if !h.Until.After(now) {
		return h.Reason
	}
	return sentence("%s. The next try is in %s.", strings.TrimSuffix(h.Reason, "."), max(h.Until.Sub(now).Round(time.Second), time.Second))
}

// Repeats says whether a wait of a fleet is a hold of it in the plan's words: who
// shows the hold has shown the wait. A nil hold repeats nothing.
func (w Wait) Repeats(h *snapshot.Hold) bool {
	return h != nil && (w.Code == HeldBack || w.Code == NoOffer && h.Constrained)
}
