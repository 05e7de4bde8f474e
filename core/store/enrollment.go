package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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

// EnrollmentSubject finds what the token of a provision operation is bound to.
func (s *Store) EnrollmentSubject(ctx context.Context, id fleet.OperationID) (fleet.EnrollmentSubject, bool, error) {
	return s.subject(ctx, "find the enrollment of operation "+string(id), subject+`operation.id = $1`, string(id))
}

// RunnerSubject finds the enrollment that a runner came from.
func (s *Store) RunnerSubject(ctx context.Context, id fleet.RunnerID) (fleet.EnrollmentSubject, bool, error) {
	return s.subject(ctx, "find the enrollment of runner "+string(id), subject+`runner.id = $1`, string(id))
}

func (s *Store) subject(ctx context.Context, doing, query, id string) (found fleet.EnrollmentSubject, ok bool, err error) {
	asked, err := s.prepared(ctx, query)
	if err != nil {
		return fleet.EnrollmentSubject{}, false, s.failed(doing, err)
	}
	var operation, request, instance, managed, runner, revoked, claim []byte
	err = asked.QueryRowContext(ctx, storable(id)).Scan(&operation, &request, &instance, &managed, &runner, &revoked, &claim)
	if errors.Is(err, sql.ErrNoRows) {
		return fleet.EnrollmentSubject{}, false, nil
	}
	if err != nil {
		return fleet.EnrollmentSubject{}, false, s.failed(doing, err)
	}
	var errs [5]error
	found.Operation, errs[0] = decodeOperation(row{operation, request})
	found.Instance, errs[1] = decode[fleet.CapacityInstance](row{record: instance})
	found.Fleet, errs[2] = decode[fleet.ManagedFleet](row{record: managed})
	if runner != nil {
		var enrolled fleet.Runner
		enrolled, errs[3] = decodeRunner(row{runner, revoked})
		found.Runner = &enrolled
	}
	if claim != nil {
		var claimed fleet.AssetClaim
		claimed, errs[4] = decode[fleet.AssetClaim](row{record: claim})
		found.Operation = withJoinToken(found.Operation, claimed)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return fleet.EnrollmentSubject{}, false, s.failed(doing, err)
	}
	return found, true, nil
}

// Enroll records the runner and its certificate, and by that spends the token
// of its operation: of two at once, one is recorded, and the other gets an
// *fleet.AlreadyEnrolledError. The hash is of the token that was shown; one that
// another has replaced meanwhile gives a *fleet.VoidTokenError and spends nothing.
func (s *Store) Enroll(ctx context.Context, runner fleet.Runner, tokenHash string) error {
	doing := "enroll runner " + string(runner.ID)
	record, err := encodeRunner(runner)
	if err != nil {
		return s.failed(doing, err)
	}
	return s.write(ctx, doing, func(tx *sql.Tx, revision int64) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO runner (id, operation, instance, revision, record, revoked_at)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (operation) DO NOTHING`,
			string(runner.ID), string(runner.Operation), string(runner.Instance), revision, record, revokedMicros(runner.Revoked))
		if err != nil {
			return err
		}
		inserted, err := result.RowsAffected()
		switch {
		case err != nil:
			return err
		case inserted > 0:
			return refuseVoidToken(ctx, tx, runner.Operation, tokenHash)
		}
		existing, err := recordsOf(ctx, tx, decodeRunner,
			`SELECT record, revoked_at FROM runner WHERE operation = $1`, string(runner.Operation))
		if err != nil {
			return err
		}
		return &fleet.AlreadyEnrolledError{Existing: existing[0]}
	})
}

// refuseVoidToken holds a token against the one that its operation has now, which
// may have been renewed since somebody read it.
func refuseVoidToken(ctx context.Context, tx *sql.Tx, id fleet.OperationID, tokenHash string) error {
	var record, request, claim []byte
	err := tx.QueryRowContext(ctx, `SELECT operation.record, operation.request, claim.record
		FROM operation LEFT JOIN claim ON claim.instance = operation.instance WHERE operation.id = $1`, string(id)).Scan(&record, &request, &claim)
	if err != nil {
		return err
	}
	operation, err := decodeOperation(row{record, request})
	if err == nil && claim != nil {
		var claimed fleet.AssetClaim
		claimed, err = decode[fleet.AssetClaim](row{record: claim})
		operation = withJoinToken(operation, claimed)
	}
	if err == nil && operation.TokenHash != tokenHash {
		err = &fleet.VoidTokenError{Operation: id}
	}
	return err
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
		return batched(ctx, tx, `WITH latest (id, record) AS (VALUES `, fmt.Sprintf(
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
