package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// migrationLock is the key of the advisory lock that is held while migrating.
const migrationLock = 0x666f_7267_6579_6172 // "forgeyar"

// openPostgres prepares connections to the database that the URL names.
func openPostgres(location string) (*Store, error) {
	return connectPostgres(location, nil)
}

// openPostgresReadOnly prepares connections whose transactions can't write.
func openPostgresReadOnly(location string) (*Store, error) {
	store, err := connectPostgres(location, map[string]string{"default_transaction_read_only": "on"})
	if err != nil {
		return nil, err
	}
	err = store.writer.Close() // it has no connection yet
	store.writer = nil
	return store, err
}

func connectPostgres(location string, parameters map[string]string) (*Store, error) {
	config, err := pgx.ParseConfig(location) // its error hides the password
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL store: %w", err)
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "forgeyard-fleet"
	}
	// A writer that hangs inside a transaction holds the epoch's row; its
	// successor must not wait for the dead connection's TCP timeout.
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "30s"
	maps.Copy(config.RuntimeParams, parameters)
	open := func() *sql.DB { return stdlib.OpenDB(*config, stdlib.OptionAfterConnect(insistOnDurability)) }
	store := &Store{writer: open(), reader: open(), dialect: dialect{
		parameter: '$',
		name:      "PostgreSQL store " + postgresName(config),
		goose:     goose.DialectPostgres,
		countTables: `SELECT COUNT(*) FROM information_schema.tables
			WHERE table_schema = current_schema() AND table_name = $1`,
		snapshot: sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead},
		advice:   postgresAdvice,
	}}
	store.writer.SetMaxOpenConns(1)
	store.reader.SetMaxOpenConns(8)
	store.reader.SetMaxIdleConns(8)
	store.dialect.lockMigrations = store.lockPostgresMigrations
	return store, nil
}

// insistOnDurability undoes a server's choice to acknowledge commits before they
// are on disk. Stronger settings stay.
func insistOnDurability(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false)
		WHERE current_setting('synchronous_commit') = 'off'`)
	return err
}

// postgresName names the database without user and password.
func postgresName(config *pgx.ConnConfig) string {
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}

// lockPostgresMigrations holds an advisory lock on a connection of its own.
func (s *Store) lockPostgresMigrations(ctx context.Context) (unlock func(done bool) error, err error) {
	conn, err := s.reader.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func(bool) error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, int64(migrationLock))
		return errors.Join(err, conn.Close())
	}, nil
}

// postgresAdvice says what a person can do about an error of PostgreSQL. The
// classes are those of its manual's appendix of error codes.
func postgresAdvice(err error) string {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return "check that the server runs and that the URL's host, user, password and database are right"
	}
	failure, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return ""
	case failure.Code == "53100":
		return "no space is left on the server: nothing of this write was kept; free some space, then it is tried again"
	case failure.Code == "25006":
		return "the server is a read-only standby: use the primary's address"
	case failure.Code == "42501":
		return "the database user must own the tables of the store"
	case strings.HasPrefix(failure.Code, "XX"):
		return "the database is damaged: restore it from a backup"
	}
	return ""
}
