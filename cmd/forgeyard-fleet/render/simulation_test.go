package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/replay"
)

// morning is a replay with a burst in its middle.
func morning() *replay.Result {
	begin := time.Date(2026, 10, 5, 8, 0, 0, 0, time.UTC)
	r := &replay.Result{
		Begin:      begin,
		End:        begin.Add(8 * time.Minute),
		Jobs:       1200,
		Ran:        1198,
		Unrunnable: 2,
		Unplaced: []planner.UnplacedDemand{{Reason: reason.Of(reason.NoEligibleFleet{Jobs: 2, Nearest: "fleet.a",
			Because: reason.Of(reason.RequirementDiffers{Attribute: "os", Required: "darwin", Has: "linux"})})}},
		Wait: replay.Wait{P50: 0, P95: 93, P99: 97, Max: 7300, Mean: 12.34, Waited: 0.25},
		Total: replay.Use{
			Jobs:                     1198,
			Launches:                 40,
			Relaunches:               4,
			MostHosts:                12,
			InstanceHours:            100,
			BusyHours:                80,
			Utilisation:              0.625,
			InstanceHoursPerBusyHour: 1.25,
			LaunchesPerJob:           0.0334,
			RelaunchesPerJob:         0.0033,
		},
		Costs:         []fleet.Money{{Micros: 19_200_000, Currency: "USD"}},
		MomentSeconds: 60,
	}
	r.Fleets = []replay.FleetResult{{Fleet: "fleet.a", Use: r.Total, Cost: &r.Costs[0]}}
	for _, n := range []int{0, 0, 2, 12, 6, 0, 0, 0} {
		r.Moments = append(r.Moments, replay.Moment{Waiting: n, Hosts: float64(n) / 2, Busy: float64(n) / 4})
	}
	return r
}

func rendered(a Page, r *replay.Result) string {
	var out strings.Builder
	a.Out = &out
	a.replay(r)
	return out.String()
}

func TestAReplayIsShownPlainWhereThereIsNoTerminal(t *testing.T) {
	want := `1200 jobs from 2026-10-05 08:00:00 UTC to 2026-10-05 08:08:00 UTC.
! 2 of them: no fleet can run them.
    2 queued jobs that no fleet can run; the nearest is fleet.a: the jobs require os "darwin", and the class has "linux"

Waiting time for an instance: median 0.0 s, 95% 1.6 min, 99% 1.6 min, maximum 2.0 h, average 12.3 s; 25.0% of the jobs waited.

FLEET    JOBS   COST       INSTANCE HOURS  PER BUSY HOUR  UTILISED  LAUNCHES  PER JOB  RELAUNCHES PER JOB  MOST INSTANCES
fleet.a  1,198  19.20 USD  100.0           1.25           62.5%     40        0.033    0.003               12

Queued jobs
    12 |   #
       |   #
       |   #
       |   ##
       |   ##
     0 |  ###

Instances: busy, and above them idle
     6 |   .
       |   .
       |   .
       |   #.
       |   ##
     0 |  ###
        2026-10-05 08:00 2026-10-05 08:08 UTC
        each column is 1m0s
`
	if diff := cmp.Diff(want, rendered(Page{}, morning())); diff != "" {
		t.Error(diff)
	}
}

func TestColoursAndBlocksAreForTerminals(t *testing.T) {
	plain := rendered(Page{}, morning())
	blocks := rendered(Page{Terminal: true, Width: func() int { return 100 }}, morning())
	coloured := rendered(Page{Terminal: true, Color: true, Width: func() int { return 100 }}, morning())
	for _, one := range []struct {
		name, text      string
		blocks, colours bool
	}{{"no terminal", plain, false, false}, {"without colours", blocks, true, false},
		{"a terminal", coloured, true, true}} {
		if strings.Contains(one.text, "█") != one.blocks || strings.Contains(one.text, "\x1b[") != one.colours {
			t.Errorf(
				"%s: blocks %t, colours %t\n%s",
				one.name,
				strings.Contains(one.text, "█"),
				strings.Contains(one.text, "\x1b["),
				one.text,
			)
		}
	}
}

func TestAChartIsNoWiderThanItsTerminal(t *testing.T) {
	r := morning()
	for range 300 {
		r.Moments = append(r.Moments, replay.Moment{Waiting: 3, Hosts: 5, Busy: 2})
	}
	for _, width := range []int{40, 80, 133, 500} {
		a := Page{
			Terminal: true,
			Width:    func() int { return width },
		}
		widest := 0
		for line := range strings.Lines(rendered(a, r)) {
			if strings.ContainsAny(line, "█░▁") {
				widest = max(widest, len([]rune(strings.TrimRight(line, "\n"))))
			}
		}
		if want := min(width, widestChart+axisWidth); widest > width || widest < want-2 {
			t.Errorf("at %d columns the widest line has %d", width, widest)
		}
	}
}

func TestAComparisonSaysWhichIsBetterOnWhat(t *testing.T) {
	other := morning()
	other.Wait.P95, other.Total.Utilisation, other.Total.MostHosts = 46.5, 0.5, 20
	other.Costs = []fleet.Money{{Micros: 24_000_000, Currency: "USD"}}
	var out strings.Builder
	(Page{Out: &out}).comparison(Simulated{"before", morning()}, Simulated{"after", other})
	for _, want := range []string{
		"wait, 95%                     1.6 min    46.5 s     -50.0%      after\n",
		"cost                          19.20 USD  24.00 USD  +25.0%      before\n",
		"utilised                      62.5%      50.0%      -20.0%      before\n",
		"most instances at once        12         20         +66.7%      \n",
		"wait, 99%                     1.6 min    1.6 min                the same\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, out.String())
		}
	}
}

func TestCostsThatCannotBeComparedAreNot(t *testing.T) {
	other := morning()
	other.Costs, other.Unpriced = nil, []fleet.FleetAddress{"fleet.a"}
	other.Fleets[0].Cost = nil
	var out strings.Builder
	(Page{Out: &out}).comparison(Simulated{"before", morning()}, Simulated{"after", other})
	if text := out.String(); strings.Contains(text, "\ncost ") ||
		!strings.Contains(text, "The costs can't be compared: 19.20 USD and unknown.") {
		t.Error(text)
	}
	if text := rendered(Page{}, other); !strings.Contains(text, "unknown") {
		t.Error(text)
	}
}
