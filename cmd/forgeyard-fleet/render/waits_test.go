package render

import (
	"bytes"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// ended is what an apply says at its end.
func ended(ending progress.Ending, last progress.Progress, daemon bool) string {
	var out bytes.Buffer
	last.At = time.Now()
	(Page{Out: &out, Now: time.Now}).Outcome(progress.Outcome{Ending: ending, Last: last}, time.Minute, daemon)
	return out.String()
}

func TestUnfinishedApplySaysWhatItWaitsFor(t *testing.T) {
	const why = "no credentials were found"
	last := progress.Progress{
		States: map[fleet.CapacityInstanceState]int{fleet.Healthy: 1},
		Holds: map[fleet.RunnerFleetID]snapshot.Hold{
			"f2": {
				Reason: reason.Of(reason.OffersUnknown{Because: reason.Of(reason.ProviderError{Message: why})}),
			},
			"f1": {Reason: reason.Of(reason.OffersUnknown{Because: reason.Of(reason.ProviderError{Message: why})})},
			"f3": {
				Reason: reason.Of(
					reason.FailuresInRow{Failures: 3, Last: reason.Of(reason.ProviderError{Message: "no route"}), Class: "transient"},
				),
				Until: time.Now().Add(time.Hour),
			},
		},
		Fleets: map[fleet.RunnerFleetID]fleet.FleetAddress{"f1": "fleet.linux", "f2": "fleet.spot", "f3": "fleet.mac"},
		Waits: map[fleet.FleetAddress][]reason.Reason{
			"fleet.big": {
				reason.Of(
					reason.MaxHourlyReached{
						Missing: 1,
						Limit:   reason.CostLimit{Attribute: "max_hourly", Amount: "1 USD"},
						Price:   "2 USD",
					},
				),
			},
		},
		Schedulers: map[fleet.SchedulerAddress]reason.Reason{
			"reviewos.main": reason.Of(reason.SchedulerError{Message: "connection refused"}),
		},
		Unobserved: map[fleet.ProviderAddress]reason.Reason{
			"aws.virginia": reason.Of(reason.PluginDown{Message: why}),
			"local.here":   reason.Of(reason.PluginDown{Message: "it hangs"}),
		},
	}
	want := `
Not finished after 1m0s: 1 healthy. Waiting for:
  linux, spot are held back: the provider's offers are not known: no credentials were found.
  mac is held back: 3 failures in a row; last: no route (transient).
  big: 1 instance missing: limited by max_hourly = 1 USD: one instance costs 2 USD an hour.
  scheduler.reviewos.main is unobservable (connection refused).
  provider.local.here is unreachable (it hangs).
The next apply continues from here.
`
	if got := ended(progress.WaitOver, last, false); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	const brief = "\nNot finished after 1m0s: 1 provisioning, 2 unknown outcomes. The manager continues. To see its " +
		"progress:\n  forgeyard-fleet status\n"
	if got := ended(
		progress.WaitOver,
		progress.Progress{States: map[fleet.CapacityInstanceState]int{fleet.Provisioning: 1}, Unresolved: 2},
		true,
	); got != brief {
		t.Errorf("where a manager runs it says\n%s\nwant\n%s", got, brief)
	}
}

func TestApplyOfAScaledFleetPointsToServe(t *testing.T) {
	follows := progress.Progress{Following: 1}
	unseen := progress.Progress{
		Following: 1,
		Schedulers: map[fleet.SchedulerAddress]reason.Reason{
			"reviewos.main": reason.Of(reason.SchedulerError{Message: "connection refused"}),
		},
	}
	for _, test := range []struct {
		name   string
		last   progress.Progress
		daemon bool
		want   string
	}{
		{"a fleet that follows a scheduler", follows, false,
			"\nApplied. No instances.\nNo instance starts for queued jobs while no manager is running. To run a manager:\n  " +
				"forgeyard-fleet serve\n"},
		{"where a manager runs", follows, true, "\nApplied. No instances.\n"},
		{"no fleet is left", progress.Progress{}, false, "\nApplied. No instances.\n"},
		{"its scheduler can't be seen", unseen, true,
			"\nApplied. No instances.\n! scheduler.reviewos.main is unobservable (connection refused): the number of queued " +
				"jobs is unknown.\n"},
	} {
		if got := ended(progress.Settled, test.last, test.daemon); got != test.want {
			t.Errorf("%s: it says\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestProgressShowsAProvidersFailureAndRecovery(t *testing.T) {
	var out bytes.Buffer
	at := time.Now()
	p := (Page{Out: &out, Terminal: false, Now: func() time.Time { return at }}).NewProgressLines()
	fails := progress.Progress{
		At:     at,
		Faults: map[fleet.ProviderAddress]reason.Reason{"local.here": reason.Of(reason.PluginDown{Message: "it hangs"})},
	}
	p.Observe(fails)
	p.Observe(fails)
	p.Observe(progress.Progress{At: at})
	p.End()
	const want = "    0s  provider.local.here failed: it hangs\n    0s  provider.local.here recovered\n"
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
	}
}

// A first plan said "demand 0", as if somebody had asked.
func TestPlanWithoutDemandSaysSo(t *testing.T) {
	var out bytes.Buffer
	(Page{Out: &out, Now: time.Now}).Plan(plans.Plan{Preview: planner.Output{Fleets: []planner.FleetPlan{
		{
			Address: "fleet.demo",
			Desired: 1,
			Counts:  planner.Counts{Ready: 1, Footprint: 1},
			Bounds:  []fleet.Bound{{Name: "demand", After: 1}},
			Unseen:  reason.Plain("scheduler.forgeyard.ci has not been asked yet how many jobs wait"),
		},
	}}})
	const want = `  fleet.demo: 1 ready, 1 desired (demand unknown, keep 1)
      ! scheduler.forgeyard.ci has not been asked yet how many jobs wait
No changes. 1 fleet, 1 instance. The demand of queued jobs is unknown.
`
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
	}
}

func TestAnApplyThatSoaksShowsHowToSkipIt(t *testing.T) {
	soaking := planner.RolloutPlan{
		Stage:    planner.RolloutCanary,
		SoakEnds: time.Now().Add(time.Minute),
		Reason:   reason.Plain("1 canary healthy for 1 of 15 minutes"),
	}
	got := ended(progress.WaitOver, progress.Progress{
		States:   map[fleet.CapacityInstanceState]int{fleet.Healthy: 2},
		Rollouts: map[fleet.FleetAddress]planner.RolloutPlan{"fleet.demo": soaking},
	}, false)
	const want = `
Not finished after 1m0s: 2 healthy. Waiting for:
  demo: 1 canary healthy for 1 of 15 minutes.
  to skip the soak: forgeyard-fleet image rollout demo --skip-soak.
The next apply continues from here.
`
	if got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}
