package fleet

import (
	"cmp"
	"math"
	"math/bits"
	"time"
)

// InstanceCost is what an instance was to cost when it was asked for (spec §105): an
// estimate by which capacity is held back, and no bill (spec §234). Prices that change
// later don't change it.
type InstanceCost struct {
	// Hourly has no currency where the price of an hour isn't known.
	Hourly Money `json:"hourly,omitzero"`
	// Minimum is the shortest time that is paid for, BillingPeriod what is paid for
	// at a time; 0: by the second.
	Minimum       time.Duration `json:"minimum,omitempty"`
	BillingPeriod time.Duration `json:"billing_period,omitempty"`
}

// Of is what an instance costs that is made of one of the offers, at most: until it
// is known which one it became, it counts as the dearest and as the longest paid.
// Where an offer doesn't say, the file does. No offers: only the file says.
func (p CostPolicy) Of(offers ...Offer) InstanceCost {
	if len(offers) == 0 {
		return InstanceCost{Hourly: p.Hourly, Minimum: p.Minimum, BillingPeriod: p.BillingPeriod}
	}
	var most InstanceCost
	unknown := false
	for _, o := range offers {
		hourly := o.Price
		if hourly.Currency == "" {
			hourly = p.Hourly
		}
		unknown = unknown || hourly.Currency == "" || most.Hourly.Currency != "" && most.Hourly.Currency != hourly.Currency
		if most.Hourly.Currency == "" || hourly.Micros > most.Hourly.Micros {
			most.Hourly = hourly
		}
		most.Minimum = max(most.Minimum, cmp.Or(o.MinimumCommitment, p.Minimum))
		most.BillingPeriod = max(most.BillingPeriod, cmp.Or(o.BillingGrain, p.BillingPeriod))
	}
	if unknown {
		most.Hourly = Money{}
	}
	return most
}

// Guarded says that the file limits what the fleet may cost (spec §233).
func (p CostPolicy) Guarded() bool { return !p.MaxHourly.IsZero() || !p.MaxDaily.IsZero() }

// Currency is that of the amounts, which have one; "": there are none.
func (p CostPolicy) Currency() string {
	return cmp.Or(p.Hourly.Currency, p.MaxHourly.Currency, p.MaxDaily.Currency)
}

// EverSeen says that anything was ever seen of the instance's host. Of one that
// ended without it nothing was made, and nothing is paid.
func (i CapacityInstance) EverSeen() bool {
	return i.ProviderInstance != "" || i.Seen != "" || i.Runner != ""
}

// PaidUntil is until when an instance is paid for that ends at a time: for its
// minimum at least, and for whole billing periods.
func (i CapacityInstance) PaidUntil(end time.Time) time.Time {
	span := max(end.Sub(i.Created), i.Cost.Minimum, 0)
	if period := i.Cost.BillingPeriod; period > 0 {
		if rest := span % period; rest > 0 || span == 0 {
			span += period - rest
		}
	}
	return i.Created.Add(span)
}

// Commitment is the time for which an ended instance is paid, and its price.
type Commitment struct {
	Instance CapacityInstanceID
	Fleet    RunnerFleetID
	From     time.Time
	Until    time.Time
	Hourly   Money
}

// Commitment is what an ended instance is paid for; false: nothing was created, or the
// price isn't known.
func (i CapacityInstance) Commitment() (Commitment, bool) {
	if i.Live() || !i.EverSeen() || i.Cost.Hourly.Currency == "" {
		return Commitment{}, false
	}
	return Commitment{
		Instance: i.ID,
		Fleet:    i.Fleet,
		From:     i.Created,
		Until:    i.PaidUntil(i.Since),
		Hourly:   i.Cost.Hourly,
	}, true
}

// Between is what a commitment costs in a part of its time.
func (c Commitment) Between(from, to time.Time) Money {
	return c.Hourly.During(Overlap(c.From, c.Until, from, to))
}

// Overlap is how long two spans of time are at once.
func Overlap(from, until, begin, end time.Time) time.Duration {
	if begin.After(from) {
		from = begin
	}
	if end.Before(until) {
		until = end
	}
	return max(0, until.Sub(from))
}

// DayOf is the day of a time as guardrails count it: that of the calendar in UTC,
// independent of the caller's time zone.
func DayOf(t time.Time) (begins, ends time.Time) {
	begins = t.UTC().Truncate(24 * time.Hour)
	return begins, begins.Add(24 * time.Hour)
}

// Plus is the sum of two amounts of one currency; an empty one has any. It stops at
// the largest amount there is.
func (m Money) Plus(other Money) Money {
	sum, carry := bits.Add64(uint64(max(0, m.Micros)), uint64(max(0, other.Micros)), 0)
	return Money{Micros: saturated(carry, sum), Currency: cmp.Or(m.Currency, other.Currency)}
}

// Times is so many times the amount.
func (m Money) Times(n int) Money {
	high, low := bits.Mul64(uint64(max(0, m.Micros)), uint64(max(0, n)))
	return Money{Micros: saturated(high, low), Currency: m.Currency}
}

// During is what a price for an hour comes to in a time, rounded up.
func (m Money) During(d time.Duration) Money {
	high, low := bits.Mul64(uint64(max(0, m.Micros)), uint64(max(0, d)))
	low, carry := bits.Add64(low, uint64(time.Hour-1), 0)
	high += carry
	if high >= uint64(time.Hour) {
		return Money{Micros: math.MaxInt64, Currency: m.Currency}
	}
	quotient, _ := bits.Div64(high, low, uint64(time.Hour))
	return Money{Micros: saturated(0, quotient), Currency: m.Currency}
}

// saturated is a number of 128 bits as an amount: never one that has wrapped.
func saturated(high, low uint64) int64 {
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}
