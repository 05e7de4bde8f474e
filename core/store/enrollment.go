package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

const subject = `SELECT operation.record, operation.request, instance.record, fleet.record, runner.record, runner.revoked_at, claim.record
	FROM operation
	JOIN instance ON instance.id = operation.instance
	JOIN fleet ON fleet.id = instance.fleet
	LEFT JOIN runner ON runner.operation = operation.id
	LEFT JOIN claim ON claim.instance = instance.id
	WHERE `

// EnrollmentSubject finds what the token of a provision operation is bound to. What
// it points to is shared with other calls and must not be changed.
func (s *Store) EnrollmentSubject(ctx context.Context, id fleet.OperationID) (fleet.EnrollmentSubject, bool, error) {
	return s.subject(ctx, "find the enrollment of operation "+string(id), subject+`operation.id = $1`, string(id))
}

// RunnerSubject finds the enrollment that a runner came from. What it points to is
// shared with other calls and must not be changed.
func (s *Store) RunnerSubject(ctx context.Context, id fleet.RunnerID) (fleet.EnrollmentSubject, bool, error) {
	return s.subject(ctx, "find the enrollment of runner "+string(id), subject+`runner.id = $1`, string(id))
}

// TokenSubjects finds what the token with this key is bound to: the operation with this
// id, or the operations of the batch with this key, in their order. There are fewer of
// those than went out where some were pruned, and none where there is no such operation
// and no such batch. Where the operation is one that a claim asks for and the loop has yet
// to write, the error is a *fleet.ClaimPendingError. What they point to is shared with other
// calls and must not be changed.
func (s *Store) TokenSubjects(ctx context.Context, key fleet.OperationID) ([]fleet.EnrollmentSubject, error) {
	one, found, err := s.EnrollmentSubject(ctx, key)
	if err != nil {
		return nil, err
	}
	if found {
		return []fleet.EnrollmentSubject{one}, nil
	}
	if err := s.checkPending(ctx, key); err != nil {
		return nil, err
	}
	return s.batchSubjects(ctx, key)
}

func (s *Store) batchSubjects(ctx context.Context, batch fleet.OperationID) ([]fleet.EnrollmentSubject, error) {
	if batch == "" {
		return nil, nil // the batch of operations that went out by themselves
	}
	found, err := s.subjects(
		ctx,
		"find the enrollments of batch "+string(batch),
		subject+`operation.batch = $1`,
		string(batch),
	)
	slices.SortFunc(found, func(a, b fleet.EnrollmentSubject) int {
		return cmp.Compare(a.Operation.Batch.Number, b.Operation.Batch.Number)
	})
	return found, err
}

func (s *Store) subject(ctx context.Context, doing, query, id string) (fleet.EnrollmentSubject, bool, error) {
	found, err := s.subjects(ctx, doing, query, id)
	if err != nil || len(found) == 0 {
		return fleet.EnrollmentSubject{}, false, err
	}
	return found[0], true, nil
}

func (s *Store) subjects(ctx context.Context, doing, query, id string) (all []fleet.EnrollmentSubject, err error) {
	asked, err := s.prepared(ctx, query)
	if err != nil {
		return nil, s.failed(doing, err)
	}
	rows, err := asked.QueryContext(ctx, storable(id))
	if err != nil {
		return nil, s.failed(doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		var operation, request, instance, managed, runner, revoked, claim []byte
		if err := rows.Scan(&operation, &request, &instance, &managed, &runner, &revoked, &claim); err != nil {
			return nil, s.failed(doing, err)
		}
		one, err := s.subjectOf(operation, request, instance, managed, runner, revoked, claim)
		if err != nil {
			return nil, s.failed(doing, err)
		}
		all = append(all, one)
	}
	return all, s.failedIf(doing, rows.Err())
}

// subjectOf decodes one row of the query.
func (s *Store) subjectOf(
	operation, request, instance, managed, runner, revoked, claim []byte,
) (found fleet.EnrollmentSubject, err error) {
	var errs [5]error
	found.Operation, errs[0] = s.operations.of(operation)
	found.Operation = withRequest(found.Operation, request)
	found.Instance, errs[1] = s.instances.of(instance)
	found.Fleet, errs[2] = s.fleets.of(managed)
	if runner != nil {
		var enrolled fleet.Runner
		enrolled, errs[3] = decodeRunner(row{runner, revoked})
		found.Runner = &enrolled
	}
	if claim != nil {
		var claimed fleet.AssetClaim
		claimed, errs[4] = decode[fleet.AssetClaim](row{record: claim})
		found.Operation = withJoinToken(found.Operation, claimed)
		found.JoinToken = !claimed.Expires.IsZero()
	}
	return found, errors.Join(errs[:]...)
}

// RecordRunners replaces what is known of enrolled runners, many in one
// transaction. A runner that isn't in the store (pruned meanwhile) is passed
// over: one late heartbeat must not undo the others. Who is revoked stays so.
func (s *Store) RecordRunners(ctx context.Context, runners []fleet.Runner) error {
	if len(runners) == 0 {
		return nil
	}
	const doing = "record heartbeats"
	rows := make([][]any, 0, len(runners))
	for _, runner := range runners {
		record, err := encodeRunner(runner)
		if err != nil {
			return s.failed(doing, fmt.Errorf("runner %s: %w", runner.ID, err))
		}
		rows = append(rows, []any{string(runner.ID), record})
	}
	return s.write(ctx, doing, func(tx *sql.Tx, revision int64) error {
		return s.batched(ctx, tx, `WITH latest (id, record) AS (VALUES `, fmt.Sprintf(
			`) UPDATE runner SET record = latest.record, revision = %d FROM latest WHERE runner.id = latest.id`, revision),
			lastOfEach(rows))
	})
}

// UnknownRunnerError says that the store has no such runner.
type UnknownRunnerError struct{ Runner fleet.RunnerID }

func (e *UnknownRunnerError) Error() string {
	return fmt.Sprintf("no runner %s is known; it may have been forgotten with its instance", e.Runner)
}

// RevokeRunner takes a runner's right to call away, for good: it has no inverse,
// and of two revocations the first one's time stays. Enrollment reads it on
// every call of the runner.
func (s *Store) RevokeRunner(ctx context.Context, id fleet.RunnerID, at time.Time) error {
	return s.write(ctx, "revoke runner "+string(id), func(tx *sql.Tx, revision int64) error {
		result, err := tx.ExecContext(ctx, `UPDATE runner SET revision = $1,
			revoked_at = CASE WHEN revoked_at = 0 THEN $2 ELSE revoked_at END WHERE id = $3`,
			revision, at.UnixMicro(), storable(string(id)))
		if err != nil {
			return err
		}
		if updated, err := result.RowsAffected(); err != nil || updated > 0 {
			return err
		}
		return &UnknownRunnerError{Runner: id}
	})
}
