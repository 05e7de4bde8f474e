package config

import (
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
)

// checkFleet looks at what must fit together in and across the blocks of a fleet.
func (l *loader) checkFleet(block *body, written *fleetBlock, f fleet.RunnerFleet) {
	checkScope(block)
	for _, b := range block.inner["scaling"] {
		checkScaling(b, written.Scaling)
		checkWait(b, f)
	}
	for _, b := range block.inner["runner"] {
		checkRunner(b, written.Runner)
	}
	for _, b := range block.inner["placement"] {
		checkPlacement(b, written.Placement)
	}
	for _, b := range block.inner["rollout"] {
		checkRollout(b, written.Rollout)
	}
	for _, b := range block.inner["cost"] {
		checkCost(b, written.Cost, f)
	}
	for _, b := range block.inner["forecast"] {
		checkModel(b, written.Forecast)
	}
	l.checkForecast(block, f)
	l.checkAttested(block, f)
	if f.Protected {
		l.checkProtected(block, f)
	} else if f.Class.Signing {
		l.Warn(
			block.at("capacity_class"),
			block.where,
			"A fleet that signs isn't protected",
			fmt.Sprintf(
				"The class %q has signing = true. Instances that hold signing keys shouldn't come and go with demand: write "+
					"protected = true.",
				f.Class.Name,
			),
		)
	}
}

// checkForecast warns of a forecast of nothing: what jobs need is the scheduler's to
// say.
func (l *loader) checkForecast(block *body, f fleet.RunnerFleet) {
	if slices.Contains(forecast.Models(), f.Forecast) && !f.Protected && block.syntax.Attributes["scheduler"] == nil {
		l.Warn(
			block.header,
			block.where,
			"forecast has no effect without scheduler",
			"It is made from what the scheduler's jobs needed before. Write scheduler as well, or leave forecast out.",
		)
	}
}

// checkProtected refuses what a protected fleet must not do (spec §18).
func (l *loader) checkProtected(block *body, f fleet.RunnerFleet) {
	const why = "A protected fleet signs: its instances neither come and go with demand nor can be taken away. "
	if f.Lifetime == fleet.LifetimePreemptible {
		l.Fail(
			block.at("lifetime_class"),
			block.where,
			"A protected fleet can't be preemptible",
			why+"Write lifetime_class = \"stable\", or leave protected out.",
		)
	}
	if f.Scaling.ScaleToZero {
		l.Fail(
			block.within("scaling.scale_to_zero"),
			block.where,
			"A protected fleet can't go to zero",
			why+"Write min = 1, or leave protected out.",
		)
	}
	if len(f.Scaling.Schedules) > 0 {
		l.Fail(
			block.within("scaling"),
			block.where,
			"A protected fleet can't have schedules",
			why+"Remove the schedule, or leave protected out.",
		)
	}
	if f.Forecast != (fleet.Forecast{}) {
		l.Fail(
			block.header,
			block.where,
			"A protected fleet can't follow a forecast",
			why+"Remove the forecast, or leave protected out.",
		)
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
		l.Warn(
			block.within("placement.spread"),
			block.where,
			"Nothing to spread over: only one provider is named",
			fmt.Sprintf(
				"A spread over providers covers the fleets of one class and scheduler that ask for it, and those of the class %q "+
					"are all at %s. Write it in a fleet at another provider, too, or leave it out.",
				first.Class.Name,
				first.Provider,
			),
		)
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
			l.Fail(
				block.header,
				block.where,
				fmt.Sprintf("Two currencies in one class: %s and %s", before.currency, money.Currency),
				fmt.Sprintf(
					"The class %q is also used by %s, and amounts aren't converted. Write all costs in one currency.",
					f.Class.Name,
					before.by,
				),
			)
		}
	}
}
