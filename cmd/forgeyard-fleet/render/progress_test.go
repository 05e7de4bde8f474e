package render

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func lines(out *bytes.Buffer) []string {
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// A log that says nothing for minutes looks like a pipeline that hangs.
func TestAPipeGetsALineEvery30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := (Page{Out: &out, Now: time.Now}).NewProgressLines()
		time.Sleep(quietFor + time.Second)
		p.Observe(progress.Progress{
			At: time.Now(), States: map[fleet.CapacityInstanceState]int{fleet.Provisioning: 2}, Unresolved: 1,
			Holds:      map[fleet.RunnerFleetID]snapshot.Hold{"f1": {Reason: reason.Plain("3 failures in a row")}},
			Fleets:     map[fleet.RunnerFleetID]fleet.FleetAddress{"f1": "fleet.demo"},
			Unobserved: map[fleet.ProviderAddress]reason.Reason{"local.here": reason.Of(reason.PluginDown{Message: "it hangs"})},
		})
		time.Sleep(2*quietFor + 2*time.Second)
		p.End()
		got := lines(&out)
		want := []string{
			"   30s  waiting: the manager hasn't started yet",
			"   31s  demo held back: 3 failures in a row",
			"  1m1s  waiting: 2 provisioning, 1 unknown outcome; demo is held back: 3 failures in a row; provider.local.here " +
				"is unreachable (it hangs)",
			" 1m31s  waiting: 2 provisioning, 1 unknown outcome; demo is held back: 3 failures in a row; provider.local.here " +
				"is unreachable (it hangs)",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestATerminalIsNotReminded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := (Page{Out: &out, Terminal: true, Now: time.Now}).NewProgressLines()
		time.Sleep(10 * quietFor)
		p.End()
		if out.Len() > 0 {
			t.Errorf("it says %q", out.String())
		}
	})
}

func TestProgressShowsHeartbeatsStopAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := (Page{Out: &out, Now: time.Now}).NewProgressLines()
		silent := func(ids ...fleet.CapacityInstanceID) progress.Progress {
			res := progress.Progress{At: time.Now(), Silent: map[fleet.CapacityInstanceID]fleet.FleetAddress{}}
			for _, id := range ids {
				res.Silent[id] = "fleet.demo"
			}
			return res
		}
		p.Observe(silent("a", "b"))
		p.Observe(silent("a", "b"))
		ended := silent()
		ended.Transitions = []loop.Transition{
			{Instance: "b", Fleet: "fleet.demo", From: fleet.Terminating, To: fleet.Terminated, Reason: reason.Plain("Gone.")},
		}
		p.Observe(ended)
		p.Observe(silent())
		p.End()
		want := `    0s  demo a: heartbeats stopped
    0s  demo b: heartbeats stopped
    0s  demo b: terminating → terminated: Gone
    0s  demo a: heartbeats resumed
`
		if out.String() != want {
			t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
		}
	})
}

// After its end nothing tries: a time of the next try would be a promise that
// no one keeps.
func TestAStoppedApplyPromisesNoNextTry(t *testing.T) {
	var out bytes.Buffer
	(Page{Out: &out, Now: time.Now}).Outcome(progress.Outcome{Ending: progress.Stuck, Last: progress.Progress{
		Holds: map[fleet.RunnerFleetID]snapshot.Hold{
			"f1": {
				Reason:      reason.Plain("1 failure in a row. Last: no (INVALID)"),
				Until:       time.Now().Add(time.Hour),
				NeedsPerson: true,
			},
		},
		Fleets: map[fleet.RunnerFleetID]fleet.FleetAddress{"f1": "fleet.demo"},
	}}, time.Minute, false)
	if !strings.Contains(out.String(), "fleet.demo: 1 failure in a row. Last: no (INVALID)\n") ||
		strings.Contains(out.String(), "next try") {
		t.Errorf("it says\n%s", out.String())
	}
}

// A soak of minutes looks like an apply that hangs.
func TestRolloutIsShownAtEachStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := (Page{Out: &out, Now: time.Now}).NewProgressLines()
		at := func(stage planner.RolloutStage, sentence string) {
			p.Observe(progress.Progress{At: time.Now(), States: map[fleet.CapacityInstanceState]int{fleet.Healthy: 4},
				Rollouts: map[fleet.FleetAddress]planner.RolloutPlan{"fleet.demo": {Stage: stage, Reason: reason.Plain(sentence)}}})
		}
		at(planner.RolloutCanary, "0 of 1 canary healthy.")
		at(planner.RolloutCanary, "1 canary healthy for 0 of 15 minutes.")
		time.Sleep(quietFor + time.Second)
		at(planner.RolloutRolling, "3 of 4 left.")
		p.Observe(progress.Progress{At: time.Now()})
		p.End()
		got := lines(&out)
		want := []string{
			"    0s  demo: 0 of 1 canary healthy",
			"   30s  waiting: 4 healthy; demo: 1 canary healthy for 0 of 15 minutes",
			"   31s  demo: 3 of 4 left",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
