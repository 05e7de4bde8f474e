package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrNotWriter refuses a write of a Store that never claimed the store.
var ErrNotWriter = errors.New("this process only reads: claim the store before writing")

// FencedError refuses a write since another process has claimed the store. It
// is final: the caller stops, since it no longer is the writer.
type FencedError struct {
	// Ours is the epoch that this process claimed, Current the stored one.
	Ours, Current int64
	// Holder and Since tell who took over, and when.
	Holder string
	Since  time.Time
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("%s took over as writer at %s (epoch %d, ours is %d): this process must stop writing",
		e.Holder, e.Since.Format(time.RFC3339), e.Current, e.Ours)
}

// Claim makes this Store the writer and fences every earlier one: their next
// write fails. holder names the process for people (host, pid). The epoch
// grows with each claim.
func (s *Store) Claim(ctx context.Context, holder string, now time.Time) (epoch int64, err error) {
	err = s.transact(ctx, "claim the writer's place", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx,
			`UPDATE writer SET epoch = epoch + 1, holder = $1, claimed_at = $2 WHERE one = 1 RETURNING epoch`,
			storable(holder), now.UnixMicro()).Scan(&epoch)
	})
	if err != nil {
		return 0, err
	}
	s.epoch.Store(epoch)
	return epoch, nil
}

// assertEpoch fails unless this Store is the writer, and keeps it so until tx
// ends: it writes the one row that a claim must write as well. By that it also
// numbers the transaction: revisions become visible in their order.
func (s *Store) assertEpoch(ctx context.Context, tx *sql.Tx) (revision int64, err error) {
	ours := s.epoch.Load()
	if ours == 0 {
		return 0, ErrNotWriter
	}
	fenced := FencedError{Ours: ours}
	var since int64
	if err := tx.QueryRowContext(ctx, `UPDATE writer SET revision = revision + 1 WHERE one = 1
		RETURNING revision, epoch, holder, claimed_at`).
		Scan(&revision, &fenced.Current, &fenced.Holder, &since); err != nil {
		return 0, fmt.Errorf("assert the writer epoch: %w", err)
	}
	if fenced.Current != ours {
		fenced.Since = time.UnixMicro(since).UTC()
		return 0, &fenced
	}
	return revision, nil
}
