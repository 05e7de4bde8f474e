package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/postgrestest"
)

var postgres postgrestest.Cluster

func TestMain(m *testing.M) {
	if path := os.Getenv(crashStore); path != "" {
		commitUntilKilled(path)
	}
	code := m.Run()
	if err := postgres.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// now is the time of all tests.
var now = time.Date(2026, 5, 4, 10, 20, 30, 123456000, time.UTC)

func sqlitePath(t testing.TB) string { return filepath.Join(t.TempDir(), "fleet.db") }

// open opens the store and closes it with the test.
func open(t testing.TB, location string) *Store {
	t.Helper()
	s, err := Open(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// claim makes the store the writer under the given name.
func claim(t testing.TB, s *Store, holder string) *Store {
	t.Helper()
	if _, err := s.Claim(t.Context(), holder, now); err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused is the error of the given type that err must be.
func refused[E error](t testing.TB, err error) E {
	t.Helper()
	refusal, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("want an error of type %T, got: %v", refusal, err)
	}
	return refusal
}

func id(kind string, n int) string { return fmt.Sprintf("%s-%06d", kind, n) }

// managed is the fleet number n.
func managed(n int) fleet.ManagedFleet {
	return fleet.ManagedFleet{
		ID:          fleet.RunnerFleetID(id("fleet", n)),
		RunnerFleet: fleet.RunnerFleet{Address: fleet.FleetAddress("fleet." + id("f", n)), Instance: []byte(`{}`)},
		Operational: fleet.FleetActive,
	}
}

// applied claims the store and applies a definition with one fleet, number 1.
func applied(t testing.TB, s *Store) *Store {
	t.Helper()
	claim(t, s, "test")
	_, err := s.ApplyDefinition(t.Context(), Apply{
		Definition: fleet.Definition{Installation: "lab"}, At: now, By: "ada", Fleets: []fleet.ManagedFleet{managed(1)},
	})
	must(t, err)
	return s
}

// provisioned is the live instance number n of fleet 1 with the operation that makes it.
func provisioned(n int) (fleet.CapacityInstance, fleet.Operation) {
	instance := fleet.CapacityInstance{
		ID: fleet.CapacityInstanceID(id("instance", n)), Fleet: managed(1).ID, Provider: "local.here",
		Key: fleet.OperationID(id("operation", n)), State: fleet.Provisioning, Since: now, Created: now,
		Cause: "intent_committed", Reason: reason.Plain("an intent to provision was stored"),
	}
	operation := fleet.Operation{
		ID: instance.Key, Kind: fleet.ProvisionOperation, Instance: instance.ID, Fleet: instance.Fleet,
		Provider: instance.Provider, State: fleet.OperationPending, Request: []byte(`{"name":"a"}`), Created: now,
	}
	return instance, operation
}

// enrolled is the runner of instance n.
func enrolled(n int) fleet.Runner {
	instance, operation := provisioned(n)
	return fleet.Runner{ID: fleet.RunnerID(id("runner", n)), Instance: instance.ID, Fleet: instance.Fleet,
		Operation: operation.ID, KeyHash: "sha256:aa", Serial: "1", Enrolled: now, NotAfter: now.Add(time.Hour)}
}

// change puts instances first to last with their operations into one change.
func change(first, last int) Change {
	var c Change
	for n := first; n <= last; n++ {
		instance, operation := provisioned(n)
		c.Instances = append(c.Instances, instance)
		c.Operations = append(c.Operations, operation)
	}
	return c
}
