package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// Apply plans the submission anew, makes sure that it still means what was
// approved, and makes its definition current. The loop does the rest.
func (m *Manager) Apply(ctx context.Context, s Submission, approved Approval) (Receipt, error) {
	caller, err := authorize(ctx, "apply")
	if err != nil {
		return Receipt{}, err
	}
	m.applying.Lock()
	defer m.applying.Unlock()
	loaded, bundle, err := loadSubmission(ctx, s, m.options)
	if err != nil {
		return Receipt{}, err
	}
	fresh, err := m.planLoaded(ctx, caller, loaded, bundle, s.Prune)
	if err != nil {
		return Receipt{}, err
	}
	if why := approved.differs(fresh); why != "" {
		return Receipt{}, m.stale(ctx, approved.Serial, why)
	}
	failpoint.DefinitionUncommitted.Hit()
	serial, err := m.store.ApplyDefinition(ctx, store.Apply{
		Expect: fresh.Serial, Definition: fresh.definition, At: m.options.Clock(), By: caller.Name, Fleets: fresh.rows,
	})
	if late, ok := errors.AsType[*store.StaleError](err); ok {
		return Receipt{}, m.stale(ctx, approved.Serial, fmt.Sprintf("definition %d was applied meanwhile", late.Serial))
	}
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{Serial: serial, Changed: serial != fresh.Serial}
	if !receipt.Changed {
		return receipt, nil
	}
	failpoint.DefinitionCommitted.Hit()
	if err := m.audit(ctx, "apply", fmt.Sprintf("definition %d: %s", serial, summary(fresh.Changes))); err != nil {
		return receipt, err
	}
	failpoint.DefinitionAudited.Hit()
	return receipt, m.update(fresh.definition)
}

// differs says what about a fresh plan isn't as it was approved; "": nothing.
func (a Approval) differs(fresh Plan) string {
	now := fresh.Approval
	switch {
	case a.Format != PlanFormat:
		return fmt.Sprintf("it was made in plan format %d, this version uses %d", a.Format, PlanFormat)
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
	return ""
}

// stale tells who changed what since the plan was made.
func (m *Manager) stale(ctx context.Context, planned int64, why string) error {
	e := &StalePlanError{Reason: why}
	current, found, err := m.store.Definition(ctx)
	if err != nil {
		return err
	}
	if !found || current.Serial == planned {
		return e
	}
	e.By, e.At, e.Serial = current.By, current.At, current.Serial
	before, _, err := m.store.DefinitionAt(ctx, planned)
	if err != nil {
		return err
	}
	e.Changes = config.Diff(before.Definition, current.Definition)
	return e
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

// update tells a running loop and its plugins about a new definition.
func (m *Manager) update(d fleet.Definition) error {
	m.mu.Lock()
	r := m.running
	m.mu.Unlock()
	if r == nil {
		return nil
	}
	r.definition.Store(&d)
	err := r.providers.update(d)
	r.exec.Wake()
	return err
}
