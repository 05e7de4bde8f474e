package reconcile

import (
	"encoding/json"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// intendTerminations takes failed rows to their clean-up and stores the intent
// to terminate for each row that needs one.
func (l *Loop) intendTerminations(w *work) error {
	for _, r := range w.rows {
		if r.State == fleet.Failed {
			if r.provision.State == fleet.OperationNotCreated && !r.everSeen() {
				w.move(r, fleet.Terminated, lifecycle.NothingCreated, r.Reason)
				continue
			}
			w.move(r, fleet.Terminating, lifecycle.CleanUp, r.Reason)
		}
		if r.State != fleet.Terminating || r.terminate != nil {
			continue
		}
		if err := l.intendTermination(w, r); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loop) intendTermination(w *work, r *row) error {
	id, err := l.settings.NewID(w.now)
	if err != nil {
		return err
	}
	request, err := json.Marshal(fleet.TerminateIntent{Key: r.Key})
	if err != nil {
		return fmt.Errorf("encode the termination of %s: %w", r.ID, err)
	}
	r.terminate = &fleet.Operation{
		ID: fleet.OperationID(id), Kind: fleet.TerminateOperation, Instance: r.ID, Fleet: r.Fleet, Provider: r.Provider,
		State: fleet.OperationPending, Request: request, Created: w.now,
	}
	w.byOperation[r.terminate.ID] = r
	r.edit(r.terminate)
	l.row(r.ID).intent = l.steps
	return nil
}

// provenOurs returns the row's resource if it may be deleted: its key is a
// stored operation, and a complete inspection begun after the intent to
// terminate was stored shows exactly one resource with that key and the recorded
// id [160]. The reason says what is missing.
func (p *provider) provenOurs(r *row, m *rowMemory) (fleet.Resource, bool, string) {
	if p.sight == nil || p.sight.step < m.intent || p.sight.step == 0 {
		return fleet.Resource{}, false, "No inspection since it was decided."
	}
	found := p.sight.byKey[r.Key]
	switch {
	case r.Conflict != "":
		return fleet.Resource{}, false, r.Conflict
	case len(found) != 1:
		return fleet.Resource{}, false, fmt.Sprintf("%d resources carry its key.", len(found))
	case r.ProviderInstance != "" && found[0].ID != r.ProviderInstance:
		return fleet.Resource{}, false, fmt.Sprintf("%s was recorded, %s carries the key.", r.ProviderInstance, found[0].ID)
	}
	if !deletable(*p.facts) {
		return fleet.Resource{}, false, undeletable(*p.facts)
	}
	if p.facts.Ownership == fleet.OwnershipAssigned && !r.holds(found[0].ID) {
		return fleet.Resource{}, false, fmt.Sprintf("%s is not claimed by this instance.", found[0].ID)
	}
	return found[0], true, ""
}

// deletable says whether this version can prove that a provider's resources are
// ours to delete. Where it can't, it makes none.
func deletable(f fleet.ProviderFacts) bool {
	return f.Ownership == fleet.OwnershipNamed || f.Ownership == fleet.OwnershipAssigned
}

func undeletable(f fleet.ProviderFacts) string {
	return fmt.Sprintf("The plugin %s proves ownership by %q; this version can delete only what is named by its key or claimed, and makes nothing that it can't delete.", f.Plugin, f.Ownership)
}
