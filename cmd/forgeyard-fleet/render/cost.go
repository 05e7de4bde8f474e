package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// cost shows what a fleet costs, as an estimate, beside what it may cost.
func (page Page) cost(indent string, c *planner.CostReport) {
	if c == nil ||
		c.Hourly.Micros == 0 && c.Then.Micros == 0 && c.Today.Micros == 0 && c.MaxHourly.IsZero() && c.MaxDaily.IsZero() &&
			c.Unpriced == 0 {
		return // it costs nothing, and nothing limits it
	}
	page.Printf("%s%s\n", indent, strings.Join(costParts(c), "; "))
}

// costParts are an hour at most, the day, and what is missing from both.
func costParts(c *planner.CostReport) []string {
	parts := []string{hourWords(c) + of("max_hourly", c.MaxHourly)}
	if c.Today.Micros > 0 || !c.MaxDaily.IsZero() {
		parts = append(
			parts,
			fmt.Sprintf(
				"today (UTC) %s so far, %s if all instances keep running%s",
				inCurrency(c.Today, c.MaxDaily).About(),
				inCurrency(c.Whole, c.MaxDaily).About(),
				of("max_daily", c.MaxDaily),
			),
		)
	}
	if c.Unpriced > 0 {
		parts = append(parts, fmt.Sprintf("%s without a known price not included", text.Plural(c.Unpriced, "instance")))
	}
	return parts
}

// inCurrency is an amount in the currency of its limit if it has none itself, as 0 may.
func inCurrency(amount, limit fleet.Money) fleet.Money {
	if amount.Currency == "" {
		amount.Currency = cmp.Or(limit.Currency, "USD")
	}
	return amount
}

// hourWords are the cost of an hour now, and with the instances that start now.
func hourWords(c *planner.CostReport) string {
	now, then := inCurrency(c.Hourly, c.MaxHourly), inCurrency(c.Then, c.MaxHourly)
	switch {
	case now == then && now.Micros == 0:
		return fmt.Sprintf("estimated cost: %s per hour", now)
	case now == then:
		return fmt.Sprintf("estimated cost: up to %s per hour", now)
	}
	return fmt.Sprintf("estimated cost: up to %s per hour now, up to %s once the new instances run", now, then)
}

// of is the limit of an amount; "": it has none.
func of(name string, limit fleet.Money) string {
	if limit.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%s = %s)", name, limit)
}
