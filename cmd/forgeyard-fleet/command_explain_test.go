package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

func TestExplainShowsLimitsDemandAndWaits(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out, now: func() time.Time { return noon }}
	f := view.Fleet{
		Address: "fleet.demo", Scheduler: "forgeyard.ci", Desired: 2, Counts: planner.Counts{Capacity: 1, Ready: 1, Busy: 1},
		Bounds: []fleet.Bound{{Name: "demand", After: 5, Sentence: "5 jobs wait."}, {Name: "max", After: 2, Sentence: "Never more than max = 2."}},
		Unplaced: []planner.UnplacedDemand{{Code: planner.NoEligibleFleet, Sentence: "1 job waits that no fleet can run.",
			Nearest: []planner.NearMiss{{Fleet: "fleet.demo", Reason: "it has no gpu"}}}},
		Hold:      &snapshot.Hold{Reason: "3 failures in a row", Until: noon.Add(time.Minute)},
		Waiting:   []planner.Wait{{Code: planner.CoolsDown, Sentence: "It changed its size."}},
		Next:      noon.Add(30 * time.Second),
		Decisions: []view.LastDecision{{At: noon.Local(), Kind: fleet.ScaleUp, Reason: "2 wanted."}},
	}
	a.renderExplanation(f, "process 7")
	want := `fleet.demo has 1 instance of 2 desired: 1 ready (busy 1, idle 0), 0 starting.

Why 2
  demand   → 5  5 jobs wait.
  max      → 2  Never more than max = 2.

Demand comes from scheduler.forgeyard.ci.

Blocked demand
  no_eligible_fleet  1 job waits that no fleet can run.
    fleet.demo: it has no gpu

Waiting
  no starts: 3 failures in a row. The next try is in 1m0s.
  cooldown  It changed its size.
  Next check in 30s.

Recent decisions, newest first
  ` + moment(noon) + `  scale_up    2 wanted.
`
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
	}
	for _, tt := range []struct{ unseen, manager, want string }{
		{"connection refused", "process 7", "which is unobservable: connection refused."},
		{"", "", "it isn't read while no manager is running."},
	} {
		out.Reset()
		f.Unseen = tt.unseen
		if a.renderExplanation(f, tt.manager); !strings.Contains(out.String(), tt.want) {
			t.Errorf("it says\n%s\nwithout %q", out.String(), tt.want)
		}
	}
}

// The hold appeared a second time as a wait, with a later next check.
func TestExplainShowsAHoldOnceWithItsEnd(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out, now: func() time.Time { return noon }}
	hold := snapshot.Hold{Reason: "10 failures in a row", Until: noon.Add(140 * time.Second)}
	constrained := snapshot.Hold{Reason: "No room in any of its offers", Until: noon.Add(140 * time.Second), Constrained: true}
	for code, h := range map[planner.WaitCode]snapshot.Hold{planner.HeldBack: hold, planner.NoOffer: constrained} {
		f := view.Fleet{Address: "fleet.demo", Hold: &h, Next: noon.Add(280 * time.Second), Waiting: []planner.Wait{
			{Code: code, Sentence: planner.HoldSentence(h, noon)}, {Code: planner.CoolsDown, Sentence: "It changed its size."},
		}}
		out.Reset()
		a.renderHoldsAndWaits(f)
		want := "\nWaiting\n  no starts: " + h.Reason + ". The next try is in 2m20s.\n  cooldown  It changed its size.\n"
		if out.String() != want {
			t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
		}
		out.Reset()
		if a.renderCalmWaits(f); out.String() != "  It changed its size. Next check in 2m20s.\n" {
			t.Errorf("the status says %s", out.String())
		}
	}
}

// Without a manager the scheduler isn't read, and three busy runners were "idle 3".
func TestBusyIsUnknownWithoutAManager(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out, now: func() time.Time { return noon }}
	f := view.Fleet{Address: "fleet.demo", Scheduler: "forgeyard.ci", Counts: planner.Counts{Ready: 3, Idle: 3}}
	for _, show := range []func(view.Fleet, string){a.renderExplanation, a.renderFleet} {
		for _, test := range []struct {
			scheduler fleet.SchedulerAddress
			manager   string
			known     bool
		}{{"forgeyard.ci", "", false}, {"forgeyard.ci", "process 7", true}, {"", "", true}} {
			out.Reset()
			f.Scheduler = test.scheduler
			show(f, test.manager)
			if strings.Contains(out.String(), "busy 0, idle 3") != test.known || strings.Contains(out.String(), "(busy and idle unknown without a running manager)") == test.known {
				t.Errorf("%+v: it says\n%s", test, out.String())
			}
		}
	}
}

func TestLeasesAreShownWhereKnown(t *testing.T) {
	a := &app{now: func() time.Time { return noon }}
	none, two := 0, 2
	for want, at := range map[string]*view.Scheduling{
		"-": nil, "2": {Leases: &two}, "0": {Leases: &none}, "0 for 5s": {Leases: &none, IdleSince: noon.Add(-5 * time.Second)},
	} {
		if got := a.leases(view.Instance{Scheduling: at}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestProgressShowsASchedulersOutageAndRecovery(t *testing.T) {
	var out bytes.Buffer
	p := (&app{out: &out, outTerminal: false, now: func() time.Time { return noon }}).newProgress()
	blind := control.Progress{Schedulers: map[fleet.SchedulerAddress]string{"forgeyard.ci": "connection refused"}}
	p.observe(blind)
	p.observe(blind)
	p.observe(control.Progress{})
	p.end()
	want := "    0s  scheduler.forgeyard.ci is unobservable: connection refused\n    0s  scheduler.forgeyard.ci recovered\n"
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
	}
}
