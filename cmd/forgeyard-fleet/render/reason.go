package render

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// reason shows a reason after a mark, and then each command that a person can type
// about it on a line of its own.
func (page Page) reason(indent, mark string, r reason.Reason) {
	page.Printf("%s%s%s", indent, mark, r.TextAt(page.Now()))
	for n, c := range r.Commands() {
		if n == 0 {
			page.Printf(". To %s:", c.Does)
		} else {
			page.Printf("\n%s  To %s:", indent, c.Does)
		}
		page.Printf("\n%s    %s", indent, c.Line)
	}
	page.Printf("\n")
}

// holdText is why a fleet is held back, with the time until the next try.
func holdText(h snapshot.Hold, now time.Time) string {
	return reason.WithNextTry(h.Reason, h.Until, now)
}
