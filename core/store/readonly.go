package store

import (
	"context"
	"errors"
	"fmt"
)

// ErrReadOnly refuses a write of a Store that OpenReadOnly opened.
var ErrReadOnly = errors.New("it was opened for reading only")

// OlderError refuses to read a store whose tables this program would first have
// to change, which is the writer's to do.
type OlderError struct {
	// Stored and Known are migration versions; Stored 0: there are no tables yet.
	Stored, Known int64
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("its tables have version %d and this program reads version %d: "+
		"run forgeyard-fleet apply once with this program, which brings them up to date", e.Stored, e.Known)
}

// OpenReadOnly opens the store at location to look at it beside its writer, or
// after it ended. It never writes, creates or migrates: a store that is missing,
// an older one (*OlderError) and a newer one (*NewerError) are refused.
func OpenReadOnly(ctx context.Context, location string) (*Store, error) {
	if isPostgres(location) {
		return openAndCheck(ctx, func() (*Store, error) { return openPostgresReadOnly(location) })
	}
	return patiently(ctx, func() (*Store, error) {
		return openAndCheck(ctx, func() (*Store, error) { return openSQLiteReadOnly(location) })
	})
}

func openAndCheck(ctx context.Context, open func() (*Store, error)) (*Store, error) {
	store, err := open()
	if err != nil {
		return nil, err
	}
	if err := store.checkVersion(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// checkVersion refuses tables of any other version than this program's.
func (s *Store) checkVersion(ctx context.Context) error {
	const doing = "read the version of the tables"
	known, err := knownVersion()
	if err != nil {
		return s.failed(doing, err)
	}
	stored, err := s.storedVersion(ctx)
	switch {
	case err != nil:
		return s.failed(doing, err)
	case stored > known:
		return s.failed(doing, &NewerError{Stored: stored, Known: known})
	case stored < known:
		return s.failed(doing, &OlderError{Stored: stored, Known: known})
	}
	return nil
}
