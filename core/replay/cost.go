package replay

import (
	"math/bits"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// cost adds up what the hosts of a fleet cost, without loss.
type cost struct {
	whole int64 // micros
	rest  uint64
}

// perHour is the nanoseconds of an hour.
const perHour = uint64(time.Hour)

// add bills one host: its price for the time that it lived, and at least for the
// policy's minimum. What is less than a millionth is carried on.
func (c *cost) add(policy fleet.CostPolicy, lived time.Duration) {
	if policy.Hourly.IsZero() {
		return
	}
	high, low := bits.Mul64(uint64(policy.Hourly.Micros), uint64(max(lived, policy.Minimum)))
	if high >= perHour { // beyond any price that a file may name
		c.whole = 1<<63 - 1
		return
	}
	micros, rest := bits.Div64(high, low, perHour)
	c.rest += rest
	c.whole += int64(micros + c.rest/perHour)
	c.rest %= perHour
}

// money is the sum; nil: there is no price.
func (c *cost) money(policy fleet.CostPolicy) *fleet.Money {
	if policy.Hourly.IsZero() {
		return nil
	}
	return &fleet.Money{Micros: c.whole, Currency: policy.Hourly.Currency}
}
