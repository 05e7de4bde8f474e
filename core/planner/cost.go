package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// CostReport is what a fleet costs, as far as prices are known: an estimate that
// capacity is held back by, and no bill (spec §186, §187, §234).
type CostReport struct {
	// Hourly is what an hour of everything costs that isn't proven gone, and Then
	// what it costs once what starts now is there, both at most.
	Hourly fleet.Money `json:"hourly,omitzero"`
	Then   fleet.Money `json:"then,omitzero"`
	// Unpriced counts the instances of which no one says what they cost; they are in
	// none of the sums.
	Unpriced int `json:"unpriced,omitempty"`
	// Today is what the day in UTC has cost, and Whole what it costs if everything
	// that is there runs on until DayEnds.
	Today   fleet.Money `json:"today,omitzero"`
	Whole   fleet.Money `json:"whole_day,omitzero"`
	DayEnds time.Time   `json:"day_ends"`
	// MaxHourly and MaxDaily are the guardrails that hold now; zero: none.
	MaxHourly fleet.Money `json:"max_hourly,omitzero"`
	MaxDaily  fleet.Money `json:"max_daily,omitzero"`
	// Binds says that a guardrail keeps the fleet from what it would start.
	Binds bool `json:"binds,omitempty"`
}

// guardCost is the last clamp on what a fleet should have. It never makes that less
// than what is there, or could be had back: guardrails end nothing.
func (p *FleetPlan) guardCost(in *planning, f fleet.ManagedFleet, s *supply) {
	budget := in.budgets[f.ID]
	p.Cost = budget.report()
	if f.Joined || f.Operational == fleet.FleetFrozen || f.Operational == fleet.FleetDraining {
		return
	}
	if budget != nil && budget.unasked && budget.limited() && p.Desired > p.Counts.Capacity {
		p.wait(reason.PricesNotAsked{Limit: budget.first()})
	}
	room, why := budget.room()
	allowed := p.Counts.Capacity + room
	if s != nil {
		for _, b := range s.there {
			if b.returns {
				allowed++
			}
		}
	}
	if p.Desired <= allowed {
		return
	}
	p.wait(why(p.Desired - allowed))
	p.Desired, p.Cost.Binds = allowed, true
	p.Bounds = append(p.Bounds, fleet.Bound{Name: "cost_guardrail", After: allowed, Reason: reason.Of(why(0))})
}

// report is nil where no one says what the fleet costs, and nothing limits it.
func (p *costBudget) report() *CostReport {
	if p == nil || p.running.Currency == "" && p.whole.Currency == "" {
		return nil
	}
	return &CostReport{
		Hourly:    p.running,
		Then:      p.running,
		Unpriced:  p.unpriced,
		Today:     p.today,
		Whole:     p.whole,
		DayEnds:   p.dayEnds,
		MaxHourly: p.maxHourly,
		MaxDaily:  p.maxDaily,
	}
}

// costTimes are when what the guardrails allow changes by time alone.
func costTimes(in *planning, f fleet.ManagedFleet) (times []time.Time) {
	p := in.budgets[f.ID]
	if p == nil {
		return nil
	}
	if p.isOverridden {
		times = append(times, p.override.Until)
	}
	if !p.maxDaily.IsZero() {
		times = append(times, p.dayEnds)
		if p.unheld.IsZero() && p.best.Hourly.Currency != "" {
			times = append(times, p.moreFrom())
		}
	}
	return times
}

// costOverrideOf is who raised the guardrails of a fleet, and to what.
func costOverrideOf(f fleet.ManagedFleet, o fleet.CostOverride) reason.CostOverrideInForce {
	hourly, daily := o.Limits(f.Cost)
	return reason.CostOverrideInForce{
		Fleet:     f.Address.Name(),
		MaxHourly: amount(hourly),
		MaxDaily:  amount(daily),
		Decided:   until(o.Attribution, o.Until),
	}
}

// amount is money as a reason has it; "": none.
func amount(m fleet.Money) string {
	if m.IsZero() {
		return ""
	}
	return m.String()
}

// payFor notes what the fleet costs with its requests, and says so where the offers
// that were left are too dear.
func (p *FleetPlan) payFor(in *planning, f fleet.ManagedFleet, create int) (bound bool) {
	budget := in.budgets[f.ID]
	if p.Cost != nil {
		p.Cost.Then = budget.running
	}
	if left := create - len(p.Requests); left > 0 && budget.limited() {
		if room, why := budget.room(); room < left {
			p.waitOnce(why(left))
			bound = true
		}
	}
	return bound
}
