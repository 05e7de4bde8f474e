package store

import (
	"errors"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/google/go-cmp/cmp"
)

// writes is one write of every kind.
func writes(t *testing.T, s *Store) map[string]func() error {
	ctx := t.Context()
	terminated, operation := provisioned(1)
	terminated.State = fleet.Terminated
	return map[string]func() error{
		"SetSetting":      func() error { return s.SetSetting(ctx, "port", "1") },
		"ApplyDefinition": func() error { _, err := s.ApplyDefinition(ctx, Apply{Expect: 1}); return err },
		"Commit instances": func() error {
			return s.Commit(ctx, Change{Instances: []fleet.CapacityInstance{terminated}})
		},
		"Commit operations": func() error { return s.Commit(ctx, Change{Operations: []fleet.Operation{operation}}) },
		"Commit decisions": func() error {
			return s.Commit(ctx, Change{Decisions: []fleet.Decision{{ID: "d", Fleet: managed(1).ID}}})
		},
		"Commit retired fleets": func() error {
			return s.Commit(ctx, Change{RetireFleets: []fleet.RunnerFleetID{managed(1).ID}, Serial: 1})
		},
		"Enroll":        func() error { return s.Enroll(ctx, enrolled(1), "") },
		"RecordRunners": func() error { return s.RecordRunners(ctx, []fleet.Runner{enrolled(1)}) },
		"AppendAudit":   func() error { return s.AppendAudit(ctx, AuditRecord{ID: "a"}) },
		"CreateAPIToken": func() error {
			return s.CreateAPIToken(ctx, apiToken("ci"), "aa", AuditRecord{ID: "b"})
		},
		"RevokeAPIToken": func() error {
			_, err := s.RevokeAPIToken(ctx, "x", now, AuditRecord{ID: "c"})
			return err
		},
		"Prune": func() error { _, err := s.Prune(ctx, now.Add(time.Hour)); return err },
	}
}

func refusesReaderWrites(t *testing.T, location string) {
	for name, write := range writes(t, open(t, location)) {
		if err := write(); !errors.Is(err, ErrNotWriter) {
			t.Errorf("%s: got %v, want ErrNotWriter", name, err)
		}
	}
}

func fencesOlderWriter(t *testing.T, location string) {
	older, newer := applied(t, open(t, location)), open(t, location)
	must(t, older.Commit(t.Context(), change(1, 1)))
	before, err := older.Load(t.Context())
	must(t, err)
	tookOver := now.Add(time.Minute)
	epoch, err := newer.Claim(t.Context(), "host-b, pid 7", tookOver)
	must(t, err)
	for name, write := range writes(t, older) {
		t.Run(name, func(t *testing.T) {
			fenced := refused[*FencedError](t, write())
			want := FencedError{Ours: epoch - 1, Current: epoch, Holder: "host-b, pid 7", Since: tookOver}
			if diff := cmp.Diff(want, *fenced); diff != "" {
				t.Error(diff)
			}
		})
	}
	after, err := newer.Load(t.Context())
	must(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("a fenced write left something behind:\n%s", diff)
	}
	must(t, newer.Commit(t.Context(), change(2, 2)))
}

func fencedWriterReads(t *testing.T, location string) {
	older, newer := applied(t, open(t, location)), claim(t, open(t, location), "b")
	must(t, newer.Commit(t.Context(), change(1, 2)))
	state, err := older.Load(t.Context())
	must(t, err)
	if len(state.Instances) != 2 {
		t.Errorf("got %d instances, want 2", len(state.Instances))
	}
}

func keepsSettings(t *testing.T, location string) {
	s := claim(t, open(t, location), "a")
	if _, found, err := s.Setting(t.Context(), "port"); err != nil || found {
		t.Errorf("before it was set: found %v, error %v", found, err)
	}
	for _, value := range []string{"4711", "", "4712"} {
		must(t, s.SetSetting(t.Context(), "port", value))
		got, found, err := s.Setting(t.Context(), "port")
		if err != nil || !found || got != value {
			t.Errorf("got %q, found %v, error %v; want %q", got, found, err, value)
		}
	}
}
