package control

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reconcile"
)

func options(t *testing.T, installation string) Options {
	t.Helper()
	folder := t.TempDir()
	return Options{
		Place:        Place{State: filepath.Join(folder, "state"), Run: filepath.Join(folder, "run"), Plugins: filepath.Join(folder, "plugins")},
		Installation: installation, Version: "0.1.0", Command: "a test", Clock: time.Now, Log: slog.New(slog.DiscardHandler),
	}
}

func open(t *testing.T, o Options) *Manager {
	t.Helper()
	m, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// A refusal once closed a manager that was no longer there, and panicked.
func TestARefusedOpenGivesTheLockBack(t *testing.T) {
	o := options(t, "one")
	first, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	other := o
	other.Installation = "two"
	if m, err := Open(t.Context(), other); m != nil || err == nil || !strings.Contains(err.Error(), `belongs to installation "one"`) {
		t.Fatalf("another installation got %v, %v", m, err)
	}
	open(t, o)
}

// A wait so short that it was over before the run began was an error.
func TestARunWhoseWaitIsOverIsAnOrderedStop(t *testing.T) {
	m := open(t, options(t, "one"))
	plan := Plan{definition: fleet.Definition{Installation: "one"}}
	if _, err := m.Apply(t.Context(), plan, "a test"); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// With nothing to do, a last step may find everything settled.
	outcome, err := m.RunUntilSettled(over, Running{Listener: listener, Observe: func(reconcile.Result) {}}, time.Hour)
	if err != nil || outcome.Ending != Interrupted && outcome.Ending != Settled {
		t.Errorf("it ended as %q with %v", outcome.Ending, err)
	}
}
