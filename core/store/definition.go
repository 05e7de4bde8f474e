package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// AppliedDefinition is a definition with the apply that made it current.
type AppliedDefinition struct {
	// Serial counts applies that changed something; 0: none yet.
	Serial     int64
	At         time.Time
	By         string
	Definition fleet.Definition
}

// Apply is what ApplyDefinition writes.
type Apply struct {
	// Expect is the serial that the plan was made from.
	Expect     int64
	Definition fleet.Definition
	At         time.Time
	// By names the person or program for others to read.
	By string
	// Fleets are the whole rows of the fleets that this apply adds or changes,
	// those that it removes among them (draining). Their Serial is set here.
	Fleets []fleet.ManagedFleet
	// Reimaged are the fleets whose image is another one: a rollback from the one
	// before ends.
	Reimaged []fleet.RunnerFleetID
	// Plan is the id of a saved plan, which this apply uses up; empty: none.
	Plan string
	// Audit makes the record of this apply from what it came to, which is kept in
	// the same transaction: of an apply that changes the definition, and of one that
	// uses up a saved plan. Nil: none is kept.
	Audit func(serial int64, changed bool) AuditRecord
}

// StaleError refuses an apply whose plan was made from an older definition.
type StaleError struct {
	Expected int64
	// Serial, By and At are of the apply that came in between.
	Serial int64
	By     string
	At     time.Time
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("the plan was made from definition %d, but %s applied definition %d at %s: plan again",
		e.Expected, e.By, e.Serial, e.At.Format(time.RFC3339))
}

// Definition is the current definition; not found before the first apply.
func (s *Store) Definition(ctx context.Context) (applied AppliedDefinition, found bool, err error) {
	err = s.read(ctx, "read the definition", func(tx *sql.Tx) error {
		applied, _, err = currentDefinition(ctx, tx)
		return err
	})
	return applied, applied.Serial > 0, err
}

// DefinitionAt is the definition that an apply made current. Those that were
// superseded long ago are pruned, and not found.
func (s *Store) DefinitionAt(ctx context.Context, serial int64) (applied AppliedDefinition, found bool, err error) {
	doing := fmt.Sprintf("read definition %d", serial)
	err = s.read(ctx, doing, func(tx *sql.Tx) error {
		applied, _, err = scanDefinition(tx.QueryRowContext(ctx,
			`SELECT serial, applied_at, applied_by, record FROM definition WHERE serial = $1`, serial))
		return err
	})
	return applied, applied.Serial > 0, err
}

// ApplyDefinition makes the definition current, writes the fleets that it
// changes and returns its serial. If the definition is current already, nothing
// is written and its serial is returned, whatever was expected: an apply whose
// answer was lost can be sent again. Else, if another apply came in between,
// the error is a *StaleError. A saved plan is used up and the audit record kept
// in the same transaction; a plan that was used before gives a *UsedPlanError, whatever is current.
func (s *Store) ApplyDefinition(ctx context.Context, apply Apply) (serial int64, err error) {
	record, err := encode(apply.Definition)
	if err != nil {
		return 0, s.failed("apply the definition", err)
	}
	err = s.write(ctx, "apply the definition", func(tx *sql.Tx, _ int64) error {
		if err := refuseUsedPlan(ctx, tx, apply); err != nil {
			return err
		}
		current, stored, err := currentDefinition(ctx, tx)
		if err != nil {
			return err
		}
		serial = current.Serial
		switch {
		case stored == record && apply.Plan != "":
			return applyEnds(ctx, tx, apply, serial, false)
		case stored == record:
			return errUnchanged
		case current.Serial != apply.Expect:
			return &StaleError{Expected: apply.Expect, Serial: current.Serial, By: current.By, At: current.At}
		}
		serial++
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO definition (serial, applied_at, applied_by, record) VALUES ($1, $2, $3, $4)`,
			serial, apply.At.UnixMicro(), storable(apply.By), record); err != nil {
			return err
		}
		if err := s.upsertFleets(ctx, tx, serial, apply.Fleets); err != nil {
			return err
		}
		if err := endRollbacks(ctx, tx, apply.Reimaged); err != nil {
			return err
		}
		return applyEnds(ctx, tx, apply, serial, true)
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return 0, err
	}
	return serial, nil
}

// applyEnds uses up the apply's saved plan and keeps its audit record.
func applyEnds(ctx context.Context, tx *sql.Tx, apply Apply, serial int64, changed bool) error {
	if err := usePlan(ctx, tx, apply, serial); err != nil || apply.Audit == nil {
		return err
	}
	return appendAudit(ctx, tx, apply.Audit(serial, changed))
}

// errUnchanged ends a transaction that has nothing to write.
var errUnchanged = errors.New("the definition is current already")

// currentDefinition is the definition with the highest serial and its record.
func currentDefinition(ctx context.Context, tx *sql.Tx) (current AppliedDefinition, record string, err error) {
	return scanDefinition(tx.QueryRowContext(ctx,
		`SELECT serial, applied_at, applied_by, record FROM definition ORDER BY serial DESC LIMIT 1`))
}

// scanDefinition is the definition of a row; of none, the zero value.
func scanDefinition(from *sql.Row) (applied AppliedDefinition, record string, err error) {
	var at int64
	err = from.Scan(&applied.Serial, &at, &applied.By, &record)
	if errors.Is(err, sql.ErrNoRows) {
		return AppliedDefinition{}, "", nil
	}
	if err != nil {
		return AppliedDefinition{}, "", err
	}
	applied.At = time.UnixMicro(at).UTC()
	applied.Definition, err = decode[fleet.Definition](row{record: []byte(record)})
	return applied, record, err
}

// upsertFleets writes whole fleets as changed by the definition serial. A fleet
// that was retired meanwhile is brought back: the apply is the later word.
func (s *Store) upsertFleets(ctx context.Context, tx *sql.Tx, serial int64, fleets []fleet.ManagedFleet) error {
	var rows [][]any
	for _, managed := range fleets {
		managed.Serial = serial
		record, err := encode(managed)
		if err != nil {
			return fmt.Errorf("fleet %s: %w", managed.Address, err)
		}
		rows = append(rows, []any{string(managed.ID), string(managed.Address), serial, 0, record})
	}
	return s.upsert(ctx, tx, "fleet", []string{"id", "address", "serial", "retired", "record"}, rows)
}
