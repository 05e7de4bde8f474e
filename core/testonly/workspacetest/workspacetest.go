package workspacetest

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Options are of the installation "demo", whose folders are removed with the test.
func Options(t testing.TB) workspace.Options {
	t.Helper()
	place, err := workspace.FindPlace(filepath.Join(t.TempDir(), "state"), "demo",
		func(name string) (string, bool) { return "/home/ci", name == "HOME" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(place.Run) })
	return workspace.Options{
		Place:        place,
		Installation: "demo",
		Version:      "0.1.0",
		Command:      "test",
		Clock:        time.Now,
		Log:          slog.New(slog.DiscardHandler),
	}
}
