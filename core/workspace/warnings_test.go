package workspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestAForecastOfHostsThatAPersonJoinsIsWarnedOf(t *testing.T) {
	model := fleet.Forecast{Model: "seasonal-naive", Version: 1}
	found := warnUnusedForecast(fleet.Definition{Fleets: []fleet.RunnerFleet{
		{Address: "fleet.joined", Provider: "manual.rack", Joined: true, Forecast: model},
		{Address: "fleet.made", Provider: "local.here", Forecast: model},
		{Address: "fleet.plain", Provider: "manual.rack", Joined: true},
	}})
	want := config.Diagnostics{
		{
			Severity: config.Warning,
			Block:    "fleet.joined",
			Summary:  "The forecast of fleet.joined has no effect",
			Detail: "A person joins the hosts of provider.manual.rack, and a forecast can't make them come. Remove the " +
				"forecast block, or give the fleet a provider that makes hosts.",
		},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}
