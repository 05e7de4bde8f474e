package main

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

func TestCostsAreShownAsAnEstimateBesideTheirLimits(t *testing.T) {
	usd := func(micros int64) fleet.Money { return fleet.Money{Micros: micros, Currency: "USD"} }
	for want, c := range map[string]*planner.CostReport{
		"": nil,
		"  costs about 0.384 USD an hour at most\n":                                                                         {Hourly: usd(384_000), Then: usd(384_000), Today: usd(0), Whole: usd(0)},
		"  costs nothing yet; about 0.384 USD an hour at most once what starts now is there, of max_hourly 5 USD\n":         {Hourly: usd(0), Then: usd(384_000), MaxHourly: usd(5_000_000)},
		"  costs about 0.192 USD an hour at most now, about 0.384 USD once what starts now is there, of max_hourly 5 USD\n": {Hourly: usd(192_000), Then: usd(384_000), MaxHourly: usd(5_000_000)},
		"  costs about 0.384 USD an hour at most; today (UTC) 1.24 USD so far, 9.01 USD if all runs on, of max_daily 60 USD; 2 instances without a known price not counted\n": {
			Hourly: usd(384_000), Then: usd(384_000), Today: usd(1_234_567), Whole: usd(9_000_001), MaxDaily: usd(60_000_000), Unpriced: 2},
	} {
		var out strings.Builder
		(&app{out: &out}).renderCost("  ", c)
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
