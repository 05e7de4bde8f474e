package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// ended is what an apply says at its end.
func ended(ending control.Ending, last control.Progress, daemon bool) string {
	var out bytes.Buffer
	last.At = time.Now()
	_ = (&app{out: &out, now: time.Now}).renderOutcome(control.Outcome{Ending: ending, Last: last}, time.Minute, daemon)
	return out.String()
}

// It said how many instances there were and how many outcomes were unknown, and
// nothing of what it had waited for.
func TestAnApplyThatIsNotFinishedSaysWhatItWaitsFor(t *testing.T) {
	const why = "no credentials were found"
	last := control.Progress{
		States: map[fleet.CapacityInstanceState]int{fleet.Healthy: 1},
		Holds: map[fleet.RunnerFleetID]snapshot.Hold{
			"f2": {Reason: "What its provider offers isn't known: " + why}, "f1": {Reason: "What its provider offers isn't known: " + why},
			"f3": {Reason: "3 failures in a row. Last: no route (transient)", Until: time.Now().Add(time.Hour)},
		},
		Fleets:     map[fleet.RunnerFleetID]fleet.FleetAddress{"f1": "fleet.linux", "f2": "fleet.spot", "f3": "fleet.mac"},
		Waits:      map[fleet.FleetAddress][]planner.Wait{"fleet.big": {{Code: planner.CostGuardrail, Sentence: "max_hourly 1 USD binds; 1 instance is missing."}}},
		Schedulers: map[fleet.SchedulerAddress]string{"reviewos.main": "connection refused"},
		Unobserved: map[fleet.ProviderAddress]string{"aws.virginia": why, "local.here": "it hangs"},
	}
	want := `
Not finished after 1m0s: 1 healthy. It waits:
  linux, spot are held back: What its provider offers isn't known: no credentials were found.
  mac is held back: 3 failures in a row. Last: no route (transient).
  big: max_hourly 1 USD binds; 1 instance is missing.
  scheduler.reviewos.main can't be seen (connection refused).
  provider.local.here can't be seen (it hangs).
The next apply goes on from here.
`
	if got := ended(control.WaitOver, last, false); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	const brief = "\nNot finished after 1m0s: 1 provisioning, 2 unknown outcomes. The manager goes on with it: see forgeyard-fleet status.\n"
	if got := ended(control.WaitOver, control.Progress{States: map[fleet.CapacityInstanceState]int{fleet.Provisioning: 1}, Unresolved: 2}, true); got != brief {
		t.Errorf("where a manager runs it says\n%s\nwant\n%s", got, brief)
	}
}

// "Applied. No instances." was all that one read whose scheduler nobody asks.
func TestAnApplyWithoutInstancesSaysThatNothingStartsUntilAManagerRuns(t *testing.T) {
	follows := control.Progress{Following: 1}
	unseen := control.Progress{Following: 1, Schedulers: map[fleet.SchedulerAddress]string{"reviewos.main": "connection refused"}}
	for _, test := range []struct {
		name   string
		last   control.Progress
		daemon bool
		want   string
	}{
		{"a fleet that follows a scheduler", follows, false, "\nApplied. No instances.\nNothing starts for jobs that wait until forgeyard-fleet serve runs.\n"},
		{"where a manager runs", follows, true, "\nApplied. No instances.\n"},
		{"no fleet is left", control.Progress{}, false, "\nApplied. No instances.\n"},
		{"its scheduler can't be seen", unseen, true, "\nApplied. No instances.\n! scheduler.reviewos.main can't be seen (connection refused): nobody knows how many jobs wait.\n"},
	} {
		if got := ended(control.Settled, test.last, test.daemon); got != test.want {
			t.Errorf("%s: it says\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestAProviderThatFailsIsToldOnceAndWhenItWorksAgain(t *testing.T) {
	var out bytes.Buffer
	at := time.Now()
	p := (&app{out: &out, outTerminal: false, now: func() time.Time { return at }}).newProgress()
	fails := control.Progress{At: at, Faults: map[fleet.ProviderAddress]string{"local.here": "it hangs"}}
	p.observe(fails)
	p.observe(fails)
	p.observe(control.Progress{At: at})
	p.end()
	const want = "    0s  provider.local.here can't be relied on: it hangs\n    0s  provider.local.here works again\n"
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
	}
}

// A first plan said "demand 0", as if somebody had asked.
func TestAPlanThatAskedNoSchedulerSaysSo(t *testing.T) {
	var out bytes.Buffer
	(&app{out: &out, now: time.Now}).renderPlan(control.Plan{Forecast: planner.Output{Fleets: []planner.FleetPlan{{
		Address: "fleet.demo", Desired: 1, Counts: planner.Counts{Ready: 1, Footprint: 1}, Bounds: []fleet.Bound{{Name: "demand", After: 1}},
		Unseen: "scheduler.forgeyard.ci has not been asked yet how many jobs wait",
	}}}})
	const want = `  fleet.demo: 1 ready, 1 wanted (demand unknown, keeps 1)
      ! scheduler.forgeyard.ci has not been asked yet how many jobs wait.
No changes. 1 fleet, 1 instance. What waiting jobs need beyond that isn't known.
`
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
	}
}
