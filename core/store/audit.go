package store

import (
	"context"
	"database/sql"
	"time"
)

// AuditRecord is one thing that somebody did (spec §193). Prune doesn't touch it: it
// is kept for as long as the store.
type AuditRecord struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Action string    `json:"action"`
	Detail string    `json:"detail"`
}

// AppendAudit keeps a record of something that has no other row to go with.
func (s *Store) AppendAudit(ctx context.Context, record AuditRecord) error {
	return s.write(ctx, "keep an audit record", func(tx *sql.Tx, _ int64) error {
		return appendAudit(ctx, tx, record)
	})
}

// Audit lists the newest records, the newest first; limit 0: all.
func (s *Store) Audit(ctx context.Context, limit int) ([]AuditRecord, error) {
	query, arguments := `SELECT record FROM audit ORDER BY at DESC, id DESC`, []any(nil)
	if limit > 0 {
		query, arguments = query+` LIMIT $1`, append(arguments, limit)
	}
	return browse(ctx, s, "list the audit records", decode[AuditRecord], query, arguments...)
}

func appendAudit(ctx context.Context, tx *sql.Tx, record AuditRecord) error {
	text, err := encode(record)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO audit (id, at, record) VALUES ($1, $2, $3)`,
		record.ID, record.At.UnixMicro(), text)
	return err
}
