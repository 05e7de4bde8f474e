package store

import (
	"context"
	"database/sql"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// row is what a query for records gives: the record and what is kept beside it,
// which is an operation's request, a runner's revocation, or nothing.
type row struct{ record, beside []byte }

// decodeBatch is how many rows one goroutine decodes at a time.
const decodeBatch = 256

// recordsOf reads the rows of a query and decodes them in their order. Decoding
// JSON takes longer than reading, so all processors take part in it.
func recordsOf[T any](
	ctx context.Context,
	tx *sql.Tx,
	from func(row) (T, error),
	query string,
	args ...any,
) ([]T, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var decoded [][]T
	decodeLater := func(raw []row) {
		values := make([]T, len(raw))
		decoded = append(decoded, values)
		group.Go(func() (err error) {
			for i := range raw {
				if values[i], err = from(raw[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	raw := make([]row, 0, decodeBatch)
	for rows.Next() {
		var next row
		if err = rows.Scan([]any{&next.record, &next.beside}[:len(columns)]...); err != nil {
			break
		}
		if raw = append(raw, next); len(raw) == decodeBatch {
			decodeLater(raw)
			raw = make([]row, 0, decodeBatch)
		}
	}
	decodeLater(raw)
	for _, err := range []error{group.Wait(), err, rows.Err()} {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(decoded...), nil
}
