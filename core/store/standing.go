package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// The kinds of standing orders, as their rows have them.
const (
	overrideKind    = "override"
	pinKind         = "pin"
	freezeKind      = "freeze"
	quarantineKind  = "quarantine"
	reservationKind = "reservation"
	breakGlassKind  = "break_glass"
	rolloutKind     = "rollout"
)

// standingRow is one standing order as its table has it.
type standingRow struct {
	kind, subject string
	expires       time.Time
	value         any
}

// rowOf finds the place of a standing order: a fleet has one override, one freeze
// and one broken glass, an instance one pin, and a new one replaces the one before.
func rowOf(order any) (standingRow, error) {
	switch o := order.(type) {
	case fleet.FleetScaleOverride:
		return standingRow{overrideKind, string(o.Fleet), o.Until, o}, nil
	case fleet.RunnerPin:
		return standingRow{pinKind, string(o.Instance), o.Until, o}, nil
	case fleet.Freeze:
		return standingRow{freezeKind, subjectOf("fleet", string(o.Fleet), "provider", string(o.Provider)), time.Time{}, o}, nil
	case fleet.Quarantine:
		return standingRow{quarantineKind, subjectOf("fleet", string(o.Fleet), "instance", string(o.Instance), "image", o.Image), time.Time{}, o}, nil
	case fleet.CapacityReservation:
		return standingRow{reservationKind, string(o.ID), o.End, o}, nil
	case fleet.CostOverride:
		return standingRow{breakGlassKind, string(o.Fleet), o.Until, o}, nil
	case fleet.RolloutOrder:
		return standingRow{rolloutKind, subjectOf("fleet", string(o.Fleet)), time.Time{}, o}, nil
	}
	return standingRow{}, fmt.Errorf("%T is no standing order", order)
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

// SetStandingOrder keeps an override, pin, freeze, quarantine, reservation, broken
// glass or the last word about a rollout in the place of the one before about the
// same thing, together with the record of
// who did it, both or neither.
func (s *Store) SetStandingOrder(ctx context.Context, order any, audit AuditRecord) error {
	row, err := rowOf(order)
	if err != nil {
		return s.failed("keep a standing order", err)
	}
	record, err := encode(row.value)
	if err != nil {
		return s.failed("keep a standing order", err)
	}
	expires := int64(0)
	if !row.expires.IsZero() {
		expires = row.expires.UnixMicro()
	}
	return s.write(ctx, "keep the "+row.kind+" of "+row.subject, func(tx *sql.Tx, _ int64) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO standing_order (kind, subject, expires, record) VALUES ($1, $2, $3, $4)
			ON CONFLICT (kind, subject) DO UPDATE SET expires = excluded.expires, record = excluded.record`,
			row.kind, storable(row.subject), expires, record); err != nil {
			return err
		}
		return appendAudit(ctx, tx, audit)
	})
}

// EndStandingOrder takes back the one that is in the same place, whatever else it
// says, together with its audit record. It returns false, and records nothing,
// where there is none.
func (s *Store) EndStandingOrder(ctx context.Context, order any, audit AuditRecord) (ended bool, err error) {
	row, err := rowOf(order)
	if err != nil {
		return false, s.failed("take back a standing order", err)
	}
	err = s.write(ctx, "take back the "+row.kind+" of "+row.subject, func(tx *sql.Tx, _ int64) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM standing_order WHERE kind = $1 AND subject = $2`, row.kind, storable(row.subject))
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

// StandingOrders are all that are kept, the expired ones that aren't pruned yet
// among them.
func (s *Store) StandingOrders(ctx context.Context) (orders fleet.StandingOrders, err error) {
	err = s.read(ctx, "read the standing orders", func(tx *sql.Tx) error {
		orders, err = standingOrders(ctx, tx)
		return err
	})
	return orders, err
}

func standingOrders(ctx context.Context, tx *sql.Tx) (orders fleet.StandingOrders, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT kind, record FROM standing_order ORDER BY kind, subject`)
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

func take(orders *fleet.StandingOrders, kind string, from row) (err error) {
	switch kind {
	case overrideKind:
		err = appendDecoded(&orders.Overrides, from)
	case pinKind:
		err = appendDecoded(&orders.Pins, from)
	case freezeKind:
		err = appendDecoded(&orders.Freezes, from)
	case quarantineKind:
		err = appendDecoded(&orders.Quarantines, from)
	case reservationKind:
		err = appendDecoded(&orders.Reservations, from)
	case breakGlassKind:
		err = appendDecoded(&orders.CostOverrides, from)
	case rolloutKind:
		err = appendDecoded(&orders.Rollouts, from)
	default:
		err = fmt.Errorf("the store has a standing order of the unknown kind %q", kind)
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
