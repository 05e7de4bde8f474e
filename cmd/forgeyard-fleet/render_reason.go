package main

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// renderReason shows a reason after a mark, and then each command that a person can type
// about it on a line of its own.
func (a *app) renderReason(indent, mark string, r reason.Reason) {
	a.printf("%s%s%s", indent, mark, r.TextAt(a.now()))
	for n, c := range r.Commands() {
		if n == 0 {
			a.printf(". To %s:", c.Does)
		} else {
			a.printf("\n%s  To %s:", indent, c.Does)
		}
		a.printf("\n%s    %s", indent, c.Line)
	}
	a.printf("\n")
}

// holdText is why a fleet is held back, with the time until the next try.
func holdText(h snapshot.Hold, now time.Time) string {
	return reason.WithNextTry(h.Reason, h.Until, now)
}
