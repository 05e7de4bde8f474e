package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pressly/goose/v3"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Store is the durable truth. Its methods may be called from many goroutines;
// writes are carried out one at a time, reads run beside them.
//
// Strings that outsiders choose may hold any bytes, but what isn't UTF-8 comes
// back as U+FFFD, and an empty slice or map may come back as nil.
type Store struct {
	dialect dialect
	// writer has one connection: SQLite allows one writer, and on PostgreSQL one
	// order of writes means that no two of ours can deadlock. It is nil where the
	// store was opened for reading only.
	writer *sql.DB
	reader *sql.DB
	// epoch is the writer epoch that Claim got; 0: this Store only reads.
	epoch atomic.Int64
	// statements are the prepared queries of reader, by their text.
	statements sync.Map
	enrolling  enrollments
	// What agents' calls read again and again.
	fleets     decoded[fleet.ManagedFleet]
	instances  decoded[fleet.CapacityInstance]
	operations decoded[fleet.Operation]
	// loaded is the newest snapshot that Load has decoded, so that the next Load
	// reads only what changed since.
	loaded atomic.Pointer[rowCache]
}

// dialect is all that differs between the two databases once they are open.
type dialect struct {
	// parameter begins a numbered parameter. SQLite takes $1 too, as a name that it
	// looks for among all others.
	parameter rune
	// name is what errors call the store; it holds no password.
	name  string
	goose goose.Dialect
	// countTables asks how many tables have the name $1.
	countTables string
	// snapshot makes a transaction see one state of all tables.
	snapshot sql.TxOptions
	// lockMigrations keeps other processes from migrating until unlock is called,
	// which is told whether the tables are up to date now.
	lockMigrations func(ctx context.Context) (unlock func(done bool) error, err error)
	// advice tells the user what to do about a driver's error; may be "".
	advice func(error) string
}

// Open opens the store at location, the path of a SQLite file or a postgres://
// URL, and brings its tables up to date. A file that doesn't exist is created,
// readable by its owner only; its folder must exist. A store that a newer
// version of the program has written is refused with a *NewerError.
func Open(ctx context.Context, location string) (*Store, error) {
	if isPostgres(location) {
		return openAndMigrate(ctx, func() (*Store, error) { return openPostgres(location) })
	}
	return patiently(ctx, func() (*Store, error) {
		return openAndMigrate(ctx, func() (*Store, error) { return openSQLite(location) })
	})
}

func isPostgres(location string) bool {
	return strings.HasPrefix(location, "postgres://") || strings.HasPrefix(location, "postgresql://")
}

func openAndMigrate(ctx context.Context, open func() (*Store, error)) (*Store, error) {
	store, err := open()
	if err != nil {
		return nil, err
	}
	if err := store.migrate(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// Close waits for running statements and closes the connections.
func (s *Store) Close() error {
	var err error
	s.statements.Range(func(_, one any) bool {
		err = errors.Join(err, one.(*sql.Stmt).Close())
		return true
	})
	err = errors.Join(err, s.reader.Close())
	if s.writer != nil {
		err = errors.Join(err, s.writer.Close())
	}
	return s.failedIf("close the connections", err)
}

// write runs do in a transaction of the current writer: it fails with a
// *FencedError once another process has claimed the store. do gets the
// transaction's revision. doing names what is being done in errors. If the error isn't one of this package's types, the
// caller doesn't know whether the commit happened and should Load again.
func (s *Store) write(ctx context.Context, doing string, do func(tx *sql.Tx, revision int64) error) error {
	return s.transact(ctx, doing, func(tx *sql.Tx) error {
		revision, err := s.assertEpoch(ctx, tx)
		if err != nil {
			return err
		}
		return do(tx, revision)
	})
}

// transact runs do in a write transaction without the fence; only Claim needs that.
func (s *Store) transact(ctx context.Context, doing string, do func(tx *sql.Tx) error) error {
	if s.writer == nil {
		return s.failed(doing, ErrReadOnly)
	}
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return s.failed(doing, err)
	}
	if err := do(tx); err != nil {
		// The rollback's own error says nothing more: the connection is broken or
		// the context ended, and both lead to a rollback by the database.
		_ = tx.Rollback()
		return s.failed(doing, err)
	}
	return s.failedIf(doing, tx.Commit())
}

// read runs do in a transaction that sees one consistent state.
func (s *Store) read(ctx context.Context, doing string, do func(tx *sql.Tx) error) error {
	tx, err := s.reader.BeginTx(ctx, &s.dialect.snapshot)
	if err != nil {
		return s.failed(doing, err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return s.failedIf(doing, do(tx))
}

// prepared is a query of reader that is parsed once for each connection: for what
// every call of an agent asks. It ends with the store.
func (s *Store) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if known, ok := s.statements.Load(query); ok {
		return known.(*sql.Stmt), nil
	}
	fresh, err := s.reader.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if known, lost := s.statements.LoadOrStore(query, fresh); lost {
		return known.(*sql.Stmt), fresh.Close()
	}
	return fresh, nil
}

// failedIf is failed where err may be nil.
func (s *Store) failedIf(doing string, err error) error {
	if err == nil {
		return nil
	}
	return s.failed(doing, err)
}

// failed wraps err with what was being done to which store and what to do about it.
func (s *Store) failed(doing string, err error) error {
	if advice := s.dialect.advice(err); advice != "" {
		return fmt.Errorf("%s in the %s: %w: %s", doing, s.dialect.name, err, advice)
	}
	return fmt.Errorf("%s in the %s: %w", doing, s.dialect.name, err)
}
