package store

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/google/go-cmp/cmp"
)

func appliesDefinition(t *testing.T, location string) {
	s := claim(t, open(t, location), "a")
	if _, found, err := s.Definition(t.Context()); err != nil || found {
		t.Fatalf("before any apply: found %v, error %v", found, err)
	}
	definition := fleet.Definition{
		Installation: "lab",
		Providers:    []fleet.Provider{{Address: "local.here", Config: []byte(`{"root":"x"}`)}},
	}
	serial, err := s.ApplyDefinition(
		t.Context(),
		Apply{Definition: definition, At: now, By: "ada", Fleets: []fleet.ManagedFleet{managed(2), managed(1)}},
	)
	must(t, err)
	if serial != 1 {
		t.Errorf("got serial %d, want 1", serial)
	}
	got, found, err := s.Definition(t.Context())
	must(t, err)
	want := AppliedDefinition{Serial: 1, At: now, By: "ada", Definition: definition}
	if diff := cmp.Diff(want, got); !found || diff != "" {
		t.Errorf("found %v\n%s", found, diff)
	}
	state, err := s.Load(t.Context())
	must(t, err)
	first, second := managed(1), managed(2)
	first.Serial, second.Serial = 1, 1 // set by the store
	wantState := snapshot.State{Serial: 1, Providers: definition.Providers, Fleets: []fleet.ManagedFleet{first, second}}
	if diff := cmp.Diff(wantState, state); diff != "" {
		t.Error(diff)
	}
}

func readsOlderDefinition(t *testing.T, location string) {
	s := applied(t, open(t, location))
	_, err := s.ApplyDefinition(
		t.Context(),
		Apply{Expect: 1, Definition: fleet.Definition{Installation: "b"}, At: now.Add(time.Hour), By: "bob"},
	)
	must(t, err)
	got, found, err := s.DefinitionAt(t.Context(), 1)
	must(t, err)
	if diff := cmp.Diff(
		AppliedDefinition{Serial: 1, At: now, By: "ada", Definition: fleet.Definition{Installation: "lab"}},
		got,
	); !found ||
		diff != "" {
		t.Errorf("found %v\n%s", found, diff)
	}
	if got, found, err := s.DefinitionAt(t.Context(), 9); err != nil || found {
		t.Errorf("definition 9: %v, found %v, error %v", got, found, err)
	}
}

func refusesStaleApply(t *testing.T, location string) {
	s := applied(t, open(t, location))
	later := now.Add(time.Minute)
	_, err := s.ApplyDefinition(
		t.Context(),
		Apply{Expect: 1, Definition: fleet.Definition{Installation: "b"}, At: later, By: "bob"},
	)
	must(t, err)
	_, err = s.ApplyDefinition(
		t.Context(),
		Apply{Expect: 1, Definition: fleet.Definition{Installation: "c"}, At: later, By: "cyd",
			Fleets: []fleet.ManagedFleet{managed(9)}},
	)
	stale := refused[*StaleError](t, err)
	if diff := cmp.Diff(StaleError{Expected: 1, Serial: 2, By: "bob", At: later}, *stale); diff != "" {
		t.Error(diff)
	}
	fleets, err := s.Fleets(t.Context())
	must(t, err)
	if len(fleets) != 1 {
		t.Errorf("the refused apply wrote a fleet: %v", fleets)
	}
}

func sameDefinitionWritesNothing(t *testing.T, location string) {
	s := applied(t, open(t, location))
	revision := func() (revision int64) {
		must(t, s.reader.QueryRowContext(t.Context(), `SELECT revision FROM writer`).Scan(&revision))
		return revision
	}
	before := revision()
	for _, expect := range []int64{1, 0} { // an apply whose answer was lost is sent again as it was
		serial, err := s.ApplyDefinition(t.Context(), Apply{Expect: expect, Definition: fleet.Definition{Installation: "lab"},
			At: now.Add(time.Hour), By: "bob", Fleets: []fleet.ManagedFleet{managed(1)}})
		if err != nil || serial != 1 {
			t.Errorf("got serial %d, error %v; want 1", serial, err)
		}
	}
	if after := revision(); after != before {
		t.Errorf("%d transactions wrote", after-before)
	}
	if got, _, _ := s.Definition(t.Context()); got.By != "ada" {
		t.Errorf("the definition is now by %s", got.By)
	}
}

func oneApplyWins(t *testing.T, location string) {
	s := applied(t, open(t, location))
	var wait sync.WaitGroup
	var won, stale atomic.Int32
	for n := range 8 {
		wait.Go(func() {
			_, err := s.ApplyDefinition(
				t.Context(),
				Apply{Expect: 1, Definition: fleet.Definition{Installation: id("lab", n)}, At: now},
			)
			if err == nil {
				won.Add(1)
				return
			}
			refused[*StaleError](t, err)
			stale.Add(1)
		})
	}
	wait.Wait()
	if won.Load() != 1 || stale.Load() != 7 {
		t.Errorf("%d won and %d were stale, want 1 and 7", won.Load(), stale.Load())
	}
}

func retiresFleet(t *testing.T, location string) {
	s := applied(t, open(t, location))
	if err := s.Commit(t.Context(), Change{RetireFleets: []fleet.RunnerFleetID{managed(1).ID}}); err == nil {
		t.Error("a change without a serial retired a fleet")
	}
	must(t, s.Commit(t.Context(), Change{RetireFleets: []fleet.RunnerFleetID{managed(1).ID}, Serial: 1}))
	fleets, err := s.Fleets(t.Context())
	must(t, err)
	state, err := s.Load(t.Context())
	must(t, err)
	if len(fleets)+len(state.Fleets) != 0 {
		t.Errorf("the retired fleet is still listed: %v %v", fleets, state.Fleets)
	}
	successor := managed(2)
	successor.Address = managed(1).Address
	_, err = s.ApplyDefinition(
		t.Context(),
		Apply{Expect: 1, Definition: fleet.Definition{Installation: "b"}, Fleets: []fleet.ManagedFleet{successor}},
	)
	must(t, err)
}

// The loop finds a removed fleet empty; before it commits, an apply declares the
// fleet again.
func redeclaredFleetStays(t *testing.T, location string) {
	s := applied(t, open(t, location))
	_, err := s.ApplyDefinition(
		t.Context(),
		Apply{Expect: 1, Definition: fleet.Definition{Installation: "b"}, Fleets: []fleet.ManagedFleet{managed(1)}},
	)
	must(t, err)
	must(t, s.Commit(t.Context(), Change{RetireFleets: []fleet.RunnerFleetID{managed(1).ID}, Serial: 1}))
	if fleets, err := s.Fleets(t.Context()); err != nil || len(fleets) != 1 {
		t.Errorf("got fleets %v, error %v; want the one that was declared again", fleets, err)
	}
}
