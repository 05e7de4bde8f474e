package store

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/google/go-cmp/cmp"
)

func commitsWhole(t *testing.T, location string) {
	s := applied(t, open(t, location))
	want := change(1, 3*batch+5)
	must(t, s.Commit(t.Context(), want))
	for i := range want.Instances {
		want.Instances[i].State, want.Operations[i].Attempts = fleet.Healthy, 1
	}
	want.Decisions = []fleet.Decision{
		{ID: "d1", At: now, Fleet: managed(1).ID, Kind: fleet.ScaleUp, Add: 5, Reason: reason.Plain("2 of 7")},
	}
	must(t, s.Commit(t.Context(), want))
	state, err := s.Load(t.Context())
	must(t, err)
	decisions, err := s.Decisions(t.Context(), managed(1).ID, 0)
	must(t, err)
	if diff := cmp.Diff(
		want,
		Change{Instances: state.Instances, Operations: state.Operations, Decisions: decisions},
	); diff != "" {
		t.Error(diff)
	}
}

func commitsNothingOnFailure(t *testing.T, location string) {
	s := applied(t, open(t, location))
	bad := change(1, 2)
	bad.Decisions = []fleet.Decision{{ID: "d1", Fleet: "a fleet that isn't there"}}
	if err := s.Commit(t.Context(), bad); err == nil {
		t.Error("a decision about a fleet that isn't there was committed")
	}
	if state, err := s.Load(t.Context()); err != nil || len(state.Instances)+len(state.Operations) != 0 {
		t.Errorf("a part of the change was kept: %v, error %v", state, err)
	}
}

func emptyChangeIsFree(t *testing.T, location string) {
	s := open(t, location) // not a writer: any transaction would fail
	must(t, s.Commit(t.Context(), Change{Serial: 3}))
	must(t, s.RecordRunners(t.Context(), nil))
}

func lastRowCounts(t *testing.T, location string) {
	s := applied(t, open(t, location))
	c := change(1, 1)
	c.Instances, c.Operations = append(c.Instances, c.Instances[0]), append(c.Operations, c.Operations[0])
	c.Instances[1].State, c.Operations[1].State = fleet.Failed, fleet.OperationUnknown
	must(t, s.Commit(t.Context(), c))
	state, err := s.Load(t.Context())
	must(t, err)
	if diff := cmp.Diff(c.Instances[1:], state.Instances); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(c.Operations[1:], state.Operations); diff != "" {
		t.Error(diff)
	}
}
