package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

func TestExplainShowsLimitsDemandAndWaits(t *testing.T) {
	var out bytes.Buffer
	a := Page{Out: &out, Now: func() time.Time { return noon }}
	cooldown := reason.Of(reason.Cooldown{Excess: 1, Desired: 2, Cooldown: reason.Duration(time.Minute)})
	f := view.Fleet{
		Address:   "fleet.demo",
		Scheduler: "forgeyard.ci",
		Desired:   2,
		Counts:    planner.Counts{Capacity: 1, Ready: 1, Busy: 1},
		Bounds: []fleet.Bound{
			{Name: "demand", After: 5, Reason: reason.Of(reason.JobsQueued{Jobs: 5, Runners: 4})},
			{Name: "max", After: 2, Reason: reason.Of(reason.LimitedByMax{Max: 2})},
		},
		Unplaced: []planner.UnplacedDemand{{Reason: reason.Of(reason.NoEligibleFleet{Jobs: 1}),
			Nearest: []planner.NearMiss{{Fleet: "fleet.demo", Reason: reason.Plain("it has no gpu")}}}},
		Hold:      &snapshot.Hold{Reason: reason.Plain("3 failures in a row"), Until: noon.Add(time.Minute)},
		Waiting:   []reason.Reason{cooldown},
		Next:      noon.Add(30 * time.Second),
		Decisions: []view.LastDecision{{At: noon.Local(), Kind: fleet.ScaleUp, Reason: reason.Plain("2 wanted.")}},
	}
	a.Explanation(f, "process 7")
	want := `fleet.demo has 1 instance of 2 desired: 1 ready (busy 1, idle 0), 0 starting.

Why 2
  demand   → 5  5 jobs queued, 4 more runners needed
  max      → 2  limited by max = 2

Demand comes from scheduler.forgeyard.ci.

Blocked demand
  no_eligible_fleet  1 queued job that no fleet can run: no fleet has this scheduler
    fleet.demo: it has no gpu

Waiting
  no starts: 3 failures in a row; next try in 1m
  cooldown  1 instance above the desired 2: the size changed less than cooldown = 1m ago
  Next check in 30s.

Recent decisions, newest first
  ` + Moment(noon) + `  scale_up    2 wanted
`
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
	}
	for _, tt := range []struct {
		unseen        reason.Reason
		manager, want string
	}{
		{reason.Of(reason.SchedulerUnreachable{Scheduler: "forgeyard.ci",
			Because: reason.Of(reason.SchedulerError{Message: "connection refused"})}), "process 7",
			"Demand is unknown: scheduler.forgeyard.ci is unreachable (connection refused)."},
		{reason.Reason{}, "", "it isn't read while no manager is running."},
	} {
		out.Reset()
		f.Unseen = tt.unseen
		if a.Explanation(f, tt.manager); !strings.Contains(out.String(), tt.want) {
			t.Errorf("it says\n%s\nwithout %q", out.String(), tt.want)
		}
	}
}

// The hold appeared a second time as a wait, with a later next check.
func TestExplainShowsAHoldOnceWithItsEnd(t *testing.T) {
	var out bytes.Buffer
	a := Page{Out: &out, Now: func() time.Time { return noon }}
	hold := snapshot.Hold{Reason: reason.Plain("10 failures in a row"), Until: noon.Add(140 * time.Second)}
	constrained := snapshot.Hold{
		Reason:      reason.Of(reason.OffersEmpty{}),
		Until:       noon.Add(140 * time.Second),
		Constrained: true,
	}
	cooldown := reason.Of(reason.Cooldown{Excess: 1, Desired: 2, Cooldown: reason.Duration(time.Minute)})
	for _, one := range []struct {
		hold snapshot.Hold
		wait reason.Detail
	}{
		{hold, reason.HeldBack{Because: hold.Reason, NextTry: reason.At(hold.Until)}},
		{constrained, reason.NoOffer{Missing: 1, Because: constrained.Reason, NextTry: reason.At(hold.Until)}},
	} {
		f := view.Fleet{
			Address: "fleet.demo",
			Hold:    &one.hold,
			Next:    noon.Add(280 * time.Second),
			Waiting: []reason.Reason{reason.Of(one.wait), cooldown},
		}
		out.Reset()
		a.holdsAndWaits(f)
		want := "\nWaiting\n  no starts: " + one.hold.Reason.Text() + "; next try in 2m20s\n  cooldown  " + cooldown.Text() +
			"\n"
		if out.String() != want {
			t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
		}
		out.Reset()
		if a.expectedWaits(f); out.String() != "  "+cooldown.Text()+". Next check in 2m20s.\n" {
			t.Errorf("the status says %s", out.String())
		}
	}
}

// Without a manager the scheduler isn't read, and three busy runners were "idle 3".
func TestBusyIsUnknownWithoutAManager(t *testing.T) {
	var out bytes.Buffer
	a := Page{Out: &out, Now: func() time.Time { return noon }}
	f := view.Fleet{Address: "fleet.demo", Scheduler: "forgeyard.ci", Counts: planner.Counts{Ready: 3, Idle: 3}}
	for _, show := range []func(view.Fleet, string){a.Explanation, a.fleet} {
		for _, test := range []struct {
			scheduler fleet.SchedulerAddress
			manager   string
			known     bool
		}{{"forgeyard.ci", "", false}, {"forgeyard.ci", "process 7", true}, {"", "", true}} {
			out.Reset()
			f.Scheduler = test.scheduler
			show(f, test.manager)
			if strings.Contains(out.String(), "busy 0, idle 3") != test.known ||
				strings.Contains(out.String(), "(busy and idle unknown without a running manager)") == test.known {
				t.Errorf("%+v: it says\n%s", test, out.String())
			}
		}
	}
}

func TestLeasesAreShownWhereKnown(t *testing.T) {
	a := Page{Now: func() time.Time { return noon }}
	none, two := 0, 2
	for want, at := range map[string]*view.Scheduling{
		"-": nil, "2": {Leases: &two}, "0": {Leases: &none},
		"0 for 5s": {Leases: &none, IdleSince: noon.Add(-5 * time.Second)},
	} {
		if got := a.leases(view.Instance{Scheduling: at}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestProgressShowsASchedulersOutageAndRecovery(t *testing.T) {
	var out bytes.Buffer
	p := (Page{Out: &out, Terminal: false, Now: func() time.Time { return noon }}).NewProgressLines()
	unseen := progress.Progress{
		Schedulers: map[fleet.SchedulerAddress]reason.Reason{
			"forgeyard.ci": reason.Of(reason.SchedulerError{Message: "connection refused"}),
		},
	}
	p.Observe(unseen)
	p.Observe(unseen)
	p.Observe(progress.Progress{})
	p.End()
	want := "    0s  scheduler.forgeyard.ci is unobservable: connection refused\n    0s  scheduler.forgeyard.ci " +
		"recovered\n"
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
	}
}
