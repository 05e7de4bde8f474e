package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// The kinds of overrides, as their rows have them.
const (
	scaleKind        = "scale"
	pinKind          = "pin"
	freezeKind       = "freeze"
	quarantineKind   = "quarantine"
	reservationKind  = "reservation"
	costOverrideKind = "cost_override"
	rolloutKind      = "rollout"
)

// overrideRow is one override as its table has it.
type overrideRow struct {
	kind, subject string
	expires       time.Time
	value         any
}

// rowOf finds the row of an override: a fleet has one scale override, one freeze
// and one cost override, an instance one pin, and a new one replaces the one before.
func rowOf(order any) (overrideRow, error) {
	switch o := order.(type) {
	case fleet.FleetScaleOverride:
		return overrideRow{scaleKind, string(o.Fleet), o.Until, o}, nil
	case fleet.RunnerPin:
		return overrideRow{pinKind, string(o.Instance), o.Until, o}, nil
	case fleet.Freeze:
		return overrideRow{
			freezeKind,
			subjectOf("fleet", string(o.Fleet), "provider", string(o.Provider)),
			time.Time{},
			o,
		}, nil
	case fleet.Quarantine:
		return overrideRow{
			quarantineKind,
			subjectOf("fleet", string(o.Fleet), "instance", string(o.Instance), "image", o.Image),
			time.Time{},
			o,
		}, nil
	case fleet.CapacityReservation:
		return overrideRow{reservationKind, string(o.ID), o.End, o}, nil
	case fleet.CostOverride:
		return overrideRow{costOverrideKind, string(o.Fleet), o.Until, o}, nil
	case fleet.RolloutOrder:
		return overrideRow{rolloutKind, subjectOf("fleet", string(o.Fleet)), time.Time{}, o}, nil
	}
	return overrideRow{}, fmt.Errorf("%T is not an override", order)
}

// subjectOf is the first pair of a kind and a name that has a name.
func subjectOf(pairs ...string) string {
	for n := 0; n < len(pairs); n += 2 {
		if pairs[n+1] != "" {
			return pairs[n] + ":" + pairs[n+1]
		}
	}
	return ""
}

// SetOverride stores a scale override, pin, freeze, quarantine, reservation, cost
// override or rollout order in the place of the previous one about the same subject,
// together with its audit record: both or neither.
func (s *Store) SetOverride(ctx context.Context, order any, audit AuditRecord) error {
	row, err := rowOf(order)
	if err != nil {
		return s.failed("set an override", err)
	}
	record, err := encode(row.value)
	if err != nil {
		return s.failed("set an override", err)
	}
	expires := int64(0)
	if !row.expires.IsZero() {
		expires = row.expires.UnixMicro()
	}
	return s.write(ctx, "set the "+row.kind+" of "+row.subject, func(tx *sql.Tx, _ int64) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO override (kind, subject, expires, record) VALUES ($1, $2, $3, $4)
			ON CONFLICT (kind, subject) DO UPDATE SET expires = excluded.expires, record = excluded.record`,
			row.kind, storable(row.subject), expires, record); err != nil {
			return err
		}
		return appendAudit(ctx, tx, audit)
	})
}

// ClearOverride deletes the override of the same kind and subject, whatever its
// other values, together with its audit record. It returns false, and records nothing,
// where there is none.
func (s *Store) ClearOverride(ctx context.Context, order any, audit AuditRecord) (ended bool, err error) {
	row, err := rowOf(order)
	if err != nil {
		return false, s.failed("clear an override", err)
	}
	err = s.write(ctx, "clear the "+row.kind+" of "+row.subject, func(tx *sql.Tx, _ int64) error {
		result, err := tx.ExecContext(
			ctx,
			`DELETE FROM override WHERE kind = $1 AND subject = $2`,
			row.kind,
			storable(row.subject),
		)
		if err != nil {
			return err
		}
		removed, err := result.RowsAffected()
		if ended = removed > 0; err != nil || !ended {
			return err
		}
		return appendAudit(ctx, tx, audit)
	})
	return ended && err == nil, err
}

// Overrides are all that are kept, the expired ones that aren't pruned yet
// among them.
func (s *Store) Overrides(ctx context.Context) (orders fleet.Overrides, err error) {
	err = s.read(ctx, "read the overrides", func(tx *sql.Tx) error {
		orders, err = readOverrides(ctx, tx)
		return err
	})
	return orders, err
}

func readOverrides(ctx context.Context, tx *sql.Tx) (orders fleet.Overrides, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT kind, record FROM override ORDER BY kind, subject`)
	if err != nil {
		return orders, err
	}
	defer rows.Close()
	for rows.Next() {
		var kind string
		var record []byte
		if err := rows.Scan(&kind, &record); err != nil {
			return orders, err
		}
		if err := take(&orders, kind, row{record: record}); err != nil {
			return orders, err
		}
	}
	return orders, rows.Err()
}

func take(orders *fleet.Overrides, kind string, from row) (err error) {
	switch kind {
	case scaleKind:
		err = appendDecoded(&orders.ScaleOverrides, from)
	case pinKind:
		err = appendDecoded(&orders.Pins, from)
	case freezeKind:
		err = appendDecoded(&orders.Freezes, from)
	case quarantineKind:
		err = appendDecoded(&orders.Quarantines, from)
	case reservationKind:
		err = appendDecoded(&orders.Reservations, from)
	case costOverrideKind:
		err = appendDecoded(&orders.CostOverrides, from)
	case rolloutKind:
		err = appendDecoded(&orders.Rollouts, from)
	default:
		err = fmt.Errorf("the store has an override of the unknown kind %q", kind)
	}
	return err
}

func appendDecoded[T any](to *[]T, from row) error {
	value, err := decode[T](from)
	if err == nil {
		*to = append(*to, value)
	}
	return err
}
