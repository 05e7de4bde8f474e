package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// commitmentsKept is how long before the newest end commitments are kept that are over. No
// clock is asked: it is never a day before that end, and today's costs are among
// what is kept.
const commitmentsKept = 48 * time.Hour

// commitments are what ended instances are paid for, in the order of their ids, and when
// the newest of all ended.
type commitments struct {
	list   []fleet.Commitment
	newest time.Time
}

// readCommitments reads those that aren't over for long; departing ones are ended, too.
func readCommitments(ctx context.Context, tx *sql.Tx, departing []fleet.CapacityInstance) (commitments, error) {
	var ended sql.NullInt64
	if err := tx.QueryRowContext(ctx, `SELECT MAX(since) FROM instance WHERE state = 'terminated'`).
		Scan(&ended); err != nil {
		return commitments{}, err
	}
	c := commitments{}
	if ended.Valid {
		c.newest = time.UnixMicro(ended.Int64).UTC()
	}
	c.newest = newestEnd(c.newest, departing)
	paid, err := sortedRecords(ctx, tx, decode[fleet.CapacityInstance], instanceID,
		`SELECT record FROM instance WHERE paid_until > 0 AND paid_until > $1`, c.newest.Add(-commitmentsKept).UnixMicro())
	if err != nil {
		return commitments{}, err
	}
	return c.after(paid), nil
}

// after are the commitments after instances have changed.
func (c commitments) after(changed []fleet.CapacityInstance) commitments {
	now := make([]fleet.Commitment, 0, len(changed))
	for _, i := range changed {
		commitment, paid := i.Commitment()
		if !paid {
			commitment = fleet.Commitment{Instance: i.ID} // and in the place of one it had
		}
		now = append(now, commitment)
	}
	newest := newestEnd(c.newest, changed)
	over := newest.Add(-commitmentsKept)
	list := merge(
		c.list,
		now,
		commitmentID,
		func(l *fleet.Commitment) bool { return l.Hourly.Currency != "" && l.Until.After(over) },
	)
	return commitments{newest: newest, list: slices.Clip(list)}
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

// paidUntil is the column that commitments are found by; 0: the instance has none.
func paidUntil(i fleet.CapacityInstance) int64 {
	if commitment, paid := i.Commitment(); paid {
		return commitment.Until.UnixMicro()
	}
	return 0
}
