package control

import (
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// LongestBrokenGlass is a long weekend: what lasts longer is a decision about the
// file.
const LongestBrokenGlass = 3 * 24 * time.Hour

// breakGlass holds a raise of cost guardrails against the file. It needs a reason:
// somebody will ask about the money.
func (j *judgement) breakGlass(d StandingOrder) (ruling, error) {
	f, err := j.fleet(d.Fleet)
	if err != nil {
		return ruling{}, err
	}
	b := fleet.CostOverride{Fleet: f.ID, MaxHourly: d.MaxHourly, MaxDaily: d.MaxDaily, Attribution: j.decided}
	if d.End {
		return ruling{order: b, subject: string(f.Address), done: "its file's cost guardrails hold again"}, nil
	}
	if why := cantBreak(f, b); why != "" {
		return ruling{}, access.Invalid("invalid cost override for %s: %s", f.Address, why)
	}
	if d.For <= 0 || d.For > LongestBrokenGlass {
		return ruling{}, access.Invalid("it lasts for %s and must last for more than nothing and at most %d days: what lasts longer belongs into the file", d.For, LongestBrokenGlass/(24*time.Hour))
	}
	b.Until = b.At.Add(d.For)
	return ruling{order: b, subject: string(f.Address), until: b.Until,
		done: fmt.Sprintf("%s until %s, then %s again", limitsInWords(b.Limits(f.Cost)), moment(b.Until), limitsInWords(f.Cost.MaxHourly, f.Cost.MaxDaily))}, nil
}

// cantBreak says why a raise makes no sense; "": it does.
func cantBreak(f fleet.ManagedFleet, b fleet.CostOverride) string {
	switch {
	case !f.Cost.Guarded():
		return "its file has neither max_hourly nor max_daily, and nothing is held back for what it costs"
	case f.Joined:
		return "its hosts are joined by a person, and nothing is started for it"
	case f.Operational == fleet.FleetDraining:
		return "it is being removed"
	case strings.TrimSpace(b.Reason) == "":
		return "say why: a reason is needed, and is kept with who gave it"
	}
	for _, one := range []struct {
		name             string
		declared, raised fleet.Money
	}{{"max_hourly", f.Cost.MaxHourly, b.MaxHourly}, {"max_daily", f.Cost.MaxDaily, b.MaxDaily}} {
		switch {
		case one.raised.IsZero():
		case one.declared.IsZero():
			return fmt.Sprintf("its file has no %s that could be raised", one.name)
		case one.raised.Currency != one.declared.Currency:
			return fmt.Sprintf("its file's %s is %s, and nothing converts from %s", one.name, one.declared, one.raised.Currency)
		case one.raised.Micros <= one.declared.Micros:
			return fmt.Sprintf("%s %s isn't more than its file's %s; a lower one belongs into the file", one.name, one.raised, one.declared)
		}
	}
	return ""
}

// limitsInWords are cost guardrails in words; zero: there is none.
func limitsInWords(hourly, daily fleet.Money) string {
	switch {
	case hourly.IsZero() && daily.IsZero():
		return "nothing limits what it costs"
	case daily.IsZero():
		return fmt.Sprintf("max_hourly = %s", hourly)
	case hourly.IsZero():
		return fmt.Sprintf("max_daily = %s", daily)
	}
	return fmt.Sprintf("max_hourly = %s and max_daily = %s", hourly, daily)
}
