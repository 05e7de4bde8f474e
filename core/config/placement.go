package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/suggestion"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
)

// withOffers are the paths of what has an effect only where the provider's plugin
// lists offers to choose from, or where it isn't about offers.
func withOffers(block *body, f fleet.RunnerFleet) []string {
	effective := []string{}
	if f.Market {
		effective = []string{"fleet.placement.zones", "fleet.placement.spread", "fleet.lifetime_class"}
	} else if f.Placement.Spread == fleet.SpreadProvider || f.Placement.Spread == fleet.SpreadNone {
		effective = []string{"fleet.placement.spread"}
	}
	return effective
}

// checkPlacement looks at where instances may be (spec §114, §115).
func checkPlacement(b *body, p *placementBlock) {
	if p.Required && p.Spread == fleet.SpreadNone {
		b.Warn(b.at("required"), b.where, "required has no effect without spread",
			"It makes the spread a rule. Write spread = \"zone\", \"region\" or \"provider\" as well, or leave it out.")
	}
	if p.Required &&
		(p.Spread == fleet.SpreadZone && len(p.Zones) == 1 || p.Spread == fleet.SpreadRegion && len(p.Regions) == 1) {
		b.Fail(b.at("required"), b.where, fmt.Sprintf("Nothing to spread over: only one %s is allowed", p.Spread),
			"List more than one, or leave required out.")
	}
}

// checkRollout looks at how instances are replaced (spec §66).
func checkRollout(b *body, r *rolloutBlock) {
	if r.Surge == 0 && r.Unavailable == 0 {
		b.Fail(b.at("surge"), b.where, "A rollout with surge = 0 and unavailable = 0 can't begin",
			"To replace an instance, the fleet must have one more than wanted for a while (surge), or one fewer (unavailable).")
	}
}

// checkCost looks at what an instance costs and what may be spent (spec §105, §233).
func checkCost(b *body, c *costBlock, of fleet.RunnerFleet) {
	currency := ""
	for _, one := range []struct {
		name   string
		amount fleet.Money
	}{{"hourly", c.Hourly}, {"max_hourly", c.MaxHourly}, {"max_daily", c.MaxDaily}} {
		switch {
		case one.amount.IsZero():
		case currency == "":
			currency = one.amount.Currency
		case one.amount.Currency != currency:
			b.Fail(b.at(one.name), b.where, fmt.Sprintf("Two currencies in one fleet: %s and %s", currency, one.amount.Currency),
				"Amounts aren't converted. Write all of them in one currency.")
		}
	}
	if !c.MaxHourly.IsZero() && c.MaxHourly.Currency == c.Hourly.Currency && c.MaxHourly.Micros < c.Hourly.Micros {
		b.Warn(b.at("max_hourly"), b.where, "max_hourly doesn't pay for one instance",
			fmt.Sprintf("One costs %s an hour, and max_hourly is %s.", c.Hourly, c.MaxHourly))
	}
	checkGuardrails(b, c, of)
}

// checkGuardrails looks whether the limits of a cost block can be held.
func checkGuardrails(b *body, c *costBlock, of fleet.RunnerFleet) {
	for _, one := range []struct {
		name   string
		amount fleet.Money
	}{{"max_hourly", c.MaxHourly}, {"max_daily", c.MaxDaily}} {
		switch {
		case one.amount.IsZero():
		case of.Joined:
			b.Warn(b.at(one.name), b.where, one.name+" has no effect where instances are joined manually",
				"It keeps the manager from creating instances, and it creates none here.")
			return
		case c.Hourly.IsZero() && !of.Market && of.Instance != nil: // else its plugin isn't installed yet, and may quote some
			b.Fail(b.at(one.name), b.where, one.name+" needs a price",
				"The provider quotes no prices. Write what an instance costs an hour, such as hourly = \"0.192 USD\".")
			return
		}
	}
}

// checkModel looks whether a forecast names a model and a version of it that
// exist (spec §250, §251).
func checkModel(b *body, f *forecastBlock) {
	var names, versions []string
	for _, m := range forecast.Models() {
		names = append(names, m.Model)
		if m.Model == f.Model {
			versions = append(versions, fmt.Sprintf("version = %d", m.Version))
		}
	}
	switch {
	case !b.given("model"):
	case len(versions) == 0:
		b.Fail(
			b.at("model"),
			b.where,
			fmt.Sprintf("Unknown forecast model %q", diagnostic.Clip(f.Model)),
			suggestion.For(f.Model, "models", names),
		)
	case b.given("version") && !slices.Contains(forecast.Models(), fleet.Forecast(*f)):
		b.Fail(b.at("version"), b.where, fmt.Sprintf("Unknown version %d of the model %q", f.Version, f.Model),
			fmt.Sprintf("Valid: %s.", strings.Join(versions, ", ")))
	}
}
