package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// CostReport is what a fleet costs, as far as prices are known: an estimate that
// capacity is held back by, and no bill [186, 187, 234].
type CostReport struct {
	// Hourly is what an hour of everything costs that isn't proven gone, and Then
	// what it costs once what starts now is there, both at most.
	Hourly fleet.Money `json:"hourly,omitzero"`
	Then   fleet.Money `json:"then,omitzero"`
	// Unpriced counts the instances of which nobody says what they cost; they are in
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
		p.wait(NotAsked, sentence("Its provider has not been asked yet what a host costs: %s may let fewer start.", budget.first()))
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
	p.wait(why.code, sentence(why.format, instancesAre(p.Desired-allowed)))
	p.Desired, p.Cost.Binds = allowed, true
	p.Bounds = append(p.Bounds, fleet.Bound{Name: string(CostGuardrail), After: allowed, Sentence: why.brief + "."})
}

// report is nil where nobody says what the fleet costs, and nothing limits it.
func (p *costBudget) report() *CostReport {
	if p == nil || p.running.Currency == "" && p.whole.Currency == "" {
		return nil
	}
	return &CostReport{Hourly: p.running, Then: p.running, Unpriced: p.unpriced, Today: p.today, Whole: p.whole, DayEnds: p.dayEnds,
		MaxHourly: p.maxHourly, MaxDaily: p.maxDaily}
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
		if p.unheld == "" && p.best.Hourly.Currency != "" {
			times = append(times, p.moreFrom())
		}
	}
	return times
}

// costOverrideSentence says who broke the glass, for what, and how it is mended.
func costOverrideSentence(f fleet.ManagedFleet, b fleet.CostOverride) string {
	hourly, daily := b.Limits(f.Cost)
	what := "nothing limits what it costs"
	switch {
	case b.Lifts():
	case !hourly.IsZero() && !daily.IsZero():
		what = sentence("max_hourly is %s and max_daily %s", hourly, daily)
	case !hourly.IsZero():
		what = sentence("max_hourly is %s", hourly)
	case !daily.IsZero():
		what = sentence("max_daily is %s", daily)
	}
	return sentence("%s broke the glass until %s%s: %s. To end it before: forgeyard-fleet break-glass %s --end.",
		b.By, moment(b.Until), because(b.Reason), what, f.Address.Name())
}

// costing is "1 host costs", "2 hosts cost".
func costing(n int) string {
	if n == 1 {
		return "1 host costs"
	}
	return sentence("%d hosts cost", n)
}

// clock is a time of the day for a sentence, on the minute that isn't before it.
func clock(t time.Time) string {
	return t.UTC().Add(time.Minute - 1).Truncate(time.Minute).Format("15:04 UTC")
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
			p.waitOnce(why.code, sentence(why.format, instancesAre(left)))
			bound = true
		}
	}
	return bound
}
