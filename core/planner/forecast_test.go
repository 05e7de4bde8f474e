package planner

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

var naive = fleet.Forecast{Model: "seasonal-naive", Version: 1}

// expecting is a prediction that counts.
func expecting(runners int) forecast.Prediction {
	return forecast.Prediction{
		Forecast:   naive,
		Runners:    runners,
		Until:      now.Add(20 * time.Minute),
		Changes:    now.Add(5 * time.Minute),
		Season:     24 * time.Hour,
		Confidence: 0.93,
	}
}

func foreseeing(f fleet.ManagedFleet) fleet.ManagedFleet {
	f.Forecast = naive
	return f
}

func TestAForecastRaisesTheNumberAndSaysHowSureItIs(t *testing.T) {
	unsure, short := expecting(9), expecting(0)
	unsure.Confidence, unsure.NoEffect = 0.4, reason.Of(reason.ForecastInaccurate{})
	short.Season, short.Confidence, short.NoEffect = 0, 0, reason.Of(
		reason.ForecastTooEarly{Seen: reason.Duration(3 * time.Hour), Needs: reason.Duration(48 * time.Hour)},
	)
	other := expecting(9)
	other.Version = 2
	protected := foreseeing(burst(0, 10, 0))
	protected.Protected = true
	tests := []struct {
		name       string
		fleet      fleet.ManagedFleet
		prediction forecast.Prediction
		jobs       int
		want       string
		story      string
	}{
		{
			"more will be needed",
			foreseeing(burst(0, 10, 1)),
			expecting(6),
			4,
			"6 runners needed by 12:20 UTC (seasonal-naive version 1, confidence high, 0.93)",
			"create 6",
		},
		{
			"demand and warm ask for more already",
			foreseeing(burst(0, 10, 1)),
			expecting(1),
			4,
			"1 runner needed by 12:20 UTC, covered already (seasonal-naive version 1, confidence high, 0.93)",
			"create 3",
		},
		{
			"max holds",
			foreseeing(burst(0, 4, 0)),
			expecting(9),
			0,
			"9 runners needed by 12:20 UTC (seasonal-naive version 1, confidence high, 0.93)",
			"create 4",
		},
		{
			"its confidence is too low",
			foreseeing(burst(0, 10, 0)),
			unsure,
			4,
			"the forecast has no effect: it has been too inaccurate in the last days (seasonal-naive version 1, " +
				"confidence low, 0.40)",
			"create 2",
		},
		{
			"its history is too short",
			foreseeing(burst(0, 10, 0)),
			short,
			4,
			"the forecast has no effect: it has seen 3 hours of demand and needs 2 days (seasonal-naive version 1)",
			"create 2",
		},
		{
			"the one that is there is of another model",
			foreseeing(burst(0, 10, 0)),
			other,
			4,
			"the forecast has no effect: not made yet, a running manager makes it (seasonal-naive version 1)",
			"create 2",
		},
		{"the fleet asks for none", burst(0, 10, 0), expecting(6), 4, "", "create 2"},
		{"a protected fleet has none", protected, expecting(6), 0, "", "nothing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := input{
				Now:          now,
				Fleets:       []fleet.ManagedFleet{test.fleet},
				Demand:       demand(waiting(test.jobs)),
				AgentVersion: agentVersion,
				Forecasts:    map[fleet.RunnerFleetID]forecast.Prediction{"f1": test.prediction},
			}
			p := planInput(in).Fleets[0]
			said := ""
			for _, b := range p.Bounds {
				if b.Name == "forecast" {
					said = b.Reason.Text()
				}
			}
			if said != test.want {
				t.Errorf("it says %q,\nwant %q", said, test.want)
			}
			if got := story(p); got != test.story {
				t.Errorf("plan is %q, want %q", got, test.story)
			}
			if needed := test.jobs / 2; p.Needed == nil || *p.Needed != needed {
				t.Errorf("needed are %v, want %d whatever the forecast", p.Needed, needed)
			}
			if !p.Next.Equal(now.Add(5 * time.Minute)) {
				t.Errorf("the forecast changes at %s, and the plan at %s", now.Add(5*time.Minute), p.Next)
			}
		})
	}
}

func TestWhatIsNeededIsUnknownWhileTheSchedulerCannotBeSeen(t *testing.T) {
	in := input{
		Now:    now,
		Fleets: []fleet.ManagedFleet{foreseeing(burst(0, 10, 0))},
		Demand: map[fleet.SchedulerAddress]snapshot.Demand{
			ci: {Unobserved: reason.Of(reason.SchedulerError{Message: "timeout"})},
		},
		Forecasts: map[fleet.RunnerFleetID]forecast.Prediction{"f1": expecting(6)},
	}
	if p := planInput(in).Fleets[0]; p.Needed != nil || p.Desired != 0 {
		t.Errorf("needed are %v and %d wanted: %v", p.Needed, p.Desired, p.Bounds)
	}
}

func TestAForecastIsAdviceAndNeverBelowWhatDemandAsksFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := world(t)
		f := &in.Fleets[0]
		if rapid.IntRange(0, 4).Draw(t, "follows") > 0 {
			f.Scheduler = ci
			f.Class.Resources = fleet.ResourceCapacity{CPUMilli: 4000, MemoryBytes: 16 << 30, Slots: 2}
			in.Demand = demand(waiting(rapid.IntRange(0, 12).Draw(t, "jobs")))
		}
		f.Protected = rapid.IntRange(0, 4).Draw(t, "protected") == 0
		f.Forecast = naive
		p := expecting(rapid.IntRange(0, 1_000_000).Draw(t, "runners"))
		if rapid.Bool().Draw(t, "counts") {
			p.NoEffect = reason.Of(reason.ForecastInaccurate{})
		}
		reactive := planInput(in).Fleets[0]
		in.Forecasts = map[fleet.RunnerFleetID]forecast.Prediction{f.ID: p}
		advised := planInput(in).Fleets[0]
		switch {
		case advised.Desired < reactive.Desired:
			t.Fatalf("the forecast takes %d down to %d", reactive.Desired, advised.Desired)
		case advised.Desired > reactive.Desired &&
			(!p.NoEffect.IsZero() || f.Protected || advised.Desired > f.Scaling.Max || advised.Desired > p.Runners):
			t.Fatalf("the forecast %+v takes %d up to %d of at most %d", p, reactive.Desired, advised.Desired, f.Scaling.Max)
		case f.Operational == fleet.FleetFrozen && (advised.Create > 0 || len(advised.Actions) > 0):
			t.Fatalf("a frozen fleet acts: %s", story(advised))
		case advised.Create > 0 && advised.Counts.Footprint+advised.Create > f.Scaling.Max:
			t.Fatalf("footprint %d + %d new > max %d", advised.Counts.Footprint, advised.Create, f.Scaling.Max)
		}
	})
}
