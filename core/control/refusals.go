package control

import (
	"context"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Refusals tell of agents' calls that the running manager refused. A caller who is
// limited to fleets hears of those with an instance of theirs.
func (r *reading) Refusals(ctx context.Context) ([]fleet.Refusal, error) {
	caller, err := access.Authorize(ctx, "refusals")
	if err != nil || r.refused == nil {
		return []fleet.Refusal{}, err
	}
	refused := r.refused()
	if len(caller.Fleets) == 0 {
		return refused, nil
	}
	instances, err := r.Instances(ctx) // those that the caller may see
	if err != nil {
		return nil, err
	}
	theirs := map[fleet.CapacityInstanceID]bool{}
	for _, i := range instances {
		theirs[i.ID] = true
	}
	return slices.DeleteFunc(refused, func(f fleet.Refusal) bool { return !theirs[f.Instance] }), nil
}

// refusalsOf are those of one instance.
func (r *reading) refusalsOf(id fleet.CapacityInstanceID) []fleet.Refusal {
	if r.refused == nil {
		return nil
	}
	return slices.DeleteFunc(r.refused(), func(f fleet.Refusal) bool { return f.Instance != id })
}

// refusedCalls are what the agents' server refused since the manager started.
func (m *Manager) refusedCalls() []fleet.Refusal {
	m.mu.Lock()
	r := m.running
	m.mu.Unlock()
	if r == nil {
		return []fleet.Refusal{}
	}
	return r.agents.server.Refusals()
}
