package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Recalled is an instance, live or ended, with the operation that made it.
type Recalled struct {
	Instance  fleet.CapacityInstance
	Provision fleet.Operation
}

// Recall finds instances by the operations that made them, or by their ids. Those
// that were pruned aren't found.
func (s *Store) Recall(
	ctx context.Context,
	keys []fleet.OperationID,
	ids []fleet.CapacityInstanceID,
) (found []Recalled, err error) {
	err = s.read(ctx, "recall instances", func(tx *sql.Tx) error {
		found = nil
		seen := map[fleet.CapacityInstanceID]bool{}
		for _, by := range []struct {
			column string
			values []string
		}{{"operation.id", texts(keys)}, {"instance.id", texts(ids)}} {
			for from := 0; from < len(by.values); from += batch {
				part, err := recallBy(ctx, tx, by.column, by.values[from:min(from+batch, len(by.values))])
				if err != nil {
					return err
				}
				for _, r := range part {
					if !seen[r.Instance.ID] {
						seen[r.Instance.ID] = true
						found = append(found, r)
					}
				}
			}
		}
		return nil
	})
	return found, err
}

func texts[T ~string](values []T) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		out = append(out, storable(string(v)))
	}
	return out
}

// among are the places of values in a statement, as "($1, $2)", and its arguments.
func among[T ~string](values []T) (marks string, arguments []any) {
	all := make([]string, len(values))
	for n, v := range values {
		all[n], arguments = fmt.Sprintf("$%d", n+1), append(arguments, string(v))
	}
	return "(" + strings.Join(all, ", ") + ")", arguments
}

func recallBy(ctx context.Context, tx *sql.Tx, column string, values []string) (found []Recalled, err error) {
	marks, arguments := among(values)
	rows, err := tx.QueryContext(ctx, `SELECT instance.record, operation.record, operation.request FROM operation
		JOIN instance ON instance.id = operation.instance
		WHERE `+column+` IN `+marks+` ORDER BY operation.id`, arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var instance, operation, request []byte
		if err := rows.Scan(&instance, &operation, &request); err != nil {
			return nil, err
		}
		var r Recalled
		if r.Instance, err = decode[fleet.CapacityInstance](row{record: instance}); err != nil {
			return nil, err
		}
		if r.Provision, err = decodeOperation(row{operation, request}); err != nil {
			return nil, err
		}
		if r.Provision.ID == r.Instance.Key { // a termination's id isn't an instance's key
			found = append(found, r)
		}
	}
	return found, rows.Err()
}
