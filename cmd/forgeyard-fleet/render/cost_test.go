package render

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

func TestCostsAreShownAsAnEstimateBesideTheirLimits(t *testing.T) {
	usd := func(micros int64) fleet.Money { return fleet.Money{Micros: micros, Currency: "USD"} }
	for want, c := range map[string]*planner.CostReport{
		"  estimated cost: 0 USD per hour (max_hourly = 5 USD)\n": {MaxHourly: usd(5_000_000)},
		"": {},
		"  estimated cost: up to 0.384 USD per hour\n": {
			Hourly: usd(384_000), Then: usd(384_000), Today: usd(0), Whole: usd(0)},
		"  estimated cost: up to 0 USD per hour now, up to 0.384 USD once the new instances run (max_hourly = 5 USD)\n": {
			Hourly: usd(0), Then: usd(384_000), MaxHourly: usd(5_000_000)},
		"  estimated cost: up to 0.192 USD per hour now, up to 0.384 USD once the new instances run (max_hourly = 5 USD)\n": {
			Hourly: usd(192_000), Then: usd(384_000), MaxHourly: usd(5_000_000)},
		"  estimated cost: up to 0.384 USD per hour; today (UTC) 1.24 USD so far, 9.01 USD if all instances keep running " +
			"(max_daily = 60 USD); 2 instances without a known price not included\n": {
			Hourly: usd(384_000), Then: usd(384_000), Today: usd(1_234_567), Whole: usd(9_000_001), MaxDaily: usd(60_000_000),
			Unpriced: 2},
	} {
		var out strings.Builder
		(Page{Out: &out}).cost("  ", c)
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
