package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// batch is how many rows one statement takes: enough to make round trips few,
// few enough for the parameters that both databases allow.
const batch = 64

// upsert inserts rows or, where the first column's value is there already,
// replaces the others. Of two rows with the same key the last one counts.
func (s *Store) upsert(ctx context.Context, tx *sql.Tx, table string, columns []string, rows [][]any) error {
	var replaced []string
	for _, column := range columns[1:] {
		replaced = append(replaced, column+" = excluded."+column)
	}
	head := fmt.Sprintf("INSERT INTO %s (%s) VALUES ", table, strings.Join(columns, ", "))
	tail := fmt.Sprintf(" ON CONFLICT (%s) DO UPDATE SET %s", columns[0], strings.Join(replaced, ", "))
	return s.batched(ctx, tx, head, tail, lastOfEach(rows))
}

// batched runs one statement for every batch of rows, with their values as
// "($1, $2), ($3, $4)" between head and tail, in the database's own form.
func (s *Store) batched(ctx context.Context, tx *sql.Tx, head, tail string, rows [][]any) error {
	for len(rows) > 0 {
		part := rows[:min(batch, len(rows))]
		rows = rows[len(part):]
		var statement strings.Builder
		var arguments []any
		statement.WriteString(head)
		for i, row := range part {
			if i > 0 {
				statement.WriteString(", ")
			}
			for j := range row {
				separator := ", "
				if j == 0 {
					separator = "("
				}
				fmt.Fprintf(&statement, "%s%c%d", separator, s.dialect.parameter, len(arguments)+j+1)
			}
			statement.WriteString(")")
			arguments = append(arguments, row...)
		}
		statement.WriteString(tail)
		if _, err := tx.ExecContext(ctx, statement.String(), arguments...); err != nil {
			return err
		}
	}
	return nil
}

// lastOfEach keeps the last row of each key (the first column), since
// PostgreSQL refuses a statement that touches a row twice.
func lastOfEach(rows [][]any) [][]any {
	place := make(map[any]int, len(rows))
	var kept [][]any
	for _, row := range rows {
		if at, ok := place[row[0]]; ok {
			kept[at] = row
			continue
		}
		place[row[0]] = len(kept)
		kept = append(kept, row)
	}
	return kept
}
