package store

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// enrollment is one call of Enroll that waits for its transaction.
type enrollment struct {
	runner    fleet.Runner
	record    string
	tokenHash string
	// refusal is what the runner itself was told; nil: it is enrolled, if the
	// transaction was committed.
	refusal error
	// err is what the call returns, once over is closed.
	err  error
	over chan struct{}
}

// enrollments are those that wait for the next transaction. Hosts that boot together
// come together, and each commit waits for the disk: those that come meanwhile
// share the next one, so that a burst of hosts costs few commits, and the loop's own
// commits don't wait for hundreds.
type enrollments struct {
	mu      sync.Mutex
	waiting []*enrollment
}

// join adds one, and says whether it is the first, which has to see to the others.
func (e *enrollments) join(one *enrollment) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, one)
	return len(e.waiting) == 1
}

// take is everything that waits, for one transaction.
func (e *enrollments) take() []*enrollment {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := e.waiting
	e.waiting = nil
	return taken
}

// enrollTimeout bounds a transaction that others wait for, whose own calls may be
// over by then.
const enrollTimeout = 30 * time.Second

// Enroll records the runner and its certificate, and by that spends the token
// of its operation: of two at once, one is recorded, and the other gets an
// *fleet.AlreadyEnrolledError. The hash is of the token that was shown; one that
// another has replaced meanwhile gives a *fleet.VoidTokenError and spends nothing.
// After another error the runner may be recorded nevertheless.
func (s *Store) Enroll(ctx context.Context, runner fleet.Runner, tokenHash string) error {
	one := &enrollment{runner: runner, tokenHash: tokenHash, over: make(chan struct{})}
	var err error
	if one.record, err = encodeRunner(runner); err != nil {
		return s.failed(one.doing(), err)
	}
	if s.enrolling.join(one) {
		together, cancel := context.WithTimeout(context.WithoutCancel(ctx), enrollTimeout)
		s.enrollTogether(together)
		cancel()
	}
	select {
	case <-one.over:
		return one.err
	case <-ctx.Done():
		return s.failed(one.doing(), ctx.Err())
	}
}

func (one *enrollment) doing() string { return "enroll runner " + string(one.runner.ID) }

// enrollTogether writes all that wait when the transaction begins.
func (s *Store) enrollTogether(ctx context.Context) {
	var group []*enrollment
	err := s.write(ctx, "enroll runners", func(tx *sql.Tx, revision int64) error {
		group = s.enrolling.take()
		for _, one := range group {
			if err := one.write(ctx, tx, revision); err != nil {
				return err
			}
		}
		return nil
	})
	begun := group != nil
	if !begun {
		group = s.enrolling.take()
	}
	for _, one := range group {
		switch {
		case err != nil && begun && len(group) > 1:
			// One's trouble with its rows must not be the others'.
			one.err = s.write(ctx, one.doing(), func(tx *sql.Tx, revision int64) error {
				if err := one.write(ctx, tx, revision); err != nil {
					return err
				}
				return one.refusal
			})
		case err != nil:
			one.err = err
		default:
			one.err = s.failedIf(one.doing(), one.refusal)
		}
		close(one.over)
	}
}

// write records the runner, or leaves everything as it is and sets refusal. After an
// error the transaction is lost.
func (one *enrollment) write(ctx context.Context, tx *sql.Tx, revision int64) error {
	one.refusal = nil
	existing, err := recordsOf(
		ctx,
		tx,
		decodeRunner,
		`SELECT record, revoked_at FROM runner WHERE operation = $1`,
		string(one.runner.Operation),
	)
	if err != nil {
		return err
	}
	if len(existing) > 0 {
		one.refusal = &fleet.AlreadyEnrolledError{Existing: existing[0]}
		return nil
	}
	if one.refusal, err = voidToken(ctx, tx, one.runner.Operation, one.tokenHash); err != nil || one.refusal != nil {
		return err
	}
	identity, refusal, err := takenIdentity(ctx, tx, one.runner)
	if one.refusal = refusal; err != nil || refusal != nil {
		return err
	}
	_, err = tx.ExecContext(
		ctx,
		`INSERT INTO runner (id, operation, instance, revision, record, revoked_at, identity) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		string(
			one.runner.ID,
		),
		string(one.runner.Operation),
		string(one.runner.Instance),
		revision,
		one.record,
		revokedMicros(one.runner.Revoked),
		identity,
	)
	return err
}

// takenIdentity is how the runner's verified resource is stored, and the refusal
// where another runner was verified as the same: a provider's word that a resource
// is somebody counts for one certificate. Of an instance that is over it counts no
// more, since a host of an inventory comes back under the same id.
func takenIdentity(ctx context.Context, tx *sql.Tx, runner fleet.Runner) (identity string, refusal, err error) {
	if runner.Identity.Resource == "" {
		return "", nil, nil
	}
	var record []byte
	if err := tx.QueryRowContext(ctx, `SELECT record FROM instance WHERE id = $1`, string(runner.Instance)).
		Scan(&record); err != nil {
		return "", nil, err
	}
	own, err := decode[fleet.CapacityInstance](row{record: record})
	if err != nil {
		return "", nil, err
	}
	identity = string(own.Provider) + " " + storable(string(runner.Identity.Resource))
	others, err := recordsOf(
		ctx,
		tx,
		decode[fleet.CapacityInstance],
		`SELECT instance.record FROM runner JOIN instance ON instance.id = runner.instance WHERE runner.identity = $1`,
		identity,
	)
	if err != nil {
		return "", nil, err
	}
	for _, other := range others {
		if other.Live() && other.ID != own.ID {
			return identity, &fleet.IdentityTakenError{Resource: runner.Identity.Resource, Other: other.ID}, nil
		}
	}
	return identity, nil, nil
}

// voidToken holds a token against the one that its operation has now, which may have
// been renewed since somebody read it.
func voidToken(ctx context.Context, tx *sql.Tx, id fleet.OperationID, tokenHash string) (refusal, err error) {
	var record, request, claim []byte
	err = tx.QueryRowContext(ctx, `SELECT operation.record, operation.request, claim.record
		FROM operation LEFT JOIN claim ON claim.instance = operation.instance WHERE operation.id = $1`, string(id)).Scan(
		&record, &request, &claim)
	if err != nil {
		return nil, err
	}
	operation, err := decodeOperation(row{record, request})
	if err == nil && claim != nil {
		var claimed fleet.AssetClaim
		claimed, err = decode[fleet.AssetClaim](row{record: claim})
		operation = withJoinToken(operation, claimed)
	}
	if err == nil && operation.TokenHash != tokenHash {
		refusal = &fleet.VoidTokenError{Operation: id}
	}
	return refusal, err
}
