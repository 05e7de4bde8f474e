package store

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// mustSay fails unless err is an error that has all the parts.
func mustSay(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q:\n%v", part, err)
		}
	}
}

func TestSQLiteSyncsEveryCommit(t *testing.T) {
	s := open(t, sqlitePath(t))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1",
		"busy_timeout": "10000", "fullfsync": "1"} {
		var got string
		must(t, s.writer.QueryRowContext(t.Context(), `PRAGMA `+pragma).Scan(&got))
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
	if _, err := s.reader.ExecContext(t.Context(), `DELETE FROM setting`); err == nil {
		t.Error("a connection for reading wrote")
	}
}

func TestSQLiteFileIsForItsOwnerOnly(t *testing.T) {
	path := sqlitePath(t)
	applied(t, open(t, path))
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(name), info.Mode())
		}
	}
	if left, _ := filepath.Glob(path + ".migrating"); len(left) > 0 {
		t.Errorf("migrating left %v behind", left)
	}
}

func TestSQLitePathMayHoldAnyCharacter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?mode=memory&c#d%20é;e.db")
	applied(t, open(t, path))
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("the store isn't in its file: %v", err)
	}
}

func TestSQLiteFolderThatIsMissing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "missing")
	_, err := Open(t.Context(), filepath.Join(folder, "fleet.db"))
	mustSay(t, err, "create the SQLite store", "make the folder "+folder+" first")
}

func TestSQLiteFileThatIsNoDatabase(t *testing.T) {
	path := sqlitePath(t)
	must(t, os.WriteFile(path, []byte(strings.Repeat("this is a letter, not a store\n", 200)), 0o600))
	_, err := Open(t.Context(), path)
	mustSay(t, err, path, "damaged or not a store", "restore the file")
	if strings.Count(err.Error(), "damaged") != 1 {
		t.Errorf("the same is said twice:\n%v", err)
	}
}

func TestSQLiteFileWithDamagedPages(t *testing.T) {
	path := sqlitePath(t)
	s, err := Open(t.Context(), path)
	must(t, err)
	must(t, applied(t, s).Commit(t.Context(), change(1, 500)))
	must(t, s.Close()) // moves everything from the WAL into the file
	content, err := os.ReadFile(path)
	must(t, err)
	for at := 20 * 4096; at < len(content); at++ {
		content[at] = 0x5a
	}
	must(t, os.WriteFile(path, content, 0o600))
	s, err = Open(t.Context(), path)
	if err == nil {
		defer s.Close()
		_, err = s.Load(t.Context())
	}
	mustSay(t, err, path, "damaged or not a store")
}

// The disk is full in the middle of the loop's work: the write fails as a whole,
// what was there stays readable, and with space again the same write succeeds.
func TestSQLiteDiskIsFull(t *testing.T) {
	s := applied(t, open(t, sqlitePath(t)))
	must(t, s.Commit(t.Context(), change(1, 10)))
	var pages int
	must(t, s.writer.QueryRowContext(t.Context(), `PRAGMA page_count`).Scan(&pages))
	limit := func(pages int) {
		_, err := s.writer.ExecContext(t.Context(), fmt.Sprintf(`PRAGMA max_page_count = %d`, pages))
		must(t, err)
	}
	limit(pages)
	mustSay(t, s.Commit(t.Context(), change(11, 1000)), "commit a change", "the disk is full")
	if state, err := s.Load(t.Context()); err != nil || len(state.Instances) != 10 {
		t.Errorf("with the disk full: %d instances, error %v; want 10", len(state.Instances), err)
	}
	limit(1 << 20)
	must(t, s.Commit(t.Context(), change(11, 1000)))
}

// asReader names the folder that a child of the next test, which has no rights
// in it, opens stores in.
const asReader = "FORGEYARD_TEST_READ_ONLY_FOLDER"

func TestSQLiteFolderThatIsReadOnly(t *testing.T) {
	if folder := os.Getenv(asReader); folder != "" {
		for name, parts := range map[string][]string{
			"new.db":      {"create the SQLite store", "permission denied", "must be writable"},
			"existing.db": {"existing.db", "must be writable"},
		} {
			s, err := Open(t.Context(), filepath.Join(folder, name))
			if err == nil {
				_, err = s.Claim(t.Context(), "a", now)
			}
			mustSay(t, err, parts...)
		}
		return
	}
	// Not testing's folder: only its owner may enter that, and root's rights have
	// no limits, so the test reads as the user nobody (65534).
	folder, err := os.MkdirTemp("", "readonly")
	must(t, err)
	t.Cleanup(func() { must(t, os.Chmod(folder, 0o755)); must(t, os.RemoveAll(folder)) })
	must(t, open(t, filepath.Join(folder, "existing.db")).Close())
	must(t, os.Chmod(filepath.Join(folder, "existing.db"), 0o444))
	program := filepath.Join(folder, "test")
	copyProgram(t, program)
	must(t, os.Chmod(folder, 0o555))
	child := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	child.Dir = folder
	child.Env = append(os.Environ(), asReader+"="+folder)
	if os.Geteuid() == 0 {
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// copyProgram copies this test's program to where another user can run it.
func copyProgram(t *testing.T, path string) {
	self, err := os.Executable()
	must(t, err)
	from, err := os.Open(self)
	must(t, err)
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(to, from)
	must(t, err)
	must(t, to.Close())
}

// Two Stores in one process, as a manager and a command beside it have them:
// the second one's coming and going must not break the first one's locks.
func TestSQLiteSecondStoreOfOneProcess(t *testing.T) {
	path := sqlitePath(t)
	first := applied(t, open(t, path))
	for n := range 5 {
		second, err := Open(t.Context(), path)
		must(t, err)
		must(t, first.Commit(t.Context(), change(n+1, n+1)))
		got, err := second.Instances(t.Context(), InstanceFilter{Fleet: fleet.RunnerFleetID(id("fleet", 1))})
		must(t, err)
		must(t, second.Close())
		if len(got) != n+1 {
			t.Errorf("the second store sees %d instances, want %d", len(got), n+1)
		}
	}
}
