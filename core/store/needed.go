package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
)

// NeededRun is how many runners a fleet needed for a time. It takes the place of the
// one with the same beginning.
type NeededRun struct {
	Fleet fleet.RunnerFleetID
	forecast.Run
}

func (s *Store) upsertNeeded(ctx context.Context, tx *sql.Tx, runs []NeededRun) error {
	if len(runs) == 0 {
		return nil
	}
	rows := make([][]any, 0, len(runs))
	for _, r := range runs {
		rows = append(rows, []any{string(r.Fleet), int64(r.First), int64(r.Last), r.Needed})
	}
	return s.batched(ctx, tx, `INSERT INTO needed (fleet, first, last, runners) VALUES `,
		` ON CONFLICT (fleet, first) DO UPDATE SET last = excluded.last, runners = excluded.runners`, rows)
}

// Needed is what the fleets needed, as far as it is kept.
func (s *Store) Needed(
	ctx context.Context,
	fleets []fleet.RunnerFleetID,
) (runs map[fleet.RunnerFleetID][]forecast.Run, err error) {
	runs = make(map[fleet.RunnerFleetID][]forecast.Run, len(fleets))
	err = s.read(ctx, "read what fleets needed", func(tx *sql.Tx) error {
		for part := range slices.Chunk(fleets, batch) {
			if err := takeNeeded(ctx, tx, part, runs); err != nil {
				return err
			}
		}
		return nil
	})
	return runs, err
}

func takeNeeded(
	ctx context.Context,
	tx *sql.Tx,
	fleets []fleet.RunnerFleetID,
	into map[fleet.RunnerFleetID][]forecast.Run,
) error {
	marks, arguments := among(fleets)
	rows, err := tx.QueryContext(
		ctx,
		`SELECT fleet, first, last, runners FROM needed WHERE fleet IN `+marks+` ORDER BY fleet, first`,
		arguments...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id fleet.RunnerFleetID
		var run forecast.Run
		if err := rows.Scan(&id, &run.First, &run.Last, &run.Needed); err != nil {
			return err
		}
		into[id] = append(into[id], run)
	}
	return rows.Err()
}

// PruneNeeded forgets what fleets needed too long ago for a forecast, or, by a clock
// that was set, in a time that is yet to come, and what retired ones did.
func (s *Store) PruneNeeded(ctx context.Context, now time.Time) (removed int64, err error) {
	err = s.write(ctx, "forget what fleets needed long ago", func(tx *sql.Tx, _ int64) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM needed WHERE last < $1 OR first > $2
			OR NOT EXISTS (SELECT 1 FROM fleet WHERE fleet.id = needed.fleet AND fleet.retired = 0)`,
			int64(forecast.SlotOf(now.Add(-forecast.Retention))), int64(forecast.SlotOf(now.Add(24*time.Hour))))
		if err != nil {
			return err
		}
		removed, err = result.RowsAffected()
		return err
	})
	return removed, err
}
