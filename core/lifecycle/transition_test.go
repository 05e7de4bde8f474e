package lifecycle

import (
	"errors"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

func TestEveryStateButTerminatedHasAWayToTerminated(t *testing.T) {
	reach := map[fleet.CapacityInstanceState]bool{fleet.Terminated: true}
	for changed := true; changed; {
		changed = false
		for _, e := range Edges() {
			if reach[e.To] && !reach[e.From] {
				reach[e.From], changed = true, true
			}
		}
	}
	for _, s := range fleet.CapacityInstanceStates() {
		if !reach[s] {
			t.Errorf("%s is a state without an end", s)
		}
	}
}

func TestAnAdmittedRunnerIsNeverTerminatedWithoutADrainOrProof(t *testing.T) {
	allowed := map[Cause]bool{ResourceStopped: true, RunnerLeft: true, ProvenGone: true, LeftBehind: true}
	for _, e := range Edges() {
		if e.From == fleet.Healthy && (e.To == fleet.Terminating || e.To == fleet.Terminated) && !allowed[e.Cause] {
			t.Errorf("Healthy leads to %s by %s: normal scale-down drains first [33, 34]", e.To, e.Cause)
		}
	}
}

func TestTheTableHasNoEdgeTwice(t *testing.T) {
	type key struct {
		from, to fleet.CapacityInstanceState
		cause    Cause
	}
	seen := map[key]bool{}
	for _, e := range Edges() {
		k := key{e.From, e.To, e.Cause}
		if seen[k] {
			t.Errorf("edge %v stands twice", k)
		}
		seen[k] = true
		if e.From == fleet.Terminated && (e.To != fleet.Terminating || e.Cause != OrphanFound) {
			t.Errorf("edge %v leads out of the end", k)
		}
		if e.When == "" {
			t.Errorf("edge %v has no words", k)
		}
	}
}

func TestMoveRecordsWhyAndRefusesWhatTheTableLacks(t *testing.T) {
	now := time.Unix(1000, 0)
	i := fleet.CapacityInstance{ID: "i1", State: fleet.Healthy, Since: time.Unix(0, 0)}
	if err := Move(&i, fleet.Draining, ForScaleDown, now, reason.Plain("2 needed, 3 ready")); err != nil {
		t.Fatal(err)
	}
	if i.State != fleet.Draining || i.Drain != fleet.Cordoned || !i.Since.Equal(now) || i.Cause != "scale_down" ||
		i.Reason.Text() != "2 needed, 3 ready" {
		t.Errorf("after the move: %+v", i)
	}

	before := i
	err := Move(&i, fleet.Healthy, ForScaleDown, now, reason.Plain("no such edge"))
	var not *NotAllowedError
	if !errors.As(err, &not) || not.From != fleet.Draining || not.To != fleet.Healthy {
		t.Errorf("error = %v, want NotAllowedError from draining to healthy", err)
	}
	if i.State != before.State || i.Reason != before.Reason {
		t.Errorf("a refused move changed the instance: %+v", i)
	}
}

func TestFootprintAndCapacityAreDifferentNumbers(t *testing.T) {
	tests := []struct {
		state               fleet.CapacityInstanceState
		silent              bool
		footprint, capacity bool
		deadline            time.Duration
	}{
		{fleet.Requested, false, true, true, 0},
		{fleet.Provisioning, false, true, true, 10 * time.Minute},
		{fleet.Bootstrapping, false, true, true, 5 * time.Minute},
		{fleet.Enrolling, false, true, true, 3 * time.Minute},
		{fleet.Healthy, false, true, true, 0},
		{fleet.Healthy, true, true, false, 0},
		{fleet.Draining, false, true, false, 2 * time.Hour},
		{fleet.Quarantined, false, true, false, 24 * time.Hour},
		{fleet.Failed, false, true, false, 0},
		{fleet.Terminating, false, true, false, 15 * time.Minute},
		{fleet.Terminated, false, false, false, 0},
	}
	for _, tt := range tests {
		if got := Footprint(tt.state); got != tt.footprint {
			t.Errorf("Footprint(%s) = %v", tt.state, got)
		}
		if got := Capacity(tt.state, tt.silent); got != tt.capacity {
			t.Errorf("Capacity(%s, silent %v) = %v", tt.state, tt.silent, got)
		}
		if got := Deadline(tt.state, fleet.DefaultTimeouts()); got != tt.deadline {
			t.Errorf("Deadline(%s) = %s, want %s", tt.state, got, tt.deadline)
		}
	}
}

func TestOnlyAnAdmittedRunnerIsToldToRun(t *testing.T) {
	for _, s := range fleet.CapacityInstanceStates() {
		got := InstructionFor(fleet.CapacityInstance{State: s})
		if (got == Run) != (s == fleet.Healthy) {
			t.Errorf("%s is told to %s", s, got)
		}
	}
}

func TestSilenceDoesNotCountTheTimeTheManagerWasAway(t *testing.T) {
	lastBeat := time.Unix(1000, 0)
	r := fleet.Runner{LastBeat: lastBeat, Enrolled: lastBeat.Add(-time.Hour)}
	started := lastBeat.Add(3 * time.Hour)
	if Silent(r, time.Minute, started, started.Add(30*time.Second)) {
		t.Error("a runner is called silent half a deadline after the manager came back")
	}
	if !Silent(r, time.Minute, started, started.Add(61*time.Second)) {
		t.Error("a runner that doesn't come back within a whole deadline isn't called silent")
	}
}
