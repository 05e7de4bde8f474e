//go:build unix

package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSweepOfDirectoriesWithoutAPlugin(t *testing.T) {
	dir := t.TempDir()
	old, young, garbled := filepath.Join(dir, "run-1"), filepath.Join(dir, "run-2"), filepath.Join(dir, "run-3")
	for _, path := range []string{old, young, garbled} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-time.Hour)
	if err := errors.Join(
		os.Chtimes(old, past, past),
		os.WriteFile(filepath.Join(garbled, recordName), []byte("{"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	err := Sweep(t.Context(), dir, 0)
	for _, part := range []string{garbled, "decode launch record", "remove the directory"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("an old one without a record is left: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("one that may be in the making is gone: %v", err)
	}
	if err := Sweep(t.Context(), filepath.Join(dir, "missing"), 0); err != nil {
		t.Errorf("no run directory: %v", err)
	}
}
