package render

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/replay"
)

// Simulated shows one replay, or two beside each other.
func (page Page) Simulated(all []Simulated, asJSON bool) error {
	switch {
	case asJSON && len(all) == 1:
		return page.JSON(all[0].Result)
	case asJSON:
		return page.JSON(struct {
			Compared []Simulated `json:"compared"`
		}{all})
	case len(all) == 1:
		page.replay(all[0].Result)
	default:
		page.comparison(all[0], all[1])
	}
	return nil
}

func (page Page) replay(r *replay.Result) {
	page.Printf("%s from %s to %s.\n", text.Plural(r.Jobs, "job"), Moment(r.Begin), Moment(r.End))
	page.unrun("", r)
	page.Printf(
		"\nWaiting time for an instance: median %s, 95%% %s, 99%% %s, maximum %s, average %s; %s of the jobs waited.\n",
		span(r.Wait.P50),
		span(r.Wait.P95),
		span(r.Wait.P99),
		span(r.Wait.Max),
		span(r.Wait.Mean),
		percent(r.Wait.Waited),
	)
	page.Printf("\n")
	page.fleetUse(r)
	for _, note := range r.Notes {
		page.Printf("\n! %s", note)
	}
	if len(r.Notes) > 0 {
		page.Printf("\n")
	}
	page.charts("", r)
}

// unrun says which jobs didn't run, and why.
func (page Page) unrun(indent string, r *replay.Result) {
	if r.Unrunnable > 0 {
		page.Printf("%s! %s of them: no fleet can run them.\n", indent, count(r.Unrunnable))
	}
	if r.Unfinished > 0 {
		page.Printf("%s! %s of them never got an instance.\n", indent, count(r.Unfinished))
	}
	for _, u := range r.Unplaced {
		page.Printf("%s    %s\n", indent, u.Reason)
	}
}

// fleetUse is a table of the fleets and of all together.
func (page Page) fleetUse(r *replay.Result) {
	w := tabwriter.NewWriter(page.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(
		w,
		"FLEET\tJOBS\tCOST\tINSTANCE HOURS\tPER BUSY HOUR\tUTILISED\tLAUNCHES\tPER JOB\tRELAUNCHES PER JOB\tMOST INSTANCES",
	)
	line := func(name, cost string, u replay.Use) {
		fmt.Fprintf(
			w,
			"%s\t%s\t%s\t%.1f\t%.2f\t%s\t%s\t%.3f\t%.3f\t%d\n",
			terminal.Printable(name),
			count(u.Jobs),
			cost,
			u.InstanceHours,
			u.InstanceHoursPerBusyHour,
			percent(u.Utilisation),
			count(u.Launches),
			u.LaunchesPerJob,
			u.RelaunchesPerJob,
			u.MostHosts,
		)
	}
	for _, f := range r.Fleets {
		cost := "unknown"
		if f.Cost != nil {
			cost = amount(*f.Cost)
		}
		line(string(f.Fleet), cost, f.Use)
	}
	if len(r.Fleets) > 1 {
		line("all", costs(r), r.Total)
	}
	_ = w.Flush() // there is nowhere else to say it
}

// costs is the cost in all, with what isn't known of it.
func costs(r *replay.Result) string {
	var parts []string
	for _, m := range r.Costs {
		parts = append(parts, amount(m))
	}
	switch {
	case len(parts) == 0 && len(r.Unpriced) == 0:
		return "nothing"
	case len(parts) == 0:
		return "unknown"
	case len(r.Unpriced) > 0:
		parts = append(parts, "more, unknown")
	}
	return strings.Join(parts, " and ")
}

// comparison shows two replays of the same jobs, with what each is better at.
func (page Page) comparison(first, second Simulated) {
	one, other := first.Result, second.Result
	page.Printf("%s from %s to %s.\n", text.Plural(one.Jobs, "job"), Moment(one.Begin), Moment(one.End))
	for _, s := range []Simulated{first, second} {
		if s.Result.Unrunnable+s.Result.Unfinished > 0 {
			page.Printf("\n%s:\n", s.Directory)
			page.unrun("  ", s.Result)
		}
	}
	page.Printf("\n")
	w := tabwriter.NewWriter(page.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\t%s\t%s\tDIFFERENCE\tBETTER\n", terminal.Printable(first.Directory),
		terminal.Printable(second.Directory))
	for _, m := range measures(one, other) {
		better := "the same"
		switch {
		case m.one == m.other:
		case (m.one < m.other) != m.moreIsBetter:
			better = first.Directory
		default:
			better = second.Directory
		}
		if m.neither {
			better = ""
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.name, m.text(m.one), m.text(m.other), difference(m),
			terminal.Printable(better))
	}
	_ = w.Flush() // there is nowhere else to say it
	if !sameCurrency(one, other) {
		page.Printf("\nThe costs can't be compared: %s and %s.\n", costs(one), costs(other))
	}
	for _, s := range []Simulated{first, second} {
		for _, note := range s.Result.Notes {
			page.Printf("\n! %s: %s\n", s.Directory, note)
		}
		page.charts(s.Directory+": ", s.Result)
	}
}

// measure is one line of a comparison.
type measure struct {
	name         string
	one, other   float64
	text         func(float64) string
	moreIsBetter bool
	// neither says that more of it is neither better nor worse.
	neither bool
}

func measures(one, other *replay.Result) []measure {
	number := func(n float64) string { return fmt.Sprintf("%.1f", n) }
	ratio := func(n float64) string { return fmt.Sprintf("%.3f", n) }
	whole := func(n float64) string { return count(int(n)) }
	all := []measure{
		{name: "wait, median", one: one.Wait.P50, other: other.Wait.P50, text: span},
		{name: "wait, 95%", one: one.Wait.P95, other: other.Wait.P95, text: span},
		{name: "wait, 99%", one: one.Wait.P99, other: other.Wait.P99, text: span},
		{name: "wait, longest", one: one.Wait.Max, other: other.Wait.Max, text: span},
		{name: "wait, average", one: one.Wait.Mean, other: other.Wait.Mean, text: span},
		{name: "jobs that waited", one: one.Wait.Waited, other: other.Wait.Waited, text: percent},
	}
	if sameCurrency(one, other) {
		currency := one.Costs[0].Currency
		all = append(
			all,
			measure{
				name:  "cost",
				one:   float64(one.Costs[0].Micros),
				other: float64(other.Costs[0].Micros),
				text: func(n float64) string {
					return amount(fleet.Money{Micros: int64(n), Currency: currency})
				},
			},
		)
	}
	a, b := one.Total, other.Total
	return append(
		all,
		measure{name: "instance hours", one: a.InstanceHours, other: b.InstanceHours, text: number},
		measure{
			name:  "instance hours per busy hour",
			one:   a.InstanceHoursPerBusyHour,
			other: b.InstanceHoursPerBusyHour,
			text:  ratio,
		},
		measure{name: "utilised", one: a.Utilisation, other: b.Utilisation, text: percent, moreIsBetter: true},
		measure{name: "launches", one: float64(a.Launches), other: float64(b.Launches), text: whole},
		measure{name: "launches per job", one: a.LaunchesPerJob, other: b.LaunchesPerJob, text: ratio},
		measure{name: "relaunches per job", one: a.RelaunchesPerJob, other: b.RelaunchesPerJob, text: ratio},
		measure{
			name:    "most instances at once",
			one:     float64(a.MostHosts),
			other:   float64(b.MostHosts),
			text:    whole,
			neither: true,
		},
		measure{
			name:  "jobs that no fleet can run",
			one:   float64(one.Unrunnable),
			other: float64(other.Unrunnable),
			text:  whole,
		},
		measure{
			name:  "jobs without an instance",
			one:   float64(one.Unfinished),
			other: float64(other.Unfinished),
			text:  whole,
		},
	)
}

// sameCurrency says that both costs are known and of one currency.
func sameCurrency(one, other *replay.Result) bool {
	known := func(r *replay.Result) bool { return len(r.Costs) == 1 && len(r.Unpriced) == 0 }
	return known(one) && known(other) && one.Costs[0].Currency == other.Costs[0].Currency
}

// difference is what the second has more or less, in percent of the first.
func difference(m measure) string {
	switch {
	case m.one == m.other:
		return ""
	case m.one == 0:
		return "+" + m.text(m.other)
	}
	return fmt.Sprintf("%+.1f%%", (m.other-m.one)/m.one*100)
}

// span is seconds for people.
func span(seconds float64) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%.1f min", seconds/60)
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", share*100) }

// amount is money as people pay it.
func amount(m fleet.Money) string {
	return fmt.Sprintf("%.2f %s", float64(m.Micros)/1e6, m.Currency)
}

// count is a whole number with its thousands apart.
func count(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Simulated is the outcome of one directory.
type Simulated struct {
	Directory string         `json:"directory"`
	Result    *replay.Result `json:"result"`
}
