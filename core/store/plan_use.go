package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// PlanUse is the one apply of a saved plan.
type PlanUse struct {
	ID string
	At time.Time
	By string
	// Serial is of the definition that was current afterwards.
	Serial int64
}

// UsedPlanError refuses an apply whose saved plan was applied before.
type UsedPlanError struct{ PlanUse }

func (e *UsedPlanError) Error() string {
	return fmt.Sprintf("the saved plan %s was applied by %s at %s already, as definition %d: plan again",
		e.ID, e.By, e.At.Format(time.RFC3339), e.Serial)
}

// PlanUse finds the apply of a saved plan; not found: it is still good.
func (s *Store) PlanUse(ctx context.Context, id string) (use PlanUse, found bool, err error) {
	err = s.read(ctx, "look for the use of plan "+id, func(tx *sql.Tx) error {
		use, found, err = planUse(ctx, tx, id)
		return err
	})
	return use, found, err
}

func planUse(ctx context.Context, tx *sql.Tx, id string) (PlanUse, bool, error) {
	use := PlanUse{ID: id}
	var at int64
	err := tx.QueryRowContext(ctx, `SELECT used_at, used_by, serial FROM plan_use WHERE id = $1`, storable(id)).
		Scan(&at, &use.By, &use.Serial)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return PlanUse{}, false, nil
	case err != nil:
		return PlanUse{}, false, err
	}
	use.At = time.UnixMicro(at).UTC()
	return use, true, nil
}

// refuseUsedPlan fails where the apply's saved plan was applied before.
func refuseUsedPlan(ctx context.Context, tx *sql.Tx, apply Apply) error {
	if apply.Plan == "" {
		return nil
	}
	use, found, err := planUse(ctx, tx, apply.Plan)
	if err == nil && found {
		err = &UsedPlanError{use}
	}
	return err
}

// usePlan notes that the apply's saved plan is used up.
func usePlan(ctx context.Context, tx *sql.Tx, apply Apply, serial int64) error {
	if apply.Plan == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO plan_use (id, used_at, used_by, serial) VALUES ($1, $2, $3, $4)`,
		storable(apply.Plan), apply.At.UnixMicro(), storable(apply.By), serial)
	return err
}
