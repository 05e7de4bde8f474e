package store

import (
	"context"
	"database/sql"
	"errors"
)

// Setting reads a small value that the program chose once and keeps, such as
// the port to listen on.
func (s *Store) Setting(ctx context.Context, name string) (value string, found bool, err error) {
	err = s.reader.QueryRowContext(ctx, `SELECT value FROM setting WHERE name = $1`, name).Scan(&value)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", false, nil
	case err != nil:
		return "", false, s.failed("read the setting "+name, err)
	}
	return value, true, nil
}

// SetSetting keeps a value under a name. Secrets don't belong here.
func (s *Store) SetSetting(ctx context.Context, name, value string) error {
	return s.write(ctx, "keep the setting "+name, func(tx *sql.Tx, _ int64) error {
		return setSetting(ctx, tx, name, value)
	})
}

// SetSettingAudited keeps a value under a name together with the record of who
// changed it, both or neither.
func (s *Store) SetSettingAudited(ctx context.Context, name, value string, record AuditRecord) error {
	return s.write(ctx, "keep the setting "+name, func(tx *sql.Tx, _ int64) error {
		if err := setSetting(ctx, tx, name, value); err != nil {
			return err
		}
		return appendAudit(ctx, tx, record)
	})
}

func setSetting(ctx context.Context, tx *sql.Tx, name, value string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO setting (name, value) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, storable(name), storable(value))
	return err
}
