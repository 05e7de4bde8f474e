//go:build linux

package e2e

import (
	"database/sql"
	"path/filepath"

	_ "modernc.org/sqlite" // the store's own driver
)

// stored are the rows that say what was asked for: of the operations, each of
// which counts its calls, and of the definitions.
func (w *workspace) stored() map[string]string {
	w.t.Helper()
	rows := map[string]string{}
	for table, key := range map[string]string{"operation": "id", "definition": "serial"} {
		for id, record := range w.table(table, key) {
			rows[table+" "+id] = record
		}
	}
	return rows
}

// table reads a table of the store as it is on the disk.
func (w *workspace) table(table, key string) map[string]string {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.state, "fleet.db")+"?mode=ro")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(w.t.Context(), "SELECT "+key+", record FROM "+table)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var id, record string
		if err := rows.Scan(&id, &record); err != nil {
			w.t.Fatal(err)
		}
		found[id] = record
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return found
}
