package loop

import (
	"encoding/json"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// intendTerminations takes failed rows to their clean-up and stores the intent
// to terminate for each row that needs one.
func (l *Loop) intendTerminations(w *step) error {
	for _, r := range w.rows {
		if r.State == fleet.Failed {
			if r.provision.State == fleet.OperationNotCreated && !r.everSeen() {
				w.moveFor(r, fleet.Terminated, lifecycle.NothingCreated, r.Reason)
				continue
			}
			w.moveFor(r, fleet.Terminating, lifecycle.CleanUp, r.Reason)
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

func (l *Loop) intendTermination(w *step, r *row) error {
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
