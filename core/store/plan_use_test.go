package store

import (
	"fmt"
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
	for _, again := range []Apply{plan,
		{Expect: serial, Definition: fleet.Definition{Installation: "c"}, At: at, By: "cyd", Plan: "p1"}} {
		_, err = s.ApplyDefinition(t.Context(), again)
		if diff := cmp.Diff(want, refused[*UsedPlanError](t, err).PlanUse); diff != "" {
			t.Error(diff)
		}
	}
	if current, _, err := s.Definition(t.Context()); err != nil || current.Serial != serial {
		t.Errorf("definition %d is current, want %d (%v)", current.Serial, serial, err)
	}
}

// An apply without its record, or a record without its apply, is a lie (spec §193).
func keepsAuditWithApply(t *testing.T, location string) {
	s := applied(t, open(t, location))
	audit := func(id string) func(int64, bool) AuditRecord {
		return func(serial int64, changed bool) AuditRecord {
			return AuditRecord{ID: id, At: now, By: "bob", Action: "apply", Detail: fmt.Sprint(serial, changed)}
		}
	}
	next := Apply{Expect: 1, Definition: fleet.Definition{Installation: "b"}, At: now, By: "bob", Audit: audit("a1")}
	must(t, errorOf(s.ApplyDefinition(t.Context(), next)))
	// The same again changes nothing and needs no record; with a saved plan it does.
	next.Audit = audit("a2")
	must(t, errorOf(s.ApplyDefinition(t.Context(), next)))
	next.Plan, next.Audit = "p1", audit("a3")
	must(t, errorOf(s.ApplyDefinition(t.Context(), next)))
	refused[*StaleError](
		t,
		errorOf(
			s.ApplyDefinition(
				t.Context(),
				Apply{Expect: 1, Definition: fleet.Definition{Installation: "c"}, At: now, Audit: audit("a4")},
			),
		),
	)
	// A record that can't be kept: its id is taken.
	if err := errorOf(
		s.ApplyDefinition(
			t.Context(),
			Apply{Expect: 2, Definition: fleet.Definition{Installation: "c"}, At: now, Plan: "p2", Audit: audit("a1")},
		),
	); err == nil {
		t.Error("an apply without its record is stored")
	}
	records := got[[]AuditRecord](t)(s.Audit(t.Context(), 0))
	if len(records) != 2 || records[0].Detail != "2 false" || records[1].Detail != "2 true" {
		t.Errorf("the audit has %+v", records)
	}
	if current, _, err := s.Definition(t.Context()); err != nil || current.Serial != 2 {
		t.Errorf("definition %d is current, want 2 (%v)", current.Serial, err)
	}
	if _, found, err := s.PlanUse(t.Context(), "p2"); err != nil || found {
		t.Errorf("an apply without its record used its plan up: found %v, error %v", found, err)
	}
}

func errorOf[T any](_ T, err error) error { return err }

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
	_, err := s.ApplyDefinition(
		t.Context(),
		Apply{Expect: 0, Definition: fleet.Definition{Installation: "b"}, At: now, By: "bob", Plan: "p1"},
	)
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
			_, err := s.ApplyDefinition(
				t.Context(),
				Apply{Expect: 1, Definition: fleet.Definition{Installation: "lab"}, At: now, By: "bob", Plan: "p1"},
			)
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
