package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
)

// policies reads the blocks of a fleet that say where, for whom, how and at what
// price.
func (b *body) policies(result *fleet.RunnerFleet) {
	if scope := b.single("scope"); scope != nil {
		result.Scope = scope.fleetScope()
	}
	var chosen []string
	if result.Market { // there are offers to choose from
		chosen = []string{"fleet.placement.zones", "fleet.placement.spread", "fleet.lifetime_class"}
	}
	b.takesEffect = chosen
	if placement := b.single("placement"); placement != nil {
		placement.takesEffect = slices.Clone(chosen)
		result.Placement = placement.placement()
	}
	if rollout := b.single("rollout"); rollout != nil {
		result.Rollout = rollout.rollout()
	}
	if cost := b.single("cost"); cost != nil {
		result.Cost = cost.cost(result)
	}
	if model := b.single("forecast"); model != nil {
		result.Forecast = model.forecast()
	}
}

// fleetScope is whose jobs a fleet runs [11].
func (b *body) fleetScope() fleet.FleetScope {
	var result fleet.FleetScope
	for name, target := range map[string]*string{"tenant": &result.Tenant, "project": &result.Project} {
		text, ok := b.text(name)
		if ok && text == "" {
			b.fail(b.at(name), b.where, fmt.Sprintf("%q is empty", name), fmt.Sprintf("Write the %s's name.", name))
		}
		*target = text
	}
	b.close()
	hasTenant, hasProject := b.syntax.Attributes["tenant"] != nil && !b.isNull("tenant"), b.syntax.Attributes["project"] != nil && !b.isNull("project")
	if hasTenant && hasProject {
		b.fail(b.header, b.where, "A scope has a tenant or a project", "A fleet belongs to one of them. Remove one.")
	}
	return result
}

// placement is where instances may be [114, 115].
func (b *body) placement() fleet.PlacementPolicy {
	result := fleet.PlacementPolicy{Spread: fleet.SpreadNone}
	result.Regions, _ = b.names("regions")
	result.Zones, _ = b.names("zones")
	if spread, ok := b.oneOf("spread", fleet.SpreadNone, fleet.SpreadZone, fleet.SpreadRegion, fleet.SpreadProvider); ok {
		result.Spread = spread
		if spread == fleet.SpreadProvider || spread == fleet.SpreadNone { // neither is about offers
			b.takesEffect = append(b.takesEffect, b.path+".spread")
		}
	}
	result.Required, _ = b.boolean("required")
	b.close()
	if result.Required && result.Spread == fleet.SpreadNone {
		b.warn(b.at("required"), b.where, "required has no meaning without spread", "It makes the spread a rule. Write spread = \"zone\", \"region\" or \"provider\" as well, or leave it out.")
	}
	if result.Required && (result.Spread == fleet.SpreadZone && len(result.Zones) == 1 || result.Spread == fleet.SpreadRegion && len(result.Regions) == 1) {
		b.fail(b.at("required"), b.where, fmt.Sprintf("There is nothing to spread over: only one %s is allowed", result.Spread),
			"List more than one, or leave required out.")
	}
	return result
}

// rollout says how instances are replaced [66].
func (b *body) rollout() fleet.RolloutPolicy {
	result := fleet.RunnerFleet{}.WithDefaults().Rollout
	for name, target := range map[string]*int{"canary": &result.Canary, "surge": &result.Surge, "unavailable": &result.Unavailable} {
		if number, ok := b.count(name, 0, maxCount); ok {
			*target = number
		}
	}
	if soak, ok := b.duration("soak", 0); ok {
		result.Soak = soak
	}
	b.close()
	if result.Surge == 0 && result.Unavailable == 0 {
		b.fail(b.at("surge"), b.where, "A rollout with surge = 0 and unavailable = 0 can't begin",
			"To replace an instance there must be one more than wanted for a while (surge), or one fewer (unavailable).")
	}
	return result
}

// cost is what an instance costs and what may be spent [105, 233].
func (b *body) cost(of *fleet.RunnerFleet) fleet.CostPolicy {
	var result fleet.CostPolicy
	result.Hourly, _ = b.money("hourly")
	result.Minimum, _ = b.duration("minimum", time.Second)
	result.BillingPeriod, _ = b.duration("billing_period", time.Second)
	result.MaxHourly, _ = b.money("max_hourly")
	result.MaxDaily, _ = b.money("max_daily")
	b.close()
	currency := ""
	for _, one := range []struct {
		name   string
		amount fleet.Money
	}{{"hourly", result.Hourly}, {"max_hourly", result.MaxHourly}, {"max_daily", result.MaxDaily}} {
		switch {
		case one.amount.IsZero():
		case currency == "":
			currency = one.amount.Currency
		case one.amount.Currency != currency:
			b.fail(b.at(one.name), b.where, fmt.Sprintf("Two currencies in one fleet: %s and %s", currency, one.amount.Currency),
				"Nothing converts between them. Write all amounts in one.")
		}
	}
	if !result.MaxHourly.IsZero() && result.MaxHourly.Currency == result.Hourly.Currency && result.MaxHourly.Micros < result.Hourly.Micros {
		b.warn(b.at("max_hourly"), b.where, "max_hourly doesn't pay for one instance",
			fmt.Sprintf("One costs %s an hour, and %s may be spent.", result.Hourly, result.MaxHourly))
	}
	b.guardrails(result, of)
	return result
}

// guardrails looks whether the limits of a cost block can be held.
func (b *body) guardrails(cost fleet.CostPolicy, of *fleet.RunnerFleet) {
	for _, one := range []struct {
		name   string
		amount fleet.Money
	}{{"max_hourly", cost.MaxHourly}, {"max_daily", cost.MaxDaily}} {
		switch {
		case one.amount.IsZero():
		case of.Joined:
			b.warn(b.at(one.name), b.where, one.name+" has no meaning where a person joins the hosts", "It keeps the manager from starting hosts, and it starts none here.")
			return
		case cost.Hourly.IsZero() && !of.Market && of.Instance != nil: // else its plugin isn't installed yet, and may quote some
			b.fail(b.at(one.name), b.where, one.name+" can't be held without a price",
				"The provider quotes no prices. Write what a host costs an hour, such as hourly = \"0.192 USD\".")
			return
		}
	}
}

// forecast names a model, and which version of it [250, 251].
func (b *body) forecast() fleet.Forecast {
	b.need("model", "model = \"seasonal-naive\"")
	b.need("version", "version = 1")
	var result fleet.Forecast
	var named bool
	if result.Model, named = b.text("model"); named {
		named = b.hasModel(result.Model)
	}
	version, given := b.count("version", 1, 65535)
	result.Version = version
	if named && given && !slices.Contains(forecast.Models(), result) {
		b.fail(b.at("version"), b.where, fmt.Sprintf("There is no version %d of the model %q", version, result.Model),
			fmt.Sprintf("There is: %s.", strings.Join(versionsOf(result.Model), ", ")))
	}
	b.close()
	return result
}

// hasModel says whether there is a model of the name, and fails where there isn't.
func (b *body) hasModel(name string) bool {
	var names []string
	for _, m := range forecast.Models() {
		names = append(names, m.Model)
	}
	if slices.Contains(names, name) {
		return true
	}
	b.fail(b.at("model"), b.where, fmt.Sprintf("There is no forecast model %q", clip(name)), didYouMean(name, names))
	return false
}

// versionsOf are those that there are of a model.
func versionsOf(name string) (versions []string) {
	for _, m := range forecast.Models() {
		if m.Model == name {
			versions = append(versions, fmt.Sprintf("version = %d", m.Version))
		}
	}
	return versions
}
