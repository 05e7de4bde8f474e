package agent

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAnIdentityOutlivesTheProcessButNotItsToken(t *testing.T) {
	folder := t.TempDir()
	open := func(token string) *identity {
		t.Helper()
		i, err := openIdentity(folder, token)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	first := open("one")
	if again := open("one"); !again.key.Equal(first.key) {
		t.Fatal("a key that may have been sent was made again")
	}
	first.record.RunnerID, first.record.Certificate = "r", "c"
	if err := writeStateJSON(first.recordPath, first.record); err != nil {
		t.Fatal(err)
	}
	if again := open("one"); !again.enrolled() || !again.key.Equal(first.key) {
		t.Error("an enrolled agent must stay the same runner")
	}

	// A damaged record costs an enrollment, not the key: the manager knows it.
	if err := os.WriteFile(first.recordPath, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := open("one"); again.enrolled() || !again.key.Equal(first.key) {
		t.Error("with a damaged record the key should be kept and the identity asked for again")
	}

	// A cloned disk has another bootstrap: it must not be the same runner.
	if err := writeStateJSON(first.recordPath, first.record); err != nil {
		t.Fatal(err)
	}
	if clone := open("two"); clone.enrolled() || clone.key.Equal(first.key) {
		t.Error("another token got the identity of the first")
	}
	for _, name := range []string{"runner.key"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

func TestADamagedKeyIsNamed(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "runner.key"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openIdentity(folder, "one"); err == nil {
		t.Error("a damaged key was taken")
	}
}
