package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Change is what one step of the loop writes: whole rows, new or replaced.
type Change struct {
	Instances  []fleet.CapacityInstance
	Operations []fleet.Operation
	Decisions  []fleet.Decision
	Needed     []NeededRun
	Rollouts   []fleet.Rollout
	// RetireFleets are removed fleets that have nothing left. Serial is that of
	// the State which showed it: a fleet that a later apply declared again stays.
	RetireFleets []fleet.RunnerFleetID
	Serial       int64
}

// Empty says that there is nothing to write.
func (c Change) Empty() bool {
	return len(c.Instances)+len(c.Operations)+len(c.Decisions)+len(c.Needed)+len(c.Rollouts)+len(c.RetireFleets) == 0
}

// Commit writes the change in one transaction: after it returns without an
// error the change survives any crash, and after an error it is there whole or
// not at all. An empty change costs nothing.
func (s *Store) Commit(ctx context.Context, change Change) error {
	if change.Empty() {
		return nil
	}
	return s.write(ctx, "commit a change", func(tx *sql.Tx, revision int64) error {
		// Parents come before the rows that refer to them.
		if err := s.upsertInstances(ctx, tx, revision, change.Instances); err != nil {
			return err
		}
		if err := s.upsertOperations(ctx, tx, revision, change.Operations); err != nil {
			return err
		}
		if err := takeUpClaims(ctx, tx, change.Instances); err != nil {
			return err
		}
		if err := releaseAssets(ctx, tx, revision, change.Instances); err != nil {
			return err
		}
		if err := s.upsertDecisions(ctx, tx, change.Decisions); err != nil {
			return err
		}
		if err := s.upsertNeeded(ctx, tx, change.Needed); err != nil {
			return err
		}
		if err := s.upsertRollouts(ctx, tx, change.Rollouts); err != nil {
			return err
		}
		return retireFleets(ctx, tx, change.RetireFleets, change.Serial)
	})
}

func (s *Store) upsertInstances(
	ctx context.Context,
	tx *sql.Tx,
	revision int64,
	instances []fleet.CapacityInstance,
) error {
	rows := make([][]any, 0, len(instances))
	for _, instance := range instances {
		record, err := encode(instance)
		if err != nil {
			return fmt.Errorf("instance %s: %w", instance.ID, err)
		}
		rows = append(rows, []any{string(instance.ID), string(instance.Fleet), stateColumn(instance),
			instance.Since.UnixMicro(), paidUntil(instance), revision, record})
	}
	return s.upsert(
		ctx,
		tx,
		"instance",
		[]string{"id", "fleet", "state", "since", "paid_until", "revision", "record"},
		rows,
	)
}

// departing is the state column of an instance that is gone, and whose scheduler
// has yet to be told: the loop isn't done with it.
const departing = "departing"

// stateColumn is what queries select instances by.
func stateColumn(instance fleet.CapacityInstance) string {
	if !instance.Live() && !instance.Concluded() {
		return departing
	}
	return string(instance.State)
}

func (s *Store) upsertOperations(ctx context.Context, tx *sql.Tx, revision int64, operations []fleet.Operation) error {
	rows := make([][]any, 0, len(operations))
	for _, operation := range operations {
		record, request, err := encodeOperation(operation)
		if err != nil {
			return fmt.Errorf("operation %s: %w", operation.ID, err)
		}
		rows = append(
			rows,
			[]any{string(operation.ID), string(operation.Instance), string(operation.Batch.Key), revision, record, request},
		)
	}
	return s.upsert(ctx, tx, "operation", []string{"id", "instance", "batch", "revision", "record", "request"}, rows)
}

func (s *Store) upsertDecisions(ctx context.Context, tx *sql.Tx, decisions []fleet.Decision) error {
	rows := make([][]any, 0, len(decisions))
	for _, decision := range decisions {
		record, err := encode(decision)
		if err != nil {
			return fmt.Errorf("decision %s: %w", decision.ID, err)
		}
		rows = append(rows, []any{decision.ID, string(decision.Fleet), decision.At.UnixMicro(), record})
	}
	return s.upsert(ctx, tx, "decision", []string{"id", "fleet", "at", "record"}, rows)
}

// retireFleets forgets fleets for the loop unless a definition after serial has
// changed them.
func retireFleets(ctx context.Context, tx *sql.Tx, ids []fleet.RunnerFleetID, serial int64) error {
	if len(ids) > 0 && serial == 0 {
		return errors.New("retire fleets: the change has no serial of the state that it was made from")
	}
	for _, id := range ids {
		if _, err := tx.ExecContext(ctx,
			`UPDATE fleet SET retired = 1 WHERE id = $1 AND serial <= $2`, string(id), serial); err != nil {
			return fmt.Errorf("retire fleet %s: %w", id, err)
		}
	}
	return nil
}
