package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// NewerError refuses a store that a newer program has written. To go on would
// mean to write rows that the newer program's tables don't allow or expect.
type NewerError struct {
	// Stored and Known are migration versions.
	Stored, Known int64
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("its tables have version %d and this program knows versions up to %d: "+
		"use the newer program that wrote it, or restore a backup from before the upgrade", e.Stored, e.Known)
}

// migrate brings the tables up to the version that this program knows.
func (s *Store) migrate(ctx context.Context) error {
	const doing = "bring the tables up to date"
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return s.failed(doing, err)
	}
	provider, err := goose.NewProvider(s.dialect.goose, s.writer, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return s.failed(doing, err)
	}
	sources := provider.ListSources()
	known := sources[len(sources)-1].Version
	// The common case asks one question, and takes no lock and writes nothing.
	if current, err := s.migrated(ctx, known); err != nil || current {
		return s.failedIf(doing, err)
	}
	unlock, err := s.dialect.lockMigrations(ctx)
	if err != nil {
		return s.failed(doing, err)
	}
	// Another process may have migrated while this one waited for the lock.
	current, err := s.migrated(ctx, known)
	if err == nil && !current {
		_, err = provider.Up(ctx)
	}
	return s.failedIf(doing, errors.Join(err, unlock(err == nil)))
}

// migrated says whether the tables have the known version already.
func (s *Store) migrated(ctx context.Context, known int64) (bool, error) {
	var tables int
	if err := s.reader.QueryRowContext(ctx, s.dialect.countTables, goose.DefaultTablename).Scan(&tables); err != nil || tables == 0 {
		return false, err
	}
	var stored int64
	if err := s.reader.QueryRowContext(ctx,
		`SELECT COALESCE(MAX(version_id), 0) FROM `+goose.DefaultTablename).Scan(&stored); err != nil {
		return false, err
	}
	if stored > known {
		return false, &NewerError{Stored: stored, Known: known}
	}
	return stored == known, nil
}
