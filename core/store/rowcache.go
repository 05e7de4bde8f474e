package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// rowCache is the instances that the loop isn't done with with their operations and runners as of one
// revision, sorted by id. It is never changed once it is made.
type rowCache struct {
	revision    int64
	instances   []fleet.CapacityInstance
	operations  []fleet.Operation
	runners     []fleet.Runner
	commitments commitments
}

// The order of ids, which is that of their bytes whatever order a database's
// language has.
func instanceID(instance *fleet.CapacityInstance) string { return string(instance.ID) }
func operationID(operation *fleet.Operation) string      { return string(operation.ID) }
func runnerID(runner *fleet.Runner) string               { return string(runner.ID) }
func commitmentID(commitment *fleet.Commitment) string   { return string(commitment.Instance) }

// readRows reads all live rows.
func readRows(ctx context.Context, tx *sql.Tx) (s rowCache, err error) {
	if s.revision, err = currentRevision(ctx, tx); err != nil {
		return s, err
	}
	if s.instances, err = sortedRecords(ctx, tx, decode[fleet.CapacityInstance], instanceID,
		`SELECT record FROM instance WHERE state <> 'terminated'`); err != nil {
		return s, err
	}
	const live = ` WHERE instance IN (SELECT id FROM instance WHERE state <> 'terminated')`
	if s.operations, err = sortedRecords(ctx, tx, decodeOperation, operationID,
		`SELECT record, request FROM operation`+live); err != nil {
		return s, err
	}
	if s.runners, err = sortedRecords(
		ctx,
		tx,
		decodeRunner,
		runnerID,
		`SELECT record, revoked_at FROM runner`+live,
	); err != nil {
		return s, err
	}
	s.commitments, err = readCommitments(ctx, tx, s.instances)
	return s, err
}

// advance is the snapshot after the changes that tx sees.
func (s rowCache) advance(ctx context.Context, tx *sql.Tx) (rowCache, error) {
	revision, err := currentRevision(ctx, tx)
	if err != nil || revision == s.revision {
		return s, err
	}
	instances, err := sortedRecords(ctx, tx, decode[fleet.CapacityInstance], instanceID,
		`SELECT record FROM instance WHERE revision > $1`, s.revision)
	if err != nil {
		return s, err
	}
	// Rows of changed instances are read as well as changed rows: should an
	// instance come back from Terminated, then so do its operations and runner.
	const changed = ` WHERE revision > $1 OR instance IN (SELECT id FROM instance WHERE revision > $1)`
	operations, err := sortedRecords(ctx, tx, decodeOperation, operationID,
		`SELECT record, request FROM operation`+changed, s.revision)
	if err != nil {
		return s, err
	}
	runners, err := sortedRecords(
		ctx,
		tx,
		decodeRunner,
		runnerID,
		`SELECT record, revoked_at FROM runner`+changed,
		s.revision,
	)
	if err != nil {
		return s, err
	}
	next := rowCache{revision: revision}
	next.instances = merge(s.instances, instances,
		instanceID, func(i *fleet.CapacityInstance) bool { return !i.Concluded() })
	live := make(map[fleet.CapacityInstanceID]bool, len(next.instances))
	for i := range next.instances {
		live[next.instances[i].ID] = true
	}
	next.operations = merge(s.operations, operations,
		operationID, func(o *fleet.Operation) bool { return live[o.Instance] })
	next.runners = merge(s.runners, runners,
		runnerID, func(r *fleet.Runner) bool { return live[r.Instance] })
	next.commitments = s.commitments.after(instances)
	return next, nil
}

// copies are the snapshot's rows without memory shared with it.
func (s rowCache) copies() ([]fleet.CapacityInstance, []fleet.Operation, []fleet.Runner) {
	instances, operations, runners := slices.Clone(s.instances), slices.Clone(s.operations), slices.Clone(s.runners)
	for i := range instances {
		instances[i].Admission.Checks = slices.Clone(instances[i].Admission.Checks)
		instances[i].Addresses = slices.Clone(instances[i].Addresses)
		instances[i].Attested = slices.Clone(instances[i].Attested)
		if told := instances[i].Interruption; told != nil {
			own := *told
			instances[i].Interruption = &own
		}
	}
	for i := range operations {
		operations[i].Request = slices.Clone(operations[i].Request)
		operations[i].Nonce = slices.Clone(operations[i].Nonce)
	}
	for i := range runners {
		runners[i].Report.Probes = maps.Clone(runners[i].Report.Probes)
		runners[i].Report.Notices = slices.Clone(runners[i].Report.Notices)
	}
	return instances, operations, runners
}

// currentRevision is the number of the last write transaction that tx sees.
func currentRevision(ctx context.Context, tx *sql.Tx) (revision int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT revision FROM writer WHERE one = 1`).Scan(&revision)
	return revision, err
}

// sortedRecords is recordsOf in the order of ids.
func sortedRecords[T any](ctx context.Context, tx *sql.Tx, from func(row) (T, error), id func(*T) string,
	query string, args ...any) ([]T, error) {
	values, err := recordsOf(ctx, tx, from, query, args...)
	slices.SortFunc(values, func(a, b T) int { return cmp.Compare(id(&a), id(&b)) })
	return values, err
}

// merge puts changed rows in the place of old ones and keeps those that are
// live. Both lists are sorted by id, and so is the result; nil where it is empty.
func merge[T any](old, changed []T, id func(*T) string, live func(*T) bool) []T {
	merged := make([]T, 0, len(old)+len(changed))
	for len(old)+len(changed) > 0 {
		order := -1 // take the old row
		switch {
		case len(old) == 0:
			order = 1
		case len(changed) > 0:
			order = cmp.Compare(id(&old[0]), id(&changed[0]))
		}
		var next *T
		if order < 0 {
			next, old = &old[0], old[1:]
		} else {
			next, changed = &changed[0], changed[1:]
		}
		if order == 0 {
			old = old[1:]
		}
		if live(next) {
			merged = append(merged, *next)
		}
	}
	if len(merged) == 0 {
		return nil
	}
	return merged
}
