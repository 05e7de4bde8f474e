package orders

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestACostOverrideIsValidatedAgainstTheFile(t *testing.T) {
	usd := func(micros int64) fleet.Money { return fleet.Money{Micros: micros, Currency: "USD"} }
	file := fleet.ManagedFleet{
		Operational: fleet.FleetActive,
		RunnerFleet: fleet.RunnerFleet{Address: "fleet.demo", Cost: fleet.CostPolicy{Hourly: usd(1), MaxHourly: usd(500)}},
	}
	free, joined, removed := file, file, file
	free.Cost.MaxHourly = fleet.Money{}
	joined.Joined, removed.Operational = true, fleet.FleetDraining
	for _, test := range []struct {
		name          string
		fleet         fleet.ManagedFleet
		hourly, daily fleet.Money
		reason        string
		want          string
	}{
		{"more", file, usd(501), fleet.Money{}, "x", ""},
		{"all of it", file, fleet.Money{}, fleet.Money{}, "x", ""},
		{"as much", file, usd(500), fleet.Money{}, "x", "isn't higher than the file's 0.0005 USD"},
		{"another currency", file, fleet.Money{Micros: 900, Currency: "EUR"}, fleet.Money{}, "x",
			"amounts in EUR aren't converted"},
		{"what the file doesn't limit", file, fleet.Money{}, usd(900), "x", "sets no max_daily"},
		{"a file without limits", free, fleet.Money{}, fleet.Money{}, "x", "neither max_hourly nor max_daily"},
		{"hosts that a person joins", joined, fleet.Money{}, fleet.Money{}, "x", "joined manually"},
		{"a fleet that is removed", removed, fleet.Money{}, fleet.Money{}, "x", "being removed"},
		{"no reason", file, fleet.Money{}, fleet.Money{}, " ", "a reason is required"},
	} {
		got := costsProblem(
			test.fleet,
			fleet.CostOverride{
				MaxHourly:   test.hourly,
				MaxDaily:    test.daily,
				Attribution: fleet.Attribution{Reason: test.reason},
			},
		)
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
