package store

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/google/go-cmp/cmp"
)

func recalls(t *testing.T, location string) {
	s := applied(t, open(t, location))
	c := change(1, 150)
	c.Instances[1].State, c.Instances[1].Since = fleet.Terminated, now
	for n := range c.Instances {
		c.Instances[n].Key = c.Operations[n].ID
	}
	ending := c.Operations[0]
	ending.ID, ending.Kind = fleet.OperationID(id("operation", 900)), fleet.TerminateOperation
	c.Operations = append(c.Operations, ending)
	must(t, s.Commit(t.Context(), c))

	want := []Recalled{{c.Instances[1], c.Operations[1]}, {c.Instances[0], c.Operations[0]}}
	got, err := s.Recall(t.Context(), []fleet.OperationID{c.Operations[1].ID, "unknown", ending.ID, "any\x00\xffbytes"},
		[]fleet.CapacityInstanceID{c.Instances[0].ID, c.Instances[1].ID, ""})
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("an ended one by its key, a live one by its id:\n%s", diff)
	}
	var keys []fleet.OperationID
	for _, i := range c.Instances {
		keys = append(keys, i.Key)
	}
	if got, err = s.Recall(t.Context(), keys, nil); err != nil || len(got) != 150 {
		t.Errorf("%d of 150, %v", len(got), err)
	}
	// One that comes back is loaded with what belongs to it, until it ends again.
	back := c.Instances[1]
	back.State = fleet.Terminating
	must(t, s.Commit(t.Context(), Change{Instances: []fleet.CapacityInstance{back}}))
	state, err := s.Load(t.Context())
	must(t, err)
	if len(state.Instances) != 150 || len(state.Operations) != 151 {
		t.Errorf("loaded %d instances with %d operations", len(state.Instances), len(state.Operations))
	}
	back.State = fleet.Terminated
	must(t, s.Commit(t.Context(), Change{Instances: []fleet.CapacityInstance{back}}))
	_, err = s.Prune(t.Context(), now.Add(time.Hour))
	must(t, err)
	if got, err = s.Recall(t.Context(), []fleet.OperationID{back.Key}, nil); err != nil || len(got) != 0 {
		t.Errorf("one that was pruned: %v, %v", got, err)
	}
}
