package query

import (
	"context"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Refusals tell of agents' calls that the running manager refused. A caller who is
// limited to fleets hears of those with an instance of theirs.
func (q Queries) Refusals(ctx context.Context) ([]fleet.Refusal, error) {
	caller, err := access.Authorize(ctx, "refusals")
	if err != nil || q.refused == nil {
		return []fleet.Refusal{}, err
	}
	refused := q.refused()
	if len(caller.Fleets) == 0 {
		return refused, nil
	}
	instances, err := q.Instances(ctx) // those that the caller may see
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
func (q Queries) refusalsOf(id fleet.CapacityInstanceID) []fleet.Refusal {
	if q.refused == nil {
		return nil
	}
	return slices.DeleteFunc(q.refused(), func(f fleet.Refusal) bool { return f.Instance != id })
}
