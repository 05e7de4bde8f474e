package planner

import (
	"math"
	"math/bits"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// costBudget is what the cost guardrails of a fleet leave for instances that aren't there
// yet. They hold back starts and nothing else: nothing is ended or made smaller for
// them, and no requirement gets weaker (spec §108, §235, §236).
type costBudget struct {
	maxHourly, maxDaily fleet.Money
	override            fleet.CostOverride
	isOverridden        bool
	// running is what an hour of the hosts costs that aren't proven gone, and whole
	// what the day costs if they all run on.
	hosts, unpriced       int
	running, today, whole fleet.Money
	now, dayEnds          time.Time
	// best is what the next host costs, and offered that there is one to be had.
	best    fleet.InstanceCost
	offered bool
	// unasked says that no one has asked the provider what a host costs.
	unasked bool
	// unheld is why nothing can be held against the limits; zero: it can be.
	unheld reason.Reason
}

// openBudgets works out the budget of every fleet.
func (in *planning) openBudgets() {
	commitments := map[fleet.RunnerFleetID][]fleet.Commitment{}
	for _, l := range in.Commitments {
		commitments[l.Fleet] = append(commitments[l.Fleet], l)
	}
	in.budgets = make(map[fleet.RunnerFleetID]*costBudget, len(in.fleets))
	for _, f := range in.fleets {
		_, there := unjoined(f, in.byFleet[f.ID])
		in.budgets[f.ID] = costBudgetOf(in, f, there, commitments[f.ID])
	}
}

func costBudgetOf(
	in *planning,
	f fleet.ManagedFleet,
	instances []snapshot.Instance,
	commitments []fleet.Commitment,
) *costBudget {
	p := &costBudget{now: in.Now}
	p.maxHourly, p.maxDaily = in.Overrides.CostLimits(f, in.Now)
	p.override, p.isOverridden = in.Overrides.CostOverride(f, in.Now)
	begins, ends := fleet.DayOf(in.Now)
	p.dayEnds = ends
	sums := currencySum{currency: f.Cost.Currency()}
	nothing := fleet.Money{Currency: sums.currency}
	p.running, p.today, p.whole = nothing, nothing, nothing
	for _, i := range instances {
		if !lifecycle.Footprint(i.State) {
			continue
		}
		p.hosts++
		hourly := hourlyOf(f, i)
		if !sums.takes(hourly) {
			p.unpriced++
			continue
		}
		p.running = p.running.Plus(hourly)
		paid := i.PaidUntil(in.Now)
		p.today = p.today.Plus(hourly.During(fleet.Overlap(i.Created, paid, begins, ends)))
		p.whole = p.whole.Plus(hourly.During(fleet.Overlap(i.Created, ends, begins, ends)))
	}
	hosts := sums
	for _, l := range commitments {
		if cost := l.Between(begins, ends); cost.Micros > 0 && sums.takes(l.Hourly) {
			p.today, p.whole = p.today.Plus(cost), p.whole.Plus(cost)
		}
	}
	if p.maxDaily.IsZero() {
		sums = hosts // what has ended concerns the day alone
	}
	p.choose(in.markets[f.ID])
	p.unheld = p.whyUnheld(sums)
	return p
}

// hourlyOf is the price of an instance: that of when it was asked for, or the
// file's where no one said one.
func hourlyOf(f fleet.ManagedFleet, i snapshot.Instance) fleet.Money {
	if i.Cost.Hourly.Currency != "" {
		return i.Cost.Hourly
	}
	return f.Cost.Hourly
}

// currencySum sees to it that nothing is added up that doesn't go together.
type currencySum struct {
	currency string
	// other is a currency that isn't the fleet's; "": all amounts are in that.
	other string
}

func (t *currencySum) takes(m fleet.Money) bool {
	if t.currency == "" {
		t.currency = m.Currency
	}
	if m.Currency != "" && m.Currency != t.currency {
		t.other = m.Currency
	}
	return m.Currency != "" && m.Currency == t.currency
}

// choose finds the offer of which the most hosts can be started.
func (p *costBudget) choose(m *fleetOffers) {
	if m == nil {
		return
	}
	if m.unasked { // no one asks the market now, and the file's price stands in
		p.best = m.fleet.Cost.Of()
		p.offered, p.unasked = true, p.best.Hourly.Currency == ""
		return
	}
	most := -1
	for _, c := range m.choices {
		if c.rank() > 0 {
			continue
		}
		p.offered = true
		cost := m.fleet.Cost.Of(c.Offer)
		if n := p.times(cost); cost.Hourly.Currency != "" && n > most {
			p.best, most = cost, n
		}
	}
}

// whyUnheld says why costs can't be held against the limits.
func (p *costBudget) whyUnheld(sums currencySum) reason.Reason {
	switch {
	case !p.limited():
	case sums.other != "":
		return reason.Of(reason.CurrenciesMixed{Currency: sums.currency, Other: sums.other})
	case p.unasked: // the caller holds them; until then it isn't known how many may start
	case p.unpriced > 0:
		return reason.Of(reason.InstancesUnpriced{Unpriced: p.unpriced, Instances: p.hosts})
	case p.offered && p.best.Hourly.Currency == "":
		return reason.Of(reason.OffersUnpriced{})
	}
	return reason.Reason{}
}

func (p *costBudget) limited() bool { return !p.maxHourly.IsZero() || !p.maxDaily.IsZero() }

// lefts are what may still be added to an hour and to the day.
func (p *costBudget) lefts() (hourly, daily int64) {
	hourly, daily = math.MaxInt64, math.MaxInt64
	if !p.maxHourly.IsZero() {
		hourly = max(0, p.maxHourly.Micros-p.running.Micros)
	}
	if !p.maxDaily.IsZero() {
		daily = max(0, p.maxDaily.Micros-p.whole.Micros)
	}
	return hourly, daily
}

// dayCost is what a host that starts now costs of the day: as if it ran until the
// day ends, since nothing is ended for a guardrail, and for its minimum at least.
func (p *costBudget) dayCost(c fleet.InstanceCost) fleet.Money {
	return c.Hourly.During(max(p.dayEnds.Sub(p.now), c.Minimum))
}

// times is how many hosts of a price may start.
func (p *costBudget) times(c fleet.InstanceCost) int {
	hourly, daily := p.lefts()
	return min(quotient(hourly, c.Hourly.Micros), quotient(daily, p.dayCost(c).Micros))
}

// plenty is a number of instances that nothing comes near.
const plenty = 1 << 30

func quotient(left, each int64) int {
	if left == math.MaxInt64 || each <= 0 {
		return plenty
	}
	return int(min(plenty, left/each))
}

// room is how many instances the guardrails let start, and which of them binds.
func (p *costBudget) room() (int, limit) {
	switch {
	case p == nil || !p.limited():
		return plenty, nil
	case !p.unheld.IsZero():
		return 0, func(missing int) reason.Detail {
			return reason.CostUnknown{Missing: missing, Limit: p.first(), Because: p.unheld}
		}
	case p.best.Hourly.Currency == "":
		return plenty, nil // there is nothing to be had, and that is said elsewhere
	}
	n := p.times(p.best)
	if hourly, _ := p.lefts(); quotient(hourly, p.best.Hourly.Micros) == n {
		return n, p.hourlyBinds(n)
	}
	return n, p.dailyBinds(n)
}

// hourlyBinds says what max_hourly leaves: room for n more, and no other.
func (p *costBudget) hourlyBinds(n int) limit {
	price := p.best.Hourly
	running, hosts := p.running.Plus(price.Times(n)), p.hosts+n
	return func(missing int) reason.Detail {
		return reason.MaxHourlyReached{Missing: missing, Limit: p.named("max_hourly", p.maxHourly), More: n, Instances: hosts,
			Hourly: running.String(), Price: price.String()}
	}
}

// dailyBinds says the same of max_daily. It has no amount or time that changes by the
// second: a reason that is shown again and again stays the same.
func (p *costBudget) dailyBinds(n int) limit {
	whole, fits, hosts := p.whole.Plus(p.dayCost(p.best).Times(n)), p.fitsFrom(n), p.hosts
	return func(missing int) reason.Detail {
		return reason.MaxDailyReached{
			Missing:   missing,
			Limit:     p.named("max_daily", p.maxDaily),
			More:      n,
			Instances: hosts,
			Today:     whole.About(),
			FitsAt:    reason.At(fits.Add(time.Minute - 1).Truncate(time.Minute)),
			NextDay:   !fits.Before(p.dayEnds),
		}
	}
}

// fitsFrom is when the day has become short enough for one more host beside n that
// start now; the end of the day: it doesn't.
func (p *costBudget) fitsFrom(n int) time.Time {
	_, left := p.lefts()
	return p.fitInto(max(0, left-p.dayCost(p.best).Times(n).Micros), 1)
}

// moreFrom is when it has become short enough for more than what may start now, if
// none of that has started by then.
func (p *costBudget) moreFrom() time.Time {
	n := p.times(p.best)
	if n == plenty {
		return p.dayEnds
	}
	_, left := p.lefts()
	return p.fitInto(left, n+1)
}

// fitInto is when so many hosts that start then cost no more of the day than is left;
// the end of the day: never.
func (p *costBudget) fitInto(left int64, hosts int) time.Time {
	if p.best.Hourly.During(p.best.Minimum).Times(hosts).Micros > left {
		return p.dayEnds
	}
	high, low := bits.Mul64(uint64(left), uint64(time.Hour))
	price := uint64(max(1, p.best.Hourly.Times(hosts).Micros))
	if high >= price {
		return p.now // they fit as it is
	}
	paid, _ := bits.Div64(high, low, price) // for so long
	if at := p.dayEnds.Add(-time.Duration(min(paid, uint64(24*time.Hour)))); at.After(p.now) {
		return at
	}
	return p.now
}

// named is a limit with its amount, and with who raised it.
func (p *costBudget) named(attribute string, amount fleet.Money) reason.CostLimit {
	l := reason.CostLimit{Attribute: attribute, Amount: amount.String()}
	if p.isOverridden {
		l.Override = until(p.override.Attribution, p.override.Until)
	}
	return l
}

// first is the first limit that there is.
func (p *costBudget) first() reason.CostLimit {
	if p.maxHourly.IsZero() {
		return p.named("max_daily", p.maxDaily)
	}
	return p.named("max_hourly", p.maxHourly)
}

// fits says whether a host of one of the offer's price may start, beside others that
// cost what the best offer does.
func (p *costBudget) fits(c fleet.InstanceCost, others int) bool {
	if p == nil || !p.limited() {
		return true
	}
	hourly, daily := p.lefts()
	return c.Hourly.Currency == p.best.Hourly.Currency &&
		c.Hourly.Plus(p.best.Hourly.Times(others)).Micros <= hourly &&
		p.dayCost(c).Plus(p.dayCost(p.best).Times(others)).Micros <= daily
}

// take pays for a host that starts.
func (p *costBudget) take(c fleet.InstanceCost) {
	if p != nil && c.Hourly.Currency != "" {
		p.hosts++
		p.running, p.whole = p.running.Plus(c.Hourly), p.whole.Plus(p.dayCost(c))
	}
}
