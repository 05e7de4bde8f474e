package control

import (
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/config"
)

// StalePlanError refuses an approval that no longer says what applying would do:
// somebody else applied in between, or what the plan was made from differs.
type StalePlanError struct {
	// By applied the definition Serial at At. Empty: nobody applied anything, and
	// Reason says what differs.
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Serial int64     `json:"serial"`
	// Changes is what came in between: from the definition that was planned
	// against to the current one.
	Changes []config.Change `json:"changes,omitempty"`
	// Reason is what the plan and the present disagree about, without a full stop.
	Reason string `json:"reason"`
}

// shownChanges bounds the sentence; Changes has all of them.
const shownChanges = 5

func (e *StalePlanError) Error() string {
	var text strings.Builder
	text.WriteString("the plan is stale")
	if e.Reason != "" {
		text.WriteString(": " + e.Reason)
	}
	if e.By != "" {
		fmt.Fprintf(&text, "; %s applied definition %d at %s", e.By, e.Serial, e.At.Local().Format(time.DateTime))
		if changes := e.changes(); changes != "" {
			text.WriteString(", with " + changes)
		}
	}
	return text.String() + ". Plan again"
}

// changes names what came in between: the blocks, and of changed ones the
// attributes.
func (e *StalePlanError) changes() string {
	var named []string
	for _, c := range e.Changes {
		if c.Action == config.Drift {
			continue // not mentioned is not changed
		}
		if len(named) == shownChanges {
			named = append(named, "more")
			break
		}
		one := string(c.Action) + " " + c.Address
		if c.Action == config.Modify {
			var paths []string
			for _, a := range c.Attributes[:min(len(c.Attributes), shownChanges)] {
				paths = append(paths, a.Path)
			}
			one += " (" + strings.Join(paths, ", ") + ")"
		}
		named = append(named, one)
	}
	return strings.Join(named, ", ")
}
