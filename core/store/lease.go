package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// leasesKept is how long before the newest end leases are kept that are over. No
// clock is asked: it is never a day before that end, and today's costs are among
// what is kept.
const leasesKept = 48 * time.Hour

// leases are what ended instances are paid for, in the order of their ids, and when
// the newest of all ended.
type leases struct {
	list   []fleet.Lease
	newest time.Time
}

// readLeases reads those that aren't over for long; departing ones are ended, too.
func readLeases(ctx context.Context, tx *sql.Tx, departing []fleet.CapacityInstance) (leases, error) {
	var ended sql.NullInt64
	if err := tx.QueryRowContext(ctx, `SELECT MAX(since) FROM instance WHERE state = 'terminated'`).Scan(&ended); err != nil {
		return leases{}, err
	}
	l := leases{}
	if ended.Valid {
		l.newest = time.UnixMicro(ended.Int64).UTC()
	}
	l.newest = newestEnd(l.newest, departing)
	paid, err := sortedRecords(ctx, tx, decode[fleet.CapacityInstance], instanceID,
		`SELECT record FROM instance WHERE paid_until > 0 AND paid_until > $1`, l.newest.Add(-leasesKept).UnixMicro())
	if err != nil {
		return leases{}, err
	}
	return l.after(paid), nil
}

// after are the leases after instances have changed.
func (l leases) after(changed []fleet.CapacityInstance) leases {
	now := make([]fleet.Lease, 0, len(changed))
	for _, i := range changed {
		lease, paid := i.Lease()
		if !paid {
			lease = fleet.Lease{Instance: i.ID} // and in the place of one it had
		}
		now = append(now, lease)
	}
	newest := newestEnd(l.newest, changed)
	over := newest.Add(-leasesKept)
	list := merge(l.list, now, leaseID, func(l *fleet.Lease) bool { return l.Hourly.Currency != "" && l.Until.After(over) })
	return leases{newest: newest, list: slices.Clip(list)}
}

// newestEnd is the latest of a time and of when instances ended.
func newestEnd(newest time.Time, instances []fleet.CapacityInstance) time.Time {
	for _, i := range instances {
		if !i.Live() && i.Since.After(newest) {
			newest = i.Since
		}
	}
	return newest
}

// paidUntil is the column that leases are found by; 0: the instance has none.
func paidUntil(i fleet.CapacityInstance) int64 {
	if lease, paid := i.Lease(); paid {
		return lease.Until.UnixMicro()
	}
	return 0
}
