package plans

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// StaleError refuses an approval that no longer says what applying would do:
// somebody else applied in between, or what the plan was made from differs.
type StaleError struct {
	// By applied the definition Serial at At: the last that changed something which
	// the plan touches. Empty: nothing was applied, and Reason says what differs.
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Serial int64     `json:"serial"`
	// Changes is what that apply did.
	Changes []config.Change `json:"changes,omitempty"`
	// Reason is what the plan and the present disagree about, without a full stop.
	Reason string `json:"reason"`
}

// still says whether an apply of a fresh plan would be refused, whose approval is of
// another day.
func (p Planner) still(ctx context.Context, approved Approval, fresh Plan) error {
	if err := p.mayUse(ctx, approved); err != nil {
		return err
	}
	if why := approved.differs(fresh); why != "" {
		return p.stale(ctx, approved, fresh, why)
	}
	return nil
}

// stale tells who changed what since the plan was made: of the applies since then,
// the last one that the plan doesn't agree with.
func (p Planner) stale(ctx context.Context, approved Approval, fresh Plan, why string) error {
	e := &StaleError{Reason: why}
	after, found, err := p.store.Definition(ctx)
	if err != nil {
		return err
	}
	if !found || after.Serial == approved.Serial {
		return e
	}
	last := after
	for range searchedApplies {
		before, found, err := p.store.DefinitionAt(ctx, after.Serial-1)
		if err != nil {
			return err
		}
		if !found && after.Serial > 1 {
			break // it was pruned long ago
		}
		if changes := config.Diff(
			before.Definition,
			after.Definition,
		); approved.contradicts(
			fresh,
			before.Definition,
			after.Definition,
			changes,
		) {
			e.By, e.At, e.Serial, e.Changes = after.By, after.At, after.Serial, visibleChanges(changes, access.CallerOf(ctx))
			return e
		}
		if before.Serial <= approved.Serial {
			break
		}
		after = before
	}
	// None of them by itself: all together, and who came last.
	e.By, e.At, e.Serial = last.By, last.At, last.Serial
	before, found, err := p.store.DefinitionAt(ctx, approved.Serial)
	if err != nil {
		return err
	}
	if found || approved.Serial == 0 {
		e.Changes = visibleChanges(config.Diff(before.Definition, last.Definition), access.CallerOf(ctx))
	}
	return e
}

// searchedApplies bounds the search for the apply that a plan doesn't agree with.
const searchedApplies = 100

// contradicts says whether an apply changed what the plan touches, or would touch
// now.
func (a Approval) contradicts(fresh Plan, before, after fleet.Definition, changes []config.Change) bool {
	for _, c := range changes {
		address := fleet.FleetAddress(c.Address)
		_, planned := a.Fleets[address]
		_, now := fresh.Approval.Fleets[address]
		if c.Action != config.Drift && (planned || now) {
			return true
		}
	}
	return a.Settings != fresh.Approval.Settings && settingsDigest(before) != settingsDigest(after) ||
		a.Lock != fresh.Approval.Lock && before.Lock != after.Lock
}

// shownChanges bounds the sentence; Changes has all of them.
const shownChanges = 5

func (e *StaleError) Error() string {
	var text strings.Builder
	text.WriteString("the plan is stale")
	if e.Reason != "" {
		text.WriteString(": " + e.Reason)
	}
	if e.By != "" {
		fmt.Fprintf(&text, "; %s applied definition %d at %s", e.By, e.Serial, fleet.TimeText(e.At))
		if changes := e.changes(); changes != "" {
			text.WriteString(", with " + changes)
		}
	}
	return text.String() + ". Plan again"
}

// changes names what came in between: the blocks, and of changed ones the
// attributes.
func (e *StaleError) changes() string {
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
