package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
)

//go:embed migrations/*.sql
var migrations embed.FS

// NewerError refuses a store that a newer program has written. Continuing would
// write rows that the newer program's tables don't allow or expect.
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
	known, err := knownVersion()
	if err != nil {
		return s.failed(doing, err)
	}
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
		err = migrateUp(ctx, provider)
	}
	return s.failedIf(doing, errors.Join(err, unlock(err == nil)))
}

// migrateUp carries out the migrations that are missing, each of which is a
// transaction: after a crash the next start continues where this one was.
func migrateUp(ctx context.Context, provider *goose.Provider) error {
	failpoint.MigrationsUnstarted.Hit()
	for {
		switch _, err := provider.UpByOne(ctx); {
		case errors.Is(err, goose.ErrNoNextVersion):
			return nil
		case err != nil:
			return err
		}
		failpoint.MigrationDone.Hit()
	}
}

// migrated says whether the tables have the known version already.
func (s *Store) migrated(ctx context.Context, known int64) (bool, error) {
	stored, err := s.storedVersion(ctx)
	if err == nil && stored > known {
		err = &NewerError{Stored: stored, Known: known}
	}
	return err == nil && stored == known, err
}

// storedVersion is the version of the tables; 0: there are none.
func (s *Store) storedVersion(ctx context.Context) (version int64, err error) {
	var tables int
	if err := s.reader.QueryRowContext(ctx, s.dialect.countTables, goose.DefaultTablename).
		Scan(&tables); err != nil ||
		tables == 0 {
		return 0, err
	}
	err = s.reader.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM `+goose.DefaultTablename).Scan(&version)
	return version, err
}

// knownVersion is the newest version that this program has a migration to.
func knownVersion() (version int64, err error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	for _, file := range files {
		number, err := goose.NumericComponent(file)
		if err != nil {
			return 0, err
		}
		version = max(version, number)
	}
	return version, err
}
