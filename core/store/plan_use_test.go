package store

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func usesPlanOnce(t *testing.T, location string) {
	s := applied(t, open(t, location))
	if _, found, err := s.PlanUse(t.Context(), "p1"); err != nil || found {
		t.Fatalf("before its apply: found %v, error %v", found, err)
	}
	at := now.Add(time.Minute)
	plan := Apply{Expect: 1, Definition: fleet.Definition{Installation: "b"}, At: at, By: "bob", Plan: "p1"}
	serial, err := s.ApplyDefinition(t.Context(), plan)
	must(t, err)
	want := PlanUse{ID: "p1", At: at, By: "bob", Serial: serial}
	use, found, err := s.PlanUse(t.Context(), "p1")
	must(t, err)
	if diff := cmp.Diff(want, use); !found || diff != "" {
		t.Errorf("found %v\n%s", found, diff)
	}
	// The same again, and anything else under its id.
	for _, again := range []Apply{plan, {Expect: serial, Definition: fleet.Definition{Installation: "c"}, At: at, By: "cyd", Plan: "p1"}} {
		_, err = s.ApplyDefinition(t.Context(), again)
		if diff := cmp.Diff(want, refused[*UsedPlanError](t, err).PlanUse); diff != "" {
			t.Error(diff)
		}
	}
	if current, _, err := s.Definition(t.Context()); err != nil || current.Serial != serial {
		t.Errorf("definition %d is current, want %d (%v)", current.Serial, serial, err)
	}
}

func usesPlanThatChangesNothing(t *testing.T, location string) {
	s := applied(t, open(t, location))
	plan := Apply{Expect: 1, Definition: fleet.Definition{Installation: "lab"}, At: now, By: "bob", Plan: "p1"}
	serial, err := s.ApplyDefinition(t.Context(), plan)
	must(t, err)
	if serial != 1 {
		t.Errorf("got serial %d, want 1", serial)
	}
	_, err = s.ApplyDefinition(t.Context(), plan)
	refused[*UsedPlanError](t, err)
}

func keepsPlanOfRefusedApply(t *testing.T, location string) {
	s := applied(t, open(t, location))
	_, err := s.ApplyDefinition(t.Context(), Apply{Expect: 0, Definition: fleet.Definition{Installation: "b"}, At: now, By: "bob", Plan: "p1"})
	refused[*StaleError](t, err)
	if _, found, err := s.PlanUse(t.Context(), "p1"); err != nil || found {
		t.Errorf("an apply that was refused used its plan up: found %v, error %v", found, err)
	}
}

func usesPlanOnceOfManyAtOnce(t *testing.T, location string) {
	s := applied(t, open(t, location))
	var wait sync.WaitGroup
	var won atomic.Int32
	for range 8 {
		wait.Go(func() {
			// Each would change nothing, so no serial stands in the way.
			_, err := s.ApplyDefinition(t.Context(), Apply{Expect: 1, Definition: fleet.Definition{Installation: "lab"}, At: now, By: "bob", Plan: "p1"})
			if err == nil {
				won.Add(1)
				return
			}
			refused[*UsedPlanError](t, err)
		})
	}
	wait.Wait()
	if won.Load() != 1 {
		t.Errorf("the plan was applied %d times", won.Load())
	}
}
