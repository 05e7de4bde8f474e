package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// busyTimeout is how long a statement waits for another process's lock.
const busyTimeout = 10 * time.Second

// openSQLite opens the file at path and creates it where it is missing.
func openSQLite(path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite store: %w", err)
	}
	if err := refuseNetworkFileSystem(path); err != nil {
		return nil, err
	}
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	writer, err := sql.Open("sqlite", sqliteDSN(path, url.Values{"_txlock": {"immediate"}}))
	if err != nil {
		return nil, fmt.Errorf("open the SQLite store %s: %w", path, err)
	}
	reader, err := sqliteReader(sqliteDSN(path, url.Values{"_query_only": {"1"}}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the SQLite store %s: %w", path, err), writer.Close())
	}
	writer.SetMaxOpenConns(1)
	return &Store{writer: writer, reader: reader, dialect: sqliteDialect(path)}, nil
}

// openSQLiteReadOnly opens an existing file without the right to write to it.
// The files -wal and -shm beside it are an exception: reading beside a writer needs
// them, so SQLite creates them where they are missing.
func openSQLiteReadOnly(path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite store: %w", err)
	}
	if err := refuseNetworkFileSystem(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open the SQLite store: %w: run forgeyard-fleet apply once, which makes it", err)
	}
	dsn := sqliteDSN(path, url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_journal_mode": nil, "_synchronous": nil})
	reader, err := sqliteReader(dsn)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite store %s: %w", path, err)
	}
	return &Store{reader: reader, dialect: sqliteDialect(path)}, nil
}

func sqliteReader(dsn string) (*sql.DB, error) {
	reader, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	// A connection that is kept has its statements prepared and its pages cached.
	connections := max(4, runtime.GOMAXPROCS(0))
	reader.SetMaxOpenConns(connections)
	reader.SetMaxIdleConns(connections)
	return reader, nil
}

func sqliteDialect(path string) dialect {
	return dialect{
		parameter:      '?',
		name:           "SQLite store " + path,
		goose:          goose.DialectSQLite3,
		countTables:    `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = $1`,
		snapshot:       sql.TxOptions{ReadOnly: true}, // a WAL reader sees one snapshot
		lockMigrations: func(ctx context.Context) (func(bool) error, error) { return lockFile(ctx, path+".migrating") },
		advice:         sqliteAdvice,
	}
}

// sqliteDSN is the URI of the file with the settings that make a commit durable.
func sqliteDSN(path string, more url.Values) string {
	query := url.Values{
		"_journal_mode": {"WAL"},
		// In WAL mode only FULL syncs at each commit; an intent has to be on disk
		// before its effect begins.
		"_synchronous":  {"FULL"},
		"_busy_timeout": {fmt.Sprint(busyTimeout.Milliseconds())},
		"_foreign_keys": {"1"},
		"_defensive":    {"1"},
		"_dqs":          {"0"},
		"_error_rc":     {"1"},
		"_pragma": {
			"fullfsync(1)",                  // macOS: fsync leaves data in the drive's cache
			"journal_size_limit(268435456)", // give space back after a burst
			"cache_size(-32768)",            // KiB
		},
	}
	for name, values := range more {
		query[name] = values
	}
	// Windows paths have a drive letter that must stand behind a slash.
	slashed := filepath.ToSlash(path)
	if slashed[0] != '/' {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}).String()
}

// patiently tries to open for as long as a statement would wait. The first
// connection to a file may meet the moment in which another process makes it a
// WAL file, or closes its last connection; SQLite then answers busy without
// waiting.
func patiently(ctx context.Context, open func() (*Store, error)) (*Store, error) {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		store, err := open()
		if err == nil || !isBusy(err) {
			return store, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func isBusy(err error) bool {
	failure, ok := errors.AsType[*sqlite.Error](err)
	return ok && failure.Code()&0xff == sqlite3.SQLITE_BUSY
}

// createPrivate makes a missing file that only its owner can read, since
// provider configurations are in it. An existing file is not opened: closing it
// again would drop the locks that SQLite holds on it in this process.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("create the SQLite store: %w: make the folder %s first", err, filepath.Dir(path))
	case err != nil:
		return fmt.Errorf(
			"create the SQLite store: %w: the folder %s must be writable for this user",
			err,
			filepath.Dir(path),
		)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("create the SQLite store: %w", err)
	}
	return nil
}

// lockFile waits for the lock on path. Unlocking removes the file once the work
// is done: a process that still waits for the removed one finds nothing to do.
func lockFile(ctx context.Context, path string) (unlock func(done bool) error, err error) {
	lock := flock.New(path)
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func(done bool) error {
		var err error
		if done {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // the process that did the work removed it
		}
		return errors.Join(err, lock.Close())
	}, nil
}

// noSpace is the advice for a full disk.
const noSpace = "the disk is full: free some space; nothing of this write was kept"

// sqliteAdvice says what a person can do about an error of SQLite.
func sqliteAdvice(err error) string {
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return ""
	}
	if failure.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // a reader must extend -shm, too
		return noSpace
	}
	switch failure.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return "the file is damaged or not a store: stop the manager and restore the file (with -wal and -shm beside it " +
			"removed) from a backup"
	case sqlite3.SQLITE_FULL:
		return noSpace
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return "the file and its folder must be writable for this user"
	case sqlite3.SQLITE_IOERR:
		return "the disk failed to read or write: check its free space and its health"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "another process holds the file's lock: end that process or wait for it"
	}
	return ""
}
