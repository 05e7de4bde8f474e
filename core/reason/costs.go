package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// CostLimit is one of a fleet's cost guardrails.
type CostLimit struct {
	// Attribute is max_hourly or max_daily, Amount what it is now.
	Attribute string `json:"attribute"`
	Amount    string `json:"amount"`
	// Override is who raised it for a time; zero: it is the file's.
	Override Attribution `json:"override,omitzero"`
}

func (l CostLimit) text() string {
	return fmt.Sprintf("%s = %s%s", l.Attribute, l.Amount, l.Override.bracket("cost override"))
}

// MaxHourlyReached: one more instance would cost more than max_hourly.
type MaxHourlyReached struct {
	Missing int       `json:"missing,omitempty"`
	Limit   CostLimit `json:"limit"`
	// More instances may start. With them there are Instances, which cost Hourly.
	More      int    `json:"more,omitempty"`
	Instances int    `json:"instances,omitempty"`
	Hourly    string `json:"hourly,omitempty"`
	// Price is what an hour of one more costs.
	Price string `json:"price"`
}

// Text implements Detail.
func (d MaxHourlyReached) Text() string {
	limit := "limited by " + d.Limit.text()
	switch {
	case d.Instances == 0:
		limit += fmt.Sprintf(": one instance costs %s an hour", d.Price)
	case d.More == 0:
		limit += fmt.Sprintf(": %s %s an hour, and one more costs %s", instancesCost(d.Instances), d.Hourly, d.Price)
	default:
		limit += fmt.Sprintf(": with %d more, %s %s an hour, and another one costs %s", d.More,
			instancesCost(d.Instances), d.Hourly, d.Price)
	}
	return missing(d.Missing, limit)
}

// MaxDailyReached: one more instance would cost more of the day in UTC than max_daily.
type MaxDailyReached struct {
	Missing int       `json:"missing,omitempty"`
	Limit   CostLimit `json:"limit"`
	// More instances may start. Today is what the day costs if they and the Instances
	// that are there run on.
	More      int    `json:"more,omitempty"`
	Instances int    `json:"instances,omitempty"`
	Today     string `json:"today"`
	// FitsAt is when one more fits, which may be only when the next day begins.
	FitsAt  Instant `json:"fits_at"`
	NextDay bool    `json:"next_day,omitempty"`
}

// Text implements Detail.
func (d MaxDailyReached) Text() string {
	fits := "one more fits from " + text.ClockUp(d.FitsAt.Time()) + " on"
	if d.NextDay {
		fits = "no other fits before " + text.ClockUp(d.FitsAt.Time())
	}
	limit := "limited by " + d.Limit.text()
	switch {
	case d.More > 0:
		limit += fmt.Sprintf(": today (UTC) costs %s if all instances and %d more run on, and %s", d.Today,
			d.More, fits)
	case d.Instances == 0:
		limit += fmt.Sprintf(": today (UTC) has cost %s, and %s", d.Today, fits)
	default:
		limit += fmt.Sprintf(": today (UTC) costs %s if all instances run on, and %s", d.Today, fits)
	}
	return missing(d.Missing, limit)
}

// CostUnknown: the fleet's costs are limited and can't be told, so none of its instances
// starts.
type CostUnknown struct {
	Missing int       `json:"missing,omitempty"`
	Limit   CostLimit `json:"limit"`
	Because Reason    `json:"because"`
}

// Text implements Detail.
func (d CostUnknown) Text() string {
	return missing(d.Missing, fmt.Sprintf("limited by %s, which can't be checked: %s", d.Limit.text(),
		d.Because.Text()))
}

// CurrenciesMixed: a fleet's costs are in several currencies, and nothing converts them.
type CurrenciesMixed struct {
	Currency string `json:"currency"`
	Other    string `json:"other"`
}

// Text implements Detail.
func (d CurrenciesMixed) Text() string {
	return fmt.Sprintf("today's costs are in %s and in %s, and nothing converts between currencies",
		d.Currency, d.Other)
}

// InstancesUnpriced: instances of a fleet have no price.
type InstancesUnpriced struct {
	Unpriced  int `json:"unpriced"`
	Instances int `json:"instances"`
}

// Text implements Detail.
func (d InstancesUnpriced) Text() string {
	return fmt.Sprintf("%d of %s have no price; set hourly in the cost block", d.Unpriced,
		text.Plural(d.Instances, "instance"))
}

// OffersUnpriced: none of a fleet's offers has a price.
type OffersUnpriced struct{}

// Text implements Detail.
func (OffersUnpriced) Text() string { return "no offer has a price; set hourly in the cost block" }

// PricesNotAsked: the provider has not been asked for prices, so a limit may let fewer
// instances start than the plan says.
type PricesNotAsked struct {
	Limit CostLimit `json:"limit"`
}

// Text implements Detail.
func (d PricesNotAsked) Text() string {
	return fmt.Sprintf("the provider has not been asked for prices yet: %s may allow fewer instances", d.Limit.text())
}

func instancesCost(n int) string {
	if n == 1 {
		return "1 instance costs"
	}
	return fmt.Sprintf("%d instances cost", n)
}

var exampleLimit = CostLimit{Attribute: "max_hourly", Amount: "1 USD"}

var costReasons = []Detail{
	MaxHourlyReached{Missing: 2, Limit: exampleLimit, Instances: 3, Hourly: "0.9 USD", Price: "0.3 USD"},
	MaxDailyReached{Missing: 2, Limit: CostLimit{Attribute: "max_daily", Amount: "13 USD"}, Instances: 3,
		Today: "12.04 USD", FitsAt: exampleInstant},
	CostUnknown{Missing: 2, Limit: exampleLimit, Because: Of(OffersUnpriced{})},
	CurrenciesMixed{"EUR", "USD"},
	InstancesUnpriced{1, 3},
	OffersUnpriced{},
	PricesNotAsked{exampleLimit},
}
