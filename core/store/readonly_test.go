package store

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
)

// look opens the store for reading and closes it with the test.
func look(t *testing.T, location string) *Store {
	t.Helper()
	s, err := OpenReadOnly(t.Context(), location)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func (s *Store) mustHold(t *testing.T, instances int) {
	t.Helper()
	state, err := s.Load(t.Context())
	must(t, err)
	if len(state.Instances) != instances {
		t.Errorf("%d instances, want %d", len(state.Instances), instances)
	}
}

func readsBesideWriter(t *testing.T, location string) {
	writer, err := Open(t.Context(), location)
	must(t, err)
	must(t, applied(t, writer).Commit(t.Context(), change(1, 2)))
	beside := look(t, location)
	beside.mustHold(t, 2)
	must(t, writer.Commit(t.Context(), change(3, 3)))
	beside.mustHold(t, 3)
	look(t, location).mustHold(t, 3)
	must(t, writer.Commit(t.Context(), change(4, 4)))
	must(t, writer.Close())
	beside.mustHold(t, 4)
	look(t, location).mustHold(t, 4)
	// And a reader doesn't block a writer.
	next := claim(t, open(t, location), "the next one")
	must(t, next.Commit(t.Context(), change(5, 5)))
	beside.mustHold(t, 5)
}

func readOnlyCannotWrite(t *testing.T, location string) {
	applied(t, open(t, location))
	s := look(t, location)
	if _, err := s.Claim(t.Context(), "a", now); !errors.Is(err, ErrReadOnly) {
		t.Errorf("claim: %v", err)
	}
	if err := s.Commit(t.Context(), change(1, 1)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.reader.ExecContext(t.Context(), `DELETE FROM setting`); err == nil {
		t.Error("its connection wrote")
	}
}

func readOnlyRefusesOtherVersions(t *testing.T, location string) {
	s := open(t, location)
	known := got[int64](t)(knownVersion())
	set := func(version int) {
		_, err := s.writer.ExecContext(
			t.Context(),
			fmt.Sprintf(`DELETE FROM %s WHERE version_id > 0`, goose.DefaultTablename),
		)
		must(t, err)
		_, err = s.writer.ExecContext(
			t.Context(),
			fmt.Sprintf(`INSERT INTO %s (version_id, is_applied) VALUES (%d, %s)`, goose.DefaultTablename, version,
				map[goose.Dialect]string{goose.DialectSQLite3: "1", goose.DialectPostgres: "true"}[s.dialect.goose]),
		)
		must(t, err)
	}
	refusal := func() error {
		opened, err := OpenReadOnly(t.Context(), location)
		if err == nil {
			must(t, opened.Close())
		}
		return err
	}
	set(9999)
	if newer := refused[*NewerError](t, refusal()); newer.Stored != 9999 || newer.Known != known {
		t.Errorf("%+v", newer)
	}
	mustSay(t, refusal(), s.dialect.name, "use the newer program")
	set(0)
	if older := refused[*OlderError](t, refusal()); older.Stored != 0 || older.Known != known {
		t.Errorf("%+v", older)
	}
	mustSay(t, refusal(), s.dialect.name, "run forgeyard-fleet apply once")
	var version int
	must(t, s.reader.QueryRowContext(t.Context(), `SELECT MAX(version_id) FROM `+goose.DefaultTablename).Scan(&version))
	if version != 0 {
		t.Errorf("looking migrated the tables to version %d", version)
	}
}

func TestLookingMakesNoStore(t *testing.T) {
	path := sqlitePath(t)
	_, err := OpenReadOnly(t.Context(), path)
	mustSay(t, err, "open the SQLite store", "run forgeyard-fleet apply once")
	must(t, os.WriteFile(path, nil, 0o600)) // a first writer died before it made the tables
	_, err = OpenReadOnly(t.Context(), path)
	refused[*OlderError](t, err)
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("looking wrote to the file: %v bytes, %v", info.Size(), err)
	}
}

// The writer was killed: its last commits are only in the WAL, which only the
// next writer may move into the file.
func TestLookingAtAStoreWhoseWriterWasKilled(t *testing.T) {
	path := sqlitePath(t)
	writer := applied(t, open(t, path))
	must(t, writer.Commit(t.Context(), change(1, 3)))
	// A copy of the files at this moment is what the death leaves.
	left := filepath.Join(t.TempDir(), "fleet.db")
	for _, end := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + end)
		must(t, err)
		must(t, os.WriteFile(left+end, content, 0o600))
	}
	before := got[[]byte](t)(os.ReadFile(left))
	s, err := OpenReadOnly(t.Context(), left)
	must(t, err)
	s.mustHold(t, 3)
	must(t, s.Close())
	if !slices.Equal(before, got[[]byte](t)(os.ReadFile(left))) {
		t.Error("looking changed the file")
	}
	after := open(t, left)
	after.mustHold(t, 3)
	must(t, claim(t, after, "the next one").Commit(t.Context(), change(4, 4)))
}

// got is a value whose making must not fail.
func got[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		must(t, err)
		return value
	}
}

// asLooker names the store that a child of the next test looks at.
const asLooker = "FORGEYARD_TEST_LOOK_AT"

// Another process that looks and ends must neither leave files that the writer
// can't use nor take those away that it does use.
func TestAnotherProcessLooksBesideAWriter(t *testing.T) {
	if path := os.Getenv(asLooker); path != "" {
		look(t, path).mustHold(t, 2)
		return
	}
	path := sqlitePath(t)
	writer := applied(t, open(t, path))
	must(t, writer.Commit(t.Context(), change(1, 2)))
	lookFromOutside := func() {
		t.Helper()
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), asLooker+"="+path)
		if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
	}
	lookFromOutside()
	must(t, writer.Commit(t.Context(), change(2, 2)))
	must(t, writer.Close())
	lookFromOutside()
	for _, name := range got[[]string](t)(filepath.Glob(path + "*")) {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", filepath.Base(name), info.Mode(), err)
		}
	}
	must(t, claim(t, open(t, path), "the next one").Commit(t.Context(), change(3, 3)))
}
