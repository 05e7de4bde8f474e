package daemon

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

func open(t testing.TB, o workspace.Options) *Daemon {
	t.Helper()
	m, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// storeInstance stores the healthy instance i1 of the fleet f1.
func storeInstance(t *testing.T, m *Daemon) {
	t.Helper()
	op := fleet.Operation{ID: "k1", Kind: fleet.ProvisionOperation, Instance: "i1", Fleet: "f1", Request: []byte(`{}`)}
	i := fleet.CapacityInstance{ID: "i1", Fleet: "f1", Provider: "local.here", Key: "k1", State: fleet.Healthy}
	change := store.Change{Instances: []fleet.CapacityInstance{i}, Operations: []fleet.Operation{op}}
	if err := m.store.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

func TestASecondManagerHearsWhoHoldsTheLock(t *testing.T) {
	o := workspacetest.Options(t)
	first := open(t, o)
	second := o
	second.Command = "second"
	_, err := Open(t.Context(), second)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder.PID != os.Getpid() || locked.Holder.Command != "test" {
		t.Fatalf("error %v, want a LockedError that names the first", err)
	}
	if h, running := Held(o.Place.State); !running || h.Command != "test" {
		t.Errorf("held says %v, %v", h, running)
	}
	// The refused one must not have fenced the first out of the store.
	if err := first.store.SetSetting(t.Context(), "proof", "x"); err != nil {
		t.Errorf("the first can no longer write: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, running := Held(o.Place.State); running {
		t.Error("the lock is still held after Close")
	}
	if err := open(t, second).Close(); err != nil {
		t.Error(err)
	}
}

func TestAStateDirectoryBelongsToOneInstallation(t *testing.T) {
	o := workspacetest.Options(t)
	if err := open(t, o).Close(); err != nil {
		t.Fatal(err)
	}
	other := o
	other.Installation = "other"
	const unused = `was made for installation "demo", to which nothing was applied; delete the directory, or use another --state`
	if _, err := Open(t.Context(), other); err == nil || !strings.Contains(err.Error(), unused) {
		t.Errorf("error %v", err)
	}
	m := open(t, o)
	applied, _, err := m.store.LoadApplied(t.Context())
	if err == nil {
		_, err = m.store.ApplyDefinition(
			t.Context(),
			store.Apply{Expect: applied.Serial, Definition: fleet.Definition{Installation: "demo"}, By: "a test"},
		)
	}
	if err := errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	const want = `the state directory belongs to installation "demo", not to "other"; name the first in the forgeyard block or with --installation, or use another --state`
	if _, err := Open(t.Context(), other); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v", err)
	}
	if _, running := Held(o.Place.State); running {
		t.Error("a manager that didn't start holds the lock")
	}
}

func TestADirectoryWithOthersThingsGetsNoState(t *testing.T) {
	o := workspacetest.Options(t)
	o.Place.State = t.TempDir()
	if err := os.WriteFile(filepath.Join(o.Place.State, "passwd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := Open(t.Context(), o); err == nil {
		t.Errorf("a manager opens it, and closes with %v", m.Close())
	}
	if after, _ := os.ReadDir(o.Place.State); len(after) != 1 {
		t.Errorf("something was written: %v", after)
	}
}

func TestTheChosenPortIsKept(t *testing.T) {
	o := workspacetest.Options(t)
	m := open(t, o)
	defer m.Close()
	l, err := m.Listen(t.Context(), fleet.ManagerSettings{})
	if err != nil {
		t.Fatal(err)
	}
	chosen := l.Addr().String()
	if host, _, _ := net.SplitHostPort(chosen); host != "127.0.0.1" {
		t.Errorf("listens on %s without being told to", chosen)
	}
	// Agents know the address: another one would leave them alone.
	if _, err := m.Listen(t.Context(), fleet.ManagerSettings{}); err == nil || !strings.Contains(err.Error(), chosen) {
		t.Errorf("error %v, want one that names %s", err, chosen)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := m.Listen(t.Context(), fleet.ManagerSettings{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Addr().String() != chosen {
		t.Errorf("listens on %s, was %s before", again.Addr(), chosen)
	}
}

func TestOwnershipKeyRotatesRepeatedlyAndOldKeysStay(t *testing.T) {
	o := workspacetest.Options(t)
	m := open(t, o)
	ctx := access.WithCaller(t.Context(), access.LocalUser("ada"))
	ids := []string{m.Ownership().KeyID()}
	for range 2 {
		key, err := m.RotateKey(ctx, "ownership")
		if err != nil {
			t.Fatal(err)
		}
		ids = append([]string{key.ID}, ids...)
	}
	if err := m.DeleteIdle(ctx); err != nil {
		t.Fatal(err)
	}
	if got := m.Ownership().KeyIDs(); !slices.Equal(got, ids) {
		t.Errorf("keys %v, want %v", got, ids)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, o)
	if got := again.Ownership().KeyIDs(); !slices.Equal(got, ids) {
		t.Errorf("the next start has the keys %v, want %v", got, ids)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
