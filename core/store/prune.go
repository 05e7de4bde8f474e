package store

import (
	"context"
	"database/sql"
	"time"
)

// pruneBatch bounds one transaction, so that other writes get their turn.
const pruneBatch = 1000

// Pruned counts what Prune removed.
type Pruned struct {
	Instances, Decisions, Definitions, Fleets, Tokens, Overrides int64
}

// Prune forgets what ended before the given time: terminated instances that are no
// longer paid for, with their operations and runners, decisions, superseded definitions, API tokens,
// overrides that expired, retired fleets that nothing refers to, and then
// overrides about instances and fleets that are forgotten. Audit records are
// kept for ever.
func (s *Store) Prune(ctx context.Context, before time.Time) (pruned Pruned, err error) {
	limit := before.UnixMicro()
	steps := []struct {
		count     *int64
		statement string
		arguments []any
	}{
		{&pruned.Instances, `DELETE FROM instance WHERE id IN
			(SELECT id FROM instance WHERE state = 'terminated' AND since < $1 AND paid_until < $1 LIMIT $2)`,
			[]any{limit, pruneBatch}},
		{&pruned.Decisions, `DELETE FROM decision WHERE id IN
			(SELECT id FROM decision WHERE at < $1 LIMIT $2)`, []any{limit, pruneBatch}},
		// A definition ended when the next one was applied.
		{&pruned.Definitions, `DELETE FROM definition WHERE serial <
			(SELECT MAX(later.serial) FROM definition AS later WHERE later.applied_at < $1)`, []any{limit}},
		{
			&pruned.Tokens,
			`DELETE FROM api_token WHERE (revoked > 0 AND revoked < $1) OR (expires > 0 AND expires < $1)`,
			[]any{limit},
		},
		{&pruned.Overrides, `DELETE FROM override WHERE expires > 0 AND expires < $1`, []any{limit}},
		{&pruned.Fleets, `DELETE FROM fleet WHERE retired = 1
			AND NOT EXISTS (SELECT 1 FROM instance WHERE instance.fleet = fleet.id)
			AND NOT EXISTS (SELECT 1 FROM decision WHERE decision.fleet = fleet.id)`, nil},
		// About subjects that don't exist any more: no command could clear these.
		{&pruned.Overrides, `DELETE FROM override WHERE expires = 0 AND (
			(subject LIKE 'instance:%' AND NOT EXISTS (SELECT 1 FROM instance WHERE subject = 'instance:' || instance.id)) OR
			(subject LIKE 'fleet:%' AND NOT EXISTS (SELECT 1 FROM fleet WHERE subject = 'fleet:' || fleet.id)))`, nil},
	}
	for _, step := range steps {
		for more := true; more; {
			err := s.write(ctx, "forget what ended before "+before.UTC().Format(time.RFC3339), func(tx *sql.Tx, _ int64) error {
				result, err := tx.ExecContext(ctx, step.statement, step.arguments...)
				if err != nil {
					return err
				}
				removed, err := result.RowsAffected()
				*step.count += removed
				more = removed == pruneBatch
				return err
			})
			if err != nil {
				return pruned, err
			}
		}
	}
	return pruned, nil
}
