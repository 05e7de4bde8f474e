package loop

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// restoredScheduler is a fleet whose one instance has ended, and a scheduler that was
// restored and lists it again, beside a runner of somebody else.
func restoredScheduler(t *testing.T) (w *world, ended fleet.CapacityInstanceID) {
	w, i := up(t)
	f := w.store.fleets["f1"]
	f.Scaling.Min = 0
	w.store.fleets["f1"] = f
	w.goOn(5 * time.Minute)
	if at := w.store.instances[i.ID]; !at.Concluded() {
		t.Fatalf("it hasn't ended: %s", w.describe())
	}
	for _, name := range []fleet.CapacityInstanceID{i.ID, "theirs"} {
		w.ci.runners[name] = &fleet.RunningCapacityUsage{Runner: fleet.SchedulerRunnerRef(name)}
	}
	w.ci.revision++
	w.ci.told = nil
	return w, i.ID
}

func TestRestoredSchedulerIsToldToRemoveEndedRunnersOnly(t *testing.T) {
	w, ended := restoredScheduler(t)
	w.ci.lease(ended, 1) // of a job that no one runs
	w.goOn(time.Minute)
	if want := []string{"remove " + string(ended) + " infrastructure"}; !slices.Equal(w.ci.told, want) {
		t.Errorf("told %q, want %q", w.ci.told, want)
	}
	if w.ci.runners["theirs"] == nil || w.ci.runners[ended] != nil {
		t.Errorf("it has %v", w.ci.runners)
	}
}

func TestASchedulerThatIsRestoredAgainIsToldAgainByAnotherProcess(t *testing.T) {
	w, ended := restoredScheduler(t)
	w.restart()
	w.goOn(time.Minute)
	w.ci.runners[ended] = &fleet.RunningCapacityUsage{Runner: fleet.SchedulerRunnerRef(ended)}
	w.goOn(time.Minute)
	if want := "remove " + string(ended) + " normal"; !slices.Equal(w.ci.told, []string{want, want}) {
		t.Errorf("told %q, want twice %q", w.ci.told, want)
	}
}

// A scheduler that lists an unknown runner and can't remove it isn't called in every step.
func TestUnknownRunnerThatStaysIsRemovedNowAndThen(t *testing.T) {
	w, _ := restoredScheduler(t)
	w.ci.keeps = true
	w.goOn(10 * time.Minute)
	if calls := len(w.ci.told); calls < 10 || calls > 60 {
		t.Errorf("%d calls in 10 minutes", calls)
	}
}

// What has ended for the store, and of which its scheduler must still be told, is
// told once and not from two sides.
func TestUnacknowledgedRemovalIsNoUnknownRunner(t *testing.T) {
	w, i := up(t)
	at := w.store.instances[i.ID]
	at.State = fleet.Terminated
	w.store.instances[i.ID] = at
	w.ci.told = nil
	w.goOn(time.Minute)
	removals := 0
	for _, told := range w.ci.told {
		if strings.HasPrefix(told, "remove "+string(i.ID)) {
			removals++
		}
	}
	if removals != 1 || w.ci.runners[i.ID] != nil {
		t.Errorf("told %q", w.ci.told)
	}
}
