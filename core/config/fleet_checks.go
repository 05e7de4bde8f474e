package config

import (
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
)

// checkFleet looks at what must fit together across the blocks of a fleet.
func (l *loader) checkFleet(block, scaling *body, f fleet.RunnerFleet) {
	if scaling == nil {
		return
	}
	if wait := f.Timeouts.Boot + f.Timeouts.Enroll; f.Scaling.MaxWait > 0 && wait > f.Scaling.MaxWait {
		l.warn(scaling.at("max_wait"), scaling.where, fmt.Sprintf("A host may take longer than max_wait: %s > %s", durationText(wait), durationText(f.Scaling.MaxWait)),
			"Where there is no host, a job waits for boot and enrollment, and timeouts allow them more. Shorten timeouts.boot and timeouts.enroll, raise max_wait, or keep a host with min = 1.")
	}
	l.checkForecast(block, f)
	if f.Protected {
		l.checkProtected(block, scaling, f)
	} else if f.Class.Signing {
		l.warn(block.at("capacity_class"), block.where, "A fleet that signs isn't protected",
			fmt.Sprintf("The class %q has signing = true. Hosts that hold signing keys shouldn't come and go with demand: write protected = true.", f.Class.Name))
	}
}

// checkForecast warns of a forecast of nothing: what jobs need is the scheduler's to
// say.
func (l *loader) checkForecast(block *body, f fleet.RunnerFleet) {
	if slices.Contains(forecast.Models(), f.Forecast) && !f.Protected && block.syntax.Attributes["scheduler"] == nil {
		l.warn(block.header, block.where, "forecast has no meaning without scheduler", "It is made from what the scheduler's jobs needed before. Write scheduler as well, or leave forecast out.")
	}
}

// checkProtected refuses what a protected fleet must not do [18].
func (l *loader) checkProtected(block, scaling *body, f fleet.RunnerFleet) {
	const why = "A protected fleet signs: its hosts neither come and go with demand nor belong to somebody else. "
	if f.Lifetime == fleet.LifetimePreemptible {
		l.fail(block.at("lifetime_class"), block.where, "A protected fleet can't be preemptible", why+"Write lifetime_class = \"stable\", or leave protected out.")
	}
	if f.Scaling.ScaleToZero {
		l.fail(scaling.at("scale_to_zero"), block.where, "A protected fleet can't go to zero", why+"Write min = 1, or leave protected out.")
	}
	if len(f.Scaling.Schedules) > 0 {
		l.fail(scaling.header, block.where, "A protected fleet can't have schedules", why+"Remove the schedule, or leave protected out.")
	}
	if f.Forecast != (fleet.Forecast{}) {
		l.fail(block.header, block.where, "A protected fleet can't follow a forecast", why+"Remove the forecast, or leave protected out.")
	}
}

// checkSpread warns where a class is spread over providers and all that is spread is
// at one.
func (l *loader) checkSpread() {
	type spread struct {
		class     fleet.CapacityClassID
		scheduler fleet.SchedulerAddress
	}
	var order []spread
	over := map[spread][]fleet.RunnerFleet{}
	for _, f := range l.definition.Fleets {
		if f.Placement.Spread == fleet.SpreadProvider {
			key := spread{f.Class.ID(), f.Scheduler}
			if over[key] == nil {
				order = append(order, key)
			}
			over[key] = append(over[key], f)
		}
	}
	for _, key := range order {
		first := over[key][0]
		if slices.ContainsFunc(over[key], func(f fleet.RunnerFleet) bool { return f.Provider != first.Provider }) {
			continue
		}
		block := l.fleetBlocks[first.Address]
		l.warn(block.within("placement.spread"), block.where, "There is nothing to spread over: only one provider is named",
			fmt.Sprintf("Spread over providers is over the fleets of a class and a scheduler that say so, and those of the class %q are all at %s. Write it in a fleet at another provider, too, or leave it out.", first.Class.Name, first.Provider))
	}
}

// checkCurrencies: costs are compared among the fleets of a class, and nothing
// converts currencies.
func (l *loader) checkCurrencies() {
	type seen struct {
		currency string
		by       fleet.FleetAddress
	}
	first := map[fleet.CapacityClassID]seen{}
	ids := map[string]fleet.CapacityClassID{}
	for _, f := range l.definition.Fleets {
		money := f.Cost.Hourly
		for _, other := range []fleet.Money{f.Cost.MaxHourly, f.Cost.MaxDaily} {
			if money.IsZero() {
				money = other
			}
		}
		if money.IsZero() {
			continue
		}
		id, known := ids[f.Class.Name]
		if !known {
			id = f.Class.ID()
			ids[f.Class.Name] = id
		}
		before, found := first[id]
		if !found {
			first[id] = seen{money.Currency, f.Address}
			continue
		}
		if before.currency != money.Currency {
			block := l.fleetBlocks[f.Address]
			l.fail(block.header, block.where, fmt.Sprintf("Two currencies in one class: %s and %s", before.currency, money.Currency),
				fmt.Sprintf("The class %q also has %s, and nothing converts between currencies. Write all costs in one.", f.Class.Name, before.by))
		}
	}
}
