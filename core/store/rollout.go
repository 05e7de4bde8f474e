package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// rollouts is what is remembered of the rollouts of the fleets that aren't retired.
func rollouts(ctx context.Context, tx *sql.Tx) (map[fleet.RunnerFleetID]fleet.Rollout, error) {
	all, err := recordsOf(ctx, tx, decode[fleet.Rollout],
		`SELECT record FROM rollout WHERE fleet IN (SELECT id FROM fleet WHERE retired = 0)`)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	found := make(map[fleet.RunnerFleetID]fleet.Rollout, len(all))
	for _, r := range all {
		found[r.Fleet] = r
	}
	return found, nil
}

func (s *Store) upsertRollouts(ctx context.Context, tx *sql.Tx, all []fleet.Rollout) error {
	rows := make([][]any, 0, len(all))
	for _, r := range all {
		record, err := encode(r)
		if err != nil {
			return fmt.Errorf("rollout of fleet %s: %w", r.Fleet, err)
		}
		rows = append(rows, []any{string(r.Fleet), record})
	}
	return s.upsert(ctx, tx, "rollout", []string{"fleet", "record"}, rows)
}

// endRollbacks takes back the rollbacks of fleets: the file has the later word.
func endRollbacks(ctx context.Context, tx *sql.Tx, fleets []fleet.RunnerFleetID) error {
	if len(fleets) == 0 {
		return nil
	}
	orders, err := readOverrides(ctx, tx)
	if err != nil {
		return err
	}
	for _, o := range orders.Rollouts {
		if o.Action != fleet.RollBack || !slices.Contains(fleets, o.Fleet) {
			continue
		}
		if _, err := tx.ExecContext(
			ctx,
			`DELETE FROM override WHERE kind = $1 AND subject = $2`,
			rolloutKind,
			subjectOf("fleet", string(o.Fleet)),
		); err != nil {
			return fmt.Errorf("end the rollback of fleet %s: %w", o.Fleet, err)
		}
	}
	return nil
}
