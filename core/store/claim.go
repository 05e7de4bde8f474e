package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// NewClaim is an asset with the instance and the operation that its claim asks for.
type NewClaim struct {
	Claim     fleet.AssetClaim
	Instance  fleet.CapacityInstance
	Operation fleet.Operation
	// Serial is the fleet's as the claimant has seen it.
	Serial int64
	// Max is how many live instances the fleet may have with this one.
	Max   int
	Audit AuditRecord
}

// AssetTakenError says that another instance has the asset.
type AssetTakenError struct{ Claim fleet.AssetClaim }

func (e *AssetTakenError) Error() string {
	return fmt.Sprintf("%s of provider.%s is claimed by instance %s", e.Claim.Asset, e.Claim.Provider, e.Claim.Instance)
}

// ClaimRefusedError says why a fleet takes no claim.
type ClaimRefusedError struct{ Reason string }

func (e *ClaimRefusedError) Error() string { return e.Reason }

// pendingClaim is what a claim asks for, until the loop has written it.
type pendingClaim struct {
	Instance  fleet.CapacityInstance `json:"instance"`
	Operation fleet.Operation        `json:"operation"`
}

// ClaimAsset stores the claim on an asset. The instance and the operation that it asks
// for are in the State of the next Load, and in their tables once the loop has
// committed them. Where another instance has the asset the error is an
// *AssetTakenError; where the fleet is full, or no longer what it was, a
// *ClaimRefusedError.
func (s *Store) ClaimAsset(ctx context.Context, c NewClaim) error {
	doing := fmt.Sprintf("claim %s of provider.%s", c.Claim.Asset, c.Claim.Provider)
	record, err := encode(c.Claim)
	if err != nil {
		return s.failed(doing, err)
	}
	pending, err := encode(pendingClaim{c.Instance, c.Operation})
	if err != nil {
		return s.failed(doing, err)
	}
	return s.write(ctx, doing, func(tx *sql.Tx, _ int64) error {
		if err := mayClaim(ctx, tx, c); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `INSERT INTO claim (provider, asset, instance, operation, pending, record)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (provider, asset) DO NOTHING`,
			string(c.Claim.Provider), storable(c.Claim.Asset), string(c.Claim.Instance), string(c.Operation.ID), pending, record)
		if err != nil {
			return err
		}
		if inserted, err := result.RowsAffected(); err != nil || inserted == 0 {
			return errors.Join(err, takenBy(ctx, tx, c.Claim))
		}
		return appendAudit(ctx, tx, c.Audit)
	})
}

// mayClaim holds the fleet against what was seen of it.
func mayClaim(ctx context.Context, tx *sql.Tx, c NewClaim) error {
	found, err := recordsOf(ctx, tx, decode[fleet.ManagedFleet],
		`SELECT record FROM fleet WHERE id = $1 AND retired = 0`, string(c.Instance.Fleet))
	if err != nil {
		return err
	}
	if len(found) == 0 || found[0].Serial != c.Serial || found[0].Operational != fleet.FleetActive {
		return &ClaimRefusedError{"the fleet was changed or removed meanwhile; try again"}
	}
	var live int
	if err := tx.QueryRowContext(ctx,
		`SELECT COUNT(*) FROM instance WHERE fleet = $1 AND state NOT IN ('terminated', 'departing')`,
		string(c.Instance.Fleet)).
		Scan(&live); err != nil {
		return err
	}
	pending, err := pendingClaims(ctx, tx)
	if err != nil {
		return err
	}
	for _, other := range pending {
		if other.Instance.Fleet == c.Instance.Fleet {
			live++
		}
	}
	if live >= c.Max {
		return &ClaimRefusedError{
			fmt.Sprintf(
				"%s is full: max = %d; hosts joined, being joined or not released yet: %d; raise max, or release one first",
				found[0].Address,
				c.Max,
				live,
			),
		}
	}
	return nil
}

func takenBy(ctx context.Context, tx *sql.Tx, wanted fleet.AssetClaim) error {
	existing, err := recordsOf(ctx, tx, decode[fleet.AssetClaim],
		`SELECT record FROM claim WHERE provider = $1 AND asset = $2`, string(wanted.Provider), storable(wanted.Asset))
	if err != nil || len(existing) == 0 {
		return errors.Join(err, errors.New("the claim can't be read back"))
	}
	return &AssetTakenError{Claim: existing[0]}
}

// RenewJoinToken gives a claim another token in place of the one that it has,
// which is void from then on. It is refused once an agent has enrolled or the
// instance has ended.
func (s *Store) RenewJoinToken(ctx context.Context, c fleet.AssetClaim, audit AuditRecord) error {
	doing := fmt.Sprintf("make a new join token for %s of provider.%s", c.Asset, c.Provider)
	record, err := encode(c)
	if err != nil {
		return s.failed(doing, err)
	}
	return s.write(ctx, doing, func(tx *sql.Tx, _ int64) error {
		result, err := tx.ExecContext(ctx, `UPDATE claim SET record = $1 WHERE provider = $2 AND asset = $3 AND instance = $4
			AND NOT EXISTS (SELECT 1 FROM runner WHERE runner.instance = claim.instance)
			AND (pending <> '' OR EXISTS (SELECT 1 FROM instance
				WHERE instance.id = claim.instance AND instance.state IN ('provisioning', 'bootstrapping')))`,
			record, string(c.Provider), storable(c.Asset), string(c.Instance))
		if err != nil {
			return err
		}
		if updated, err := result.RowsAffected(); err != nil || updated == 0 {
			return errors.Join(
				err,
				&ClaimRefusedError{
					"its agent enrolled, or its claim ended, just now; look with forgeyard-fleet instance list, and try again " +
						"where it is free",
				},
			)
		}
		return appendAudit(ctx, tx, audit)
	})
}

// claims reads all claims.
func claims(ctx context.Context, tx *sql.Tx) ([]fleet.AssetClaim, error) {
	return recordsOf(ctx, tx, decode[fleet.AssetClaim], `SELECT record FROM claim ORDER BY provider, asset`)
}

// pendingClaims are what claims ask for and the loop has yet to write.
func pendingClaims(ctx context.Context, tx *sql.Tx) ([]pendingClaim, error) {
	return recordsOf(ctx, tx, decode[pendingClaim], `SELECT pending FROM claim WHERE pending <> '' ORDER BY instance`)
}

// takeUpClaims notes that the instances of claims are written.
func takeUpClaims(ctx context.Context, tx *sql.Tx, instances []fleet.CapacityInstance) error {
	for _, i := range instances {
		if i.Asset == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE claim SET pending = '' WHERE instance = $1 AND pending <> ''`, string(i.ID)); err != nil {
			return fmt.Errorf("take up the claim of instance %s: %w", i.ID, err)
		}
	}
	return nil
}

// checkPending gives a *fleet.ClaimPendingError where a claim asks for the operation.
func (s *Store) checkPending(ctx context.Context, id fleet.OperationID) error {
	const doing = "look for a claim"
	asked, err := s.prepared(ctx, `SELECT COUNT(*) FROM claim WHERE operation = $1 AND pending <> ''`)
	if err != nil {
		return s.failed(doing, err)
	}
	var found int
	if err := asked.QueryRowContext(ctx, storable(string(id))).Scan(&found); err != nil {
		return s.failed(doing, err)
	}
	if found > 0 {
		return &fleet.ClaimPendingError{Operation: id}
	}
	return nil
}

// releaseAssets gives the assets of terminated instances back. In the same
// transaction their runners lose the right to call: the next agent on the host
// is another runner, and one that was only lost must not continue beside it.
func releaseAssets(ctx context.Context, tx *sql.Tx, revision int64, instances []fleet.CapacityInstance) error {
	for _, i := range instances {
		if i.Asset == "" || i.Live() {
			continue
		}
		if _, err := tx.ExecContext(
			ctx,
			`UPDATE runner SET revision = $1, revoked_at = $2 WHERE instance = $3 AND revoked_at = 0`,
			revision,
			i.Since.UnixMicro(),
			string(i.ID),
		); err != nil {
			return fmt.Errorf("revoke the runner of instance %s: %w", i.ID, err)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM claim WHERE instance = $1`, string(i.ID)); err != nil {
			return fmt.Errorf("release the asset of instance %s: %w", i.ID, err)
		}
	}
	return nil
}

// withJoinToken is the operation with the token of its claim, where a person
// joins the host.
func withJoinToken(op fleet.Operation, c fleet.AssetClaim) fleet.Operation {
	if !c.Expires.IsZero() {
		op.Nonce, op.TokenHash, op.TokenExpires = c.Nonce, c.TokenHash, c.Expires
	}
	return op
}
