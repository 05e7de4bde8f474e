package planner

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// forecastOf is what the model of a fleet says; false: it has none, or there is
// nothing to be said. A protected fleet has the size of its file, and what a person
// brings no model does.
func (in *planning) forecastOf(f fleet.ManagedFleet) (p forecast.Prediction, has bool) {
	if f.Forecast == (fleet.Forecast{}) || f.Scheduler == "" || f.Protected || f.Joined ||
		f.Operational == fleet.FleetDraining {
		return p, false
	}
	if p = in.Forecasts[f.ID]; p.Forecast != f.Forecast {
		p = forecast.Prediction{Forecast: f.Forecast, NoEffect: reason.Of(reason.ForecastNotMade{})}
	}
	return p, true
}

// expect is the link of the chain that raises n to what will be needed soon. It is
// advice (spec §120): it never asks for fewer than demand and warm do, and the bounds
// after it hold. Idle runners that are kept warm are among what will be needed,
// since they are what it will be needed from.
func (in *planning) expect(f fleet.ManagedFleet, n int, bound addBound) {
	p, has := in.forecastOf(f)
	switch model := p.ReasonModel(); {
	case !has:
	case !p.NoEffect.IsZero():
		bound("forecast", n, reason.ForecastUnused{Because: p.NoEffect, Model: model})
	default:
		bound(
			"forecast",
			max(n, p.Runners),
			reason.ForecastNeeds{Runners: p.Runners, By: reason.At(p.Until), Covered: p.Runners <= n, Model: model},
		)
	}
}

// noteForecast notes in the plan what is needed, and what will be.
func (p *FleetPlan) noteForecast(in *planning, f fleet.ManagedFleet, s *supply) {
	if s != nil {
		needed := s.needed()
		p.Needed = &needed
	}
	if prediction, has := in.forecastOf(f); has {
		p.Forecast = &prediction
	}
}

// needed is how many instances jobs run on or wait for, those included that can't be
// made now. One that takes no jobs is none of them.
func (s *supply) needed() int {
	n := s.fresh + s.short
	for _, b := range s.there {
		if b.used {
			n++
		}
	}
	return n
}
