package plans

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Applier makes what a plan says the current definition.
type Applier struct {
	Planner
	// applying is held by an apply, from the fresh plan to the plugins' update.
	applying sync.Locker
	// tell hands a definition to a running loop and its plugins.
	tell func(fleet.Definition) error
}

// NewApplier is of a store that is open for writing. Other code that needs fleets that
// don't change holds applying, too. tell hands a definition that was applied to a
// running loop and its plugins.
func NewApplier(p Planner, applying sync.Locker, tell func(fleet.Definition) error) *Applier {
	return &Applier{p, applying, tell}
}

// Apply plans the submission again, makes sure that it still means what was
// approved, and makes its definition current. The loop does the rest.
func (a *Applier) Apply(ctx context.Context, s Submission, approved Approval) (Receipt, error) {
	caller, err := access.Authorize(ctx, "apply")
	if err != nil {
		return Receipt{}, err
	}
	a.applying.Lock()
	defer a.applying.Unlock()
	if err := a.mayUse(ctx, approved); err != nil {
		return Receipt{}, err
	}
	fresh, err := a.planOf(ctx, caller, s.Prune, func(ctx context.Context) (*workspace.Loaded, workspace.Bundle, error) {
		return workspace.Load(ctx, s.Sources, s.Lock, s.Variables, a.options, a.readable(ctx, caller))
	})
	if err != nil {
		return Receipt{}, err
	}
	if why := approved.differs(fresh); why != "" {
		return Receipt{}, a.stale(ctx, approved, fresh, why)
	}
	record, err := access.NewAuditRecord(ctx, a.options.Clock(), "apply", "")
	if err != nil {
		return Receipt{}, err
	}
	failpoint.DefinitionUncommitted.Hit()
	serial, err := a.store.ApplyDefinition(ctx, store.Apply{
		Expect:     fresh.Serial,
		Definition: fresh.definition,
		At:         a.options.Clock(),
		By:         caller.Name,
		Fleets:     fresh.rows,
		Reimaged:   fresh.reimaged,
		Plan:       approved.id(),
		Audit: func(serial int64, changed bool) store.AuditRecord {
			record.Detail = fmt.Sprintf("definition %d: %s%s", serial, outcome(fresh.Changes, changed), approved.origin())
			return record
		},
	})
	if late, ok := errors.AsType[*store.StaleError](err); ok {
		return Receipt{}, a.stale(ctx, approved, fresh, fmt.Sprintf("definition %d was applied meanwhile", late.Serial))
	}
	if used, ok := errors.AsType[*store.UsedPlanError](err); ok {
		return Receipt{}, usedPlan(used.By, used.At, used.Serial)
	}
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{Serial: serial, Changed: serial != fresh.Serial}
	if receipt.Changed {
		failpoint.DefinitionCommitted.Hit()
	}
	// An apply that changed nothing tells them, too: the last one may have failed to.
	return receipt, a.tell(fresh.definition)
}

// outcome names what an apply came to.
func outcome(changes []config.Change, changed bool) string {
	if !changed {
		return "it was current already"
	}
	return summary(changes)
}

// differs says what about a fresh plan isn't as it was approved; "": nothing.
func (a Approval) differs(fresh Plan) string {
	now := fresh.Approval
	switch {
	case a.Format != Format:
		return fmt.Sprintf("it was made in plan format %d, this version uses %d", a.Format, Format)
	case a.Lock != now.Lock:
		return "the plugin lock that it replaces is another"
	case a.Settings != now.Settings:
		return "what it replaces apart from fleets is another"
	}
	for _, address := range slices.Sorted(maps.Keys(now.Fleets)) {
		serial, planned := a.Fleets[address]
		if !planned {
			return fmt.Sprintf("it would now touch %s, too", address)
		}
		if serial != now.Fleets[address] {
			return fmt.Sprintf("%s was changed", address)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(a.Fleets)) {
		if _, still := now.Fleets[address]; !still {
			return fmt.Sprintf("%s is already as the plan would make it, or gone", address)
		}
	}
	return a.Saved.differs(fresh)
}

// id is of a saved plan; "" for one that is applied at once.
func (a Approval) id() string {
	if a.Saved == nil {
		return ""
	}
	return a.Saved.ID
}

// origin tells of a saved plan in an audit record's words.
func (a Approval) origin() string {
	if a.Saved == nil {
		return ""
	}
	return fmt.Sprintf(
		"; by the plan %s that %s saved at %s",
		a.Saved.ID,
		a.Saved.By,
		a.Saved.Made.UTC().Format(time.RFC3339),
	)
}

// summary names what an apply changed.
func summary(changes []config.Change) string {
	var parts []string
	for _, c := range changes {
		if c.Action != config.Drift {
			parts = append(parts, string(c.Action)+" "+c.Address)
		}
	}
	if len(parts) == 0 {
		return "nothing that people wrote"
	}
	return strings.Join(parts, ", ")
}
