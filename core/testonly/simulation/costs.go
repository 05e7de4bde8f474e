package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// costs is what money is like in a world. In some nothing is limited.
type costs struct {
	// prices are by how much the market's are multiplied, one after the other; none:
	// they don't change.
	prices []int64
	// commitment is what the market's dear machines are paid for at least.
	commitment time.Duration
}

// dearest is the highest price of the market, in millionths of a dollar an hour.
const dearest = 220

func micros(n int64) fleet.Money { return fleet.Money{Micros: n, Currency: "USD"} }

// drawCosts limits the costs of the fleets in a third of the worlds, never so much
// that min can't be paid for, and gives hosts a time that is paid for at least.
func (w *world) drawCosts(random *rand.Rand) {
	if random.IntN(3) > 0 {
		return
	}
	highest := int64(1)
	for range random.IntN(6) {
		factor := 1 + random.Int64N(3)
		w.costs.prices, highest = append(w.costs.prices, factor), max(highest, factor)
	}
	w.costs.commitment = time.Duration(random.IntN(4)) * time.Minute
	for n, price := range []int64{dearest * highest, 100} {
		f := &w.store.fleets[n]
		f.Cost.Hourly = micros(price)
		if n == 0 && random.IntN(2) == 0 {
			f.Cost.Hourly = fleet.Money{} // its offers say
		}
		f.Cost.Minimum = time.Duration(random.IntN(4)) * time.Minute
		f.Cost.BillingPeriod = time.Duration(random.IntN(3)) * 45 * time.Second
		hosts := int64(max(1, f.Scaling.Min)) + random.Int64N(2)
		if random.IntN(3) > 0 {
			f.Cost.MaxHourly = micros(hosts*price + random.Int64N(price))
		}
		if random.IntN(2) == 0 || f.Cost.MaxHourly.IsZero() {
			// Of which an hour is for what has ended.
			f.Cost.MaxDaily = micros(hosts*price*24 + price + random.Int64N(price))
		}
	}
}

// payForMin raises the limits of a fleet's costs with its min, as a person who changes
// the min in the file would.
func (w *world) payForMin(f *fleet.ManagedFleet) {
	price := f.Cost.Hourly.Micros
	if price == 0 {
		price = dearest
		for _, factor := range w.costs.prices {
			price = max(price, dearest*factor)
		}
	}
	hosts := int64(f.Scaling.Min)
	if !f.Cost.MaxHourly.IsZero() {
		f.Cost.MaxHourly.Micros = max(f.Cost.MaxHourly.Micros, hosts*price)
	}
	if !f.Cost.MaxDaily.IsZero() {
		f.Cost.MaxDaily.Micros = max(f.Cost.MaxDaily.Micros, hosts*price*24+price)
	}
}

// priced are offers at the prices of now.
func (w *world) priced(offers []fleet.Offer) []fleet.Offer {
	for n := range offers {
		if len(w.costs.prices) > 0 {
			offers[n].Price.Micros *= w.costs.prices[int(w.at/time.Minute)%len(w.costs.prices)]
		}
		if offers[n].MachineType == "type-1" {
			offers[n].MinimumCommitment = w.costs.commitment
		}
	}
	return offers
}

// noStartPassesAGuardrail: "cost cannot override correctness requirements;". When a
// fleet starts something, neither an hour nor the day of everything that isn't
// proven gone costs more than it may.
func (w *world) noStartPassesAGuardrail(res loop.Result) {
	const name = "no start passes a cost guardrail"
	begins, ends := fleet.DayOf(w.now())
	for _, f := range w.store.fleets {
		started := false
		for _, t := range res.Transitions {
			started = started || t.To == fleet.Requested && w.store.instances[t.Instance].Fleet == f.ID
		}
		if !started || !f.Cost.Guarded() {
			continue
		}
		var hour, day int64
		for _, i := range w.store.instances {
			price := i.Cost.Hourly
			if price.Currency == "" {
				price = f.Cost.Hourly
			}
			switch commitment, paid := i.Commitment(); {
			case i.Fleet != f.ID:
			case i.Live():
				hour += price.Micros
				day += price.During(fleet.Overlap(i.Created, ends, begins, ends)).Micros
			case paid:
				day += commitment.Between(begins, ends).Micros
			}
		}
		if most := f.Cost.MaxHourly; !most.IsZero() && hour > most.Micros {
			w.fail(name, "%s starts something, and an hour costs %s of %s", f.Address, micros(hour), most)
		}
		if most := f.Cost.MaxDaily; !most.IsZero() && day > most.Micros {
			w.fail(name, "%s starts something, and the day costs %s of %s", f.Address, micros(day), most)
		}
	}
}

// booksKnowWhatMachinesCost holds that no machine is dearer than its instance counts
// for: what the offer cost that it was made of when it was asked for.
func (w *world) booksKnowWhatMachinesCost() {
	for _, r := range w.clouds[0].resources {
		if r.foreign || r.copied || r.part {
			continue
		}
		for _, i := range w.store.live() {
			if i.Key != r.Key {
				continue
			}
			for _, o := range w.store.operations[i.Key].Offers() {
				if o.Zone == r.Zone && o.MachineType == r.MachineType && o.Price.Micros > i.Cost.Hourly.Micros {
					w.fail(
						"the books know what machines cost",
						"%s was made of %s for %s, and counts as %s",
						i.ID,
						o.Name(),
						o.Price,
						i.Cost.Hourly,
					)
				}
			}
		}
	}
}

// scaleDownTakesNothingThatIsPaidFor: a host leaves for want of work once its
// minimum is over.
func (w *world) scaleDownTakesNothingThatIsPaidFor(res loop.Result) {
	for _, t := range res.Transitions {
		i := w.store.instances[t.Instance]
		paid := i.Cost.Minimum > 0 // of any other one no time is, whatever a clock said
		if t.To == fleet.Draining && i.Cause == string(lifecycle.ForScaleDown) && paid &&
			i.Created.Add(i.Cost.Minimum).After(w.now()) {
			w.fail(
				"scale-down takes nothing that is paid for",
				"%s drains, and it was made at %s for %s at least",
				i.ID,
				i.Created.Format(time.TimeOnly),
				i.Cost.Minimum,
			)
		}
	}
}
