package store

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/testonly/postgrestest"
)

// A server that acknowledges commits before they are on disk would lose intents.
func TestPostgresServerThatDoesNotWaitForTheDisk(t *testing.T) {
	location := postgres.Database(t)
	s := open(t, location)
	_, err := s.writer.ExecContext(t.Context(), `DO $$ BEGIN
		EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = off'; END $$`)
	must(t, err)
	var setting string
	must(t, open(t, location).writer.QueryRowContext(t.Context(), `SHOW synchronous_commit`).Scan(&setting))
	if setting != "on" {
		t.Errorf("synchronous_commit is %s", setting)
	}
}

func TestPostgresThatIsAwayKeepsThePasswordSecret(t *testing.T) {
	for _, location := range []string{
		"postgres://ada:s3cret@127.0.0.1:1/fleet?connect_timeout=2",
		"postgres://ada:s3cret@127.0.0.1:notaport/fleet",
	} {
		_, err := Open(t.Context(), location)
		mustSay(t, err, "PostgreSQL store")
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the password is in the error:\n%v", err)
		}
	}
}

// Stop must leave neither a process nor a folder.
func TestPostgresForTestsIsRemoved(t *testing.T) {
	var own postgrestest.Cluster
	location := own.Database(t)
	s, err := Open(t.Context(), location)
	must(t, err)
	must(t, s.Close())
	must(t, own.Stop())
	if _, err := Open(t.Context(), location); err == nil {
		t.Error("the server still answers")
	}
}
