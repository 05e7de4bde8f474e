package reason

import "github.com/forgeyard/forgeyard-fleet/core/reason/text"

// Attribution is who decided something, when, until when, and the reason that they gave.
type Attribution struct {
	By      string  `json:"by"`
	At      Instant `json:"at,omitempty"`
	Until   Instant `json:"until,omitempty"`
	Comment string  `json:"comment,omitempty"`
}

// bracket is " (override by alice until …: release week)"; "" where no one decided
// anything.
func (d Attribution) bracket(what string) string {
	if d == (Attribution{}) {
		return ""
	}
	said := " (" + what + " by " + d.By
	if d.Until != 0 {
		said += " until " + text.Moment(d.Until.Time())
	}
	if d.Comment != "" {
		said += ": " + d.Comment
	}
	return said + ")"
}

// exampleInstant is the time in examples: 2026-11-30 14:02:05 UTC.
const exampleInstant Instant = 1_796_047_325_000_000_000
