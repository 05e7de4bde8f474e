package loop

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// otherAgents is every live runner beating but one.
func (w *world) otherAgents(silent fleet.CapacityInstanceID) func() {
	return func() {
		for _, i := range w.live() {
			if i.ID != silent {
				w.behave(i)
			}
		}
	}
}

func TestSilentRunnerIsFootprintThenQuarantined(t *testing.T) {
	w := newWorld(t, demoFleet(4, 4))
	w.settle()
	lost := w.live()[0]
	timeouts := fleet.DefaultTimeouts()
	w.calls = nil
	w.pass(timeouts.Heartbeat+time.Minute, w.otherAgents(lost.ID))
	counts := w.last.Plan.Fleets[0].Counts
	if counts.Silent != 1 || counts.Ready != 3 || w.store.instances[lost.ID].State != fleet.Healthy || len(w.calls) != 0 {
		t.Fatalf("silent for longer than a heartbeat: %+v, %v, %s", counts, w.calls, w.describe())
	}
	w.pass(timeouts.LostGrace, w.otherAgents(lost.ID))
	if got := w.store.instances[lost.ID]; got.State != fleet.Quarantined {
		t.Fatalf("silent for longer than lost_grace: %s (%s)", got.State, got.Reason)
	}
	w.beat(lost.Runner, func(*fleet.Runner) {})
	w.step()
	if got := w.store.instances[lost.ID]; got.State != fleet.Healthy {
		t.Errorf("heard again: %s (%s)", got.State, got.Reason)
	}
	for _, i := range w.live() {
		if i.ID != lost.ID && i.State != fleet.Healthy {
			t.Errorf("the runner of %s beat all the time, and it is %s", i.ID, i.State)
		}
	}
}

func TestAfterAStartNobodyIsSilentBeforeOneWholeHeartbeat(t *testing.T) {
	w := newWorld(t, demoFleet(2, 2))
	w.settle()
	lost := w.live()[0]
	w.now = w.now.Add(5 * time.Hour) // the manager was away, and so no one was heard
	w.restart()
	heartbeat := fleet.DefaultTimeouts().Heartbeat
	w.pass(heartbeat-time.Minute, nil)
	if counts := w.last.Plan.Fleets[0].Counts; counts.Silent != 0 || counts.Ready != 2 {
		t.Errorf("before one heartbeat is over: %+v", counts)
	}
	w.pass(2*time.Minute, w.otherAgents(lost.ID))
	if counts := w.last.Plan.Fleets[0].Counts; counts.Silent != 1 || counts.Ready != 1 {
		t.Errorf("after it: %+v", counts)
	}
}
