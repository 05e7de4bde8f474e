package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// rollouts is what is remembered of the rollouts of the fleets that aren't retired.
func rollouts(ctx context.Context, tx *sql.Tx) (map[fleet.RunnerFleetID]fleet.Rollout, error) {
	all, err := recordsOf(ctx, tx, decode[fleet.Rollout],
		`SELECT record FROM rollout WHERE fleet IN (SELECT id FROM fleet WHERE retired = 0)`)
	if err != nil {
		return nil, err
	}
	found := make(map[fleet.RunnerFleetID]fleet.Rollout, len(all))
	for _, r := range all {
		found[r.Fleet] = r
	}
	return found, nil
}

func upsertRollouts(ctx context.Context, tx *sql.Tx, all []fleet.Rollout) error {
	rows := make([][]any, 0, len(all))
	for _, r := range all {
		record, err := encode(r)
		if err != nil {
			return fmt.Errorf("rollout of fleet %s: %w", r.Fleet, err)
		}
		rows = append(rows, []any{string(r.Fleet), record})
	}
	return upsert(ctx, tx, "rollout", []string{"fleet", "record"}, rows)
}
