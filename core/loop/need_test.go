package loop

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
)

func foreseeingFleet(most int) fleet.ManagedFleet {
	f := ciFleet(0, most)
	f.Forecast = fleet.Forecast{Model: "seasonal-naive", Version: 1}
	return f
}

// runs are what is stored of what the fleet needed, in order.
func (w *world) runs() []forecast.Run {
	return slices.SortedFunc(
		maps.Values(w.store.needed["f1"]),
		func(a, b forecast.Run) int { return cmp.Compare(a.First, b.First) },
	)
}

// sentence is that of a bound of the fleet.
func (w *world) sentence(bound string) string {
	for _, b := range w.last.Plan.Fleets[0].Bounds {
		if b.Name == bound {
			return b.Reason.Text()
		}
	}
	return ""
}

func TestFleetNeedIsRecordedOncePerBucket(t *testing.T) {
	w := newWorld(t, foreseeingFleet(3))
	w.goOn(time.Minute)
	before := w.store.commits
	w.goOn(time.Hour)
	if w.store.commits != before || len(w.runs()) != 0 {
		t.Fatalf("an hour in which nothing was needed: %d commits more, and %v", w.store.commits-before, w.runs())
	}
	w.ci.waiting = 2
	w.goOn(10 * time.Minute) // hosts come
	before = w.store.commits
	w.goOn(time.Hour)
	if made := w.store.commits - before; made < 11 || made > 13 {
		t.Errorf("an hour of equal need made %d commits, want one a bucket", made)
	}
	got := w.runs()
	if len(got) != 2 || got[0].Needed != 0 || got[1].Needed != 2 || got[0].Last+1 != got[1].First ||
		got[1].Last-got[1].First < 12 {
		t.Errorf("stored are %v, want an hour of 0 and then an hour of 2", got)
	}
}

func TestATimeWithoutAManagerIsAHoleAndNotZero(t *testing.T) {
	w := newWorld(t, foreseeingFleet(3))
	w.ci.waiting = 1
	w.goOn(20 * time.Minute)
	w.ci.waiting = 0
	last := w.runs()[0].Last
	// It dies, and no one is there for an hour.
	w.now = w.now.Add(time.Hour)
	w.restart()
	back := forecast.SlotOf(w.now)
	w.ci.waiting = 1
	w.goOn(20 * time.Minute)
	for _, run := range w.runs() {
		if run.Last > last && run.First < back {
			t.Errorf("the hour without a manager is part of %v", run)
		}
	}
	if n := len(w.runs()); n != 2 {
		t.Errorf("stored are %v", w.runs())
	}
}

func TestWhileTheSchedulerCannotBeSeenNothingIsTakenDown(t *testing.T) {
	w := newWorld(t, foreseeingFleet(3))
	w.ci.waiting = 1
	w.goOn(20 * time.Minute)
	w.ci.down = "timeout"
	w.goOn(10 * time.Minute) // until it is believed
	last := w.runs()[0].Last
	w.goOn(time.Hour)
	if got := w.runs(); len(got) != 1 || got[0].Last > last+1 {
		t.Errorf("stored are %v, the last one before was %d", got, last)
	}
}

func TestAnOrderedStopStoresThatNothingWasNeeded(t *testing.T) {
	w := newWorld(t, foreseeingFleet(3))
	w.goOn(time.Hour)
	if err := w.loop.Abandon(t.Context(), w.now); err != nil {
		t.Fatal(err)
	}
	if got := w.runs(); len(got) != 1 || got[0].Needed != 0 || got[0].Last-got[0].First < 10 {
		t.Errorf("stored are %v", got)
	}
}

// threeDays is a history in which so many runners were needed from 13:00 to 15:00.
func (w *world) threeDays(needed int) {
	noon := forecast.SlotOf(w.now)
	runs := map[forecast.Slot]forecast.Run{}
	for day := range forecast.Slot(3) {
		begin := noon - (3-day)*288
		for _, run := range []forecast.Run{{First: begin, Last: begin + 11},
			{First: begin + 12, Last: begin + 35, Needed: needed}, {First: begin + 36, Last: begin + 287}} {
			runs[run.First] = run
		}
	}
	w.store.needed["f1"] = runs
}

func TestAForecastMakesHostsBeforeTheirJobsComeAndKeepsThem(t *testing.T) {
	w := newWorld(t, foreseeingFleet(3))
	w.threeDays(2)
	w.restart()
	w.goOn(40 * time.Minute) // 12:40
	if n := len(w.cloud); n != 0 {
		t.Fatalf("20 minutes before they are needed there are %d", n)
	}
	w.goOn(15 * time.Minute)
	if p := w.last.Plan.Fleets[0]; len(w.cloud) != 2 || p.Desired != 2 || p.Counts.Ready != 2 {
		t.Fatalf("5 minutes before they are needed there are %d: %v", len(w.cloud), p.Bounds)
	}
	if said := w.sentence(
		"forecast",
	); !strings.Contains(said, "2 runners needed by 13:") ||
		!strings.Contains(said, "seasonal-naive version 1, confidence high, 1.00") {
		t.Errorf("it says %q", said)
	}
	w.goOn(30 * time.Minute) // no job comes, and none of the two leaves
	if p := w.last.Plan.Fleets[0]; p.Counts.Ready != 2 {
		t.Errorf("at 13:25 %d are ready", p.Counts.Ready)
	}
	w.goOn(2 * time.Hour)
	if p := w.last.Plan.Fleets[0]; p.Desired != 0 || p.Counts.Footprint != 0 {
		t.Errorf("at 15:25 %d are wanted and %d there", p.Desired, p.Counts.Footprint)
	}
}

func TestAForecastNeverPassesMaxNorAFreeze(t *testing.T) {
	w := newWorld(t, foreseeingFleet(1))
	w.threeDays(5)
	w.restart()
	w.goOn(90 * time.Minute)
	if n := len(w.cloud); n != 1 {
		t.Errorf("with max = 1 there are %d", n)
	}
	w = newWorld(t, foreseeingFleet(3))
	w.threeDays(5)
	w.store.overrides.Freezes = []fleet.Freeze{{Fleet: "f1"}}
	w.restart()
	w.goOn(90 * time.Minute)
	if len(w.calls) != 0 {
		t.Errorf("a frozen fleet made the calls %v", w.calls)
	}
}

func TestAHistoryThatCannotBeReadStopsNothing(t *testing.T) {
	w := newWorld(t, foreseeingFleet(3))
	w.store.unreadable = errors.New("the disk is gone")
	w.restart()
	w.ci.waiting = 1
	w.goOn(5 * time.Minute)
	if n := len(w.cloud); n != 1 {
		t.Errorf("for the job that waits there are %d hosts", n)
	}
	if said := w.sentence(
		"forecast",
	); !strings.Contains(
		said,
		"has no effect: the recorded demand can't be read: the disk is gone",
	) {
		t.Errorf("it says %q", said)
	}
	w.store.unreadable = nil
	w.goOn(20 * time.Minute)
	if len(w.runs()) == 0 {
		t.Error("once it can be read again nothing is taken down")
	}
}

func TestWhatIsNotStoredIsStoredByTheNextStep(t *testing.T) {
	w := newWorld(t, foreseeingFleet(3))
	w.ci.waiting = 1
	w.goOn(20 * time.Minute)
	last := w.runs()[0].Last
	w.now = (last + 2).Start().Add(time.Second)
	w.store.fail = errors.New("the disk is full")
	if _, err := w.loop.Step(t.Context(), w.now, nil); err == nil {
		t.Fatal("a commit that fails is not an error")
	}
	w.store.fail = nil
	w.step()
	if got := w.runs()[0].Last; got != last+1 {
		t.Errorf("stored is up to %d, want %d", got, last+1)
	}
}
