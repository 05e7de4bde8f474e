package orders

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// LongestCostOverride is a long weekend: what lasts longer is a decision about the
// file.
const LongestCostOverride = 3 * 24 * time.Hour

// OverrideCostsRequest raises or lifts a fleet's cost guardrails for a time (spec §237).
type OverrideCostsRequest struct {
	// Fleet is an address or a name.
	Fleet string
	// MaxHourly and MaxDaily are zero where the file's holds. Without both of them all
	// are lifted.
	MaxHourly, MaxDaily fleet.Money
	For                 time.Duration
	// Reason must be given: somebody will ask about the money.
	Reason string
}

// OverrideCosts raises or lifts a fleet's cost guardrails for a time.
func (h Handler) OverrideCosts(ctx context.Context, r OverrideCostsRequest) (OverrideReceipt, error) {
	return h.set(ctx, "cost override", r.Reason, func(v *validation) (override, error) { return v.overrideCosts(r) })
}

// ClearCostOverride lets the cost guardrails of a fleet's file hold again.
func (h Handler) ClearCostOverride(ctx context.Context, fleetName string) (OverrideReceipt, error) {
	return h.clear(ctx, "cost override", func(v *validation) (override, error) {
		f, err := v.fleet(fleetName)
		return override{
			stored:  fleet.CostOverride{Fleet: f.ID},
			subject: string(f.Address),
			done:    "cleared: the file's cost guardrails apply again",
		}, err
	})
}

func (v *validation) overrideCosts(r OverrideCostsRequest) (override, error) {
	f, err := v.fleet(r.Fleet)
	if err != nil {
		return override{}, err
	}
	o := fleet.CostOverride{Fleet: f.ID, MaxHourly: r.MaxHourly, MaxDaily: r.MaxDaily, Attribution: v.decided}
	if problem := costsProblem(f, o); problem != "" {
		return override{}, access.Invalid("invalid cost override for %s: %s", f.Address, problem)
	}
	if o.Until, err = v.until(r.For, LongestCostOverride); err != nil {
		return override{}, err
	}
	return override{
		stored:  o,
		subject: string(f.Address),
		until:   o.Until,
		done: fmt.Sprintf(
			"%s until %s, then %s again",
			limitsText(o.Limits(f.Cost)),
			fleet.TimeText(o.Until),
			limitsText(f.Cost.MaxHourly, f.Cost.MaxDaily),
		),
	}, nil
}

// costsProblem says why a raise makes no sense; "": it does.
func costsProblem(f fleet.ManagedFleet, b fleet.CostOverride) string {
	switch {
	case !f.Cost.Guarded():
		return "its file sets neither max_hourly nor max_daily, so there is no limit to raise"
	case f.Joined:
		return "its instances are joined manually; cost limits start or stop nothing"
	case f.Operational == fleet.FleetDraining:
		return "it is being removed"
	case strings.TrimSpace(b.Reason) == "":
		return "a reason is required; it is stored with your name"
	}
	for _, one := range []struct {
		name             string
		declared, raised fleet.Money
	}{{"max_hourly", f.Cost.MaxHourly, b.MaxHourly}, {"max_daily", f.Cost.MaxDaily, b.MaxDaily}} {
		switch {
		case one.raised.IsZero():
		case one.declared.IsZero():
			return fmt.Sprintf("its file sets no %s to raise", one.name)
		case one.raised.Currency != one.declared.Currency:
			return fmt.Sprintf(
				"its file's %s is %s; amounts in %s aren't converted",
				one.name,
				one.declared,
				one.raised.Currency,
			)
		case one.raised.Micros <= one.declared.Micros:
			return fmt.Sprintf(
				"%s %s isn't higher than the file's %s; to lower it, edit the file",
				one.name,
				one.raised,
				one.declared,
			)
		}
	}
	return ""
}

// limitsText are cost guardrails in words; zero: there is none.
func limitsText(hourly, daily fleet.Money) string {
	switch {
	case hourly.IsZero() && daily.IsZero():
		return "no cost limit"
	case daily.IsZero():
		return fmt.Sprintf("max_hourly = %s", hourly)
	case hourly.IsZero():
		return fmt.Sprintf("max_daily = %s", daily)
	}
	return fmt.Sprintf("max_hourly = %s and max_daily = %s", hourly, daily)
}
