package main

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// renderCost shows what a fleet costs, as an estimate, beside what it may cost.
func (a *app) renderCost(indent string, c *planner.CostReport) {
	if c != nil {
		a.printf("%s%s\n", indent, strings.Join(costParts(c), "; "))
	}
}

// costParts are an hour at most, the day, and what is missing from both.
func costParts(c *planner.CostReport) []string {
	parts := []string{hourWords(c) + of("max_hourly", c.MaxHourly)}
	if c.Today.Micros > 0 || !c.MaxDaily.IsZero() {
		parts = append(parts, fmt.Sprintf("today (UTC) %s so far, %s if all runs on%s", c.Today.About(), c.Whole.About(), of("max_daily", c.MaxDaily)))
	}
	if c.Unpriced > 0 {
		parts = append(parts, fmt.Sprintf("%s without a known price not counted", plural(c.Unpriced, "instance")))
	}
	return parts
}

// hourWords are what an hour costs, and what it will once the hosts are there that
// start now.
func hourWords(c *planner.CostReport) string {
	switch {
	case c.Then == c.Hourly:
		return fmt.Sprintf("costs about %s an hour at most", c.Hourly)
	case c.Hourly.Micros == 0:
		return fmt.Sprintf("costs nothing yet; about %s an hour at most once what starts now is there", c.Then)
	}
	return fmt.Sprintf("costs about %s an hour at most now, about %s once what starts now is there", c.Hourly, c.Then)
}

// of is the limit of an amount; "": it has none.
func of(name string, limit fleet.Money) string {
	if limit.IsZero() {
		return ""
	}
	return fmt.Sprintf(", of %s %s", name, limit)
}
