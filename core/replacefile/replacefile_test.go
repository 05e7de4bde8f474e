package replacefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func names(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWriteReplacesContentAndMode(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "state.json")
	for _, text := range []string{"first", "second"} {
		if err := Write(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != text {
			t.Errorf("the file holds %q, want %q", got, text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got := names(t, folder); got != "state.json" {
		t.Errorf("the folder has %s", got)
	}
}

func TestFailedWriteKeepsTheOldFileAndLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "busy")
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("text"), 0o600); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("replacing a folder gave %v", err)
	}
	if got := names(t, folder); got != "busy" {
		t.Errorf("the folder has %s", got)
	}
}

func TestCreateNeverReplaces(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "key")
	for n, text := range []string{"first", "second"} {
		staged, err := Stage(path, folder, strings.NewReader(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := staged.Create(); (n == 1) != errors.Is(err, fs.ErrExist) {
			t.Errorf("creation %d gave %v", n, err)
		}
		if err := staged.Discard(); err != nil {
			t.Error(err)
		}
	}
	if got := content(t, path); got != "first" {
		t.Errorf("the file holds %q", got)
	}
	if got := names(t, folder); got != "key" {
		t.Errorf("the folder has %s", got)
	}
}

func TestContentThatBreaksOffLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	cut := errors.New("connection reset")
	if _, err := Stage(filepath.Join(folder, "agent"), folder, iotest.ErrReader(cut), 0o600); !errors.Is(err, cut) {
		t.Errorf("staged with %v", err)
	}
	if got := names(t, folder); got != "" {
		t.Errorf("the folder has %s", got)
	}
}
