package planner

import (
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// hold keeps a fleet none of whose offers can be used; nil: one can.
func (m *market) hold(now time.Time) *snapshot.Hold {
	if m.room(nil) > 0 {
		return nil
	}
	h := &snapshot.Hold{Constrained: true}
	switch {
	case m.silent && m.list.Failure != "":
		h.Reason, h.Until = sentence("What its provider offers isn't known: %s", m.list.Failure), m.list.Next
	case m.silent && m.fault != "":
		h.Reason = "What its provider offers isn't known: " + m.fault
	case m.silent:
		h.Reason, h.Until = "What its provider offers isn't known yet; it is being asked.", m.list.Next
	case len(m.choices) == 0:
		h.Reason, h.NeedsPerson = "Its provider offers nothing for its instance block.", true
	case m.choices[0].State == LeftOut:
		h.Reason = sentence("None of %s will do: %s.", plural(len(m.choices), "offer"), m.named(func(c choice) string { return c.label() + ": " + c.Reason }, "; "))
		h.NeedsPerson = !slices.ContainsFunc(m.choices, func(c choice) bool { return c.passing })
	default:
		h.Reason = sentence("No room in any of its offers: %s.", m.named(func(c choice) string { return c.label() + " (" + c.Reason + ")" }, ", "))
		h.Reason, h.Until = h.Reason+m.lastWord(), m.nextTry()
	}
	if !h.Until.After(now) {
		h.Until = time.Time{} // it is under way
	}
	return h
}

// lastWord is what was said where the next try is.
func (m *market) lastWord() string {
	first := m.choices[0]
	for _, c := range m.choices {
		if c.State == Probed {
			return " One request tries now."
		}
		if c.State == NoRoom && c.Next.Before(first.Next) {
			first = c
		}
	}
	if first.Said == "" {
		return ""
	}
	return sentence(" Last: %.200s", first.Said)
}

// nextTry is when the first of the offers without room may be tried again; zero:
// one is being tried.
func (m *market) nextTry() (next time.Time) {
	for _, c := range m.choices {
		if c.State == Probed {
			return time.Time{}
		}
		if c.State == NoRoom && (next.IsZero() || c.Next.Before(next)) {
			next = c.Next
		}
	}
	return next
}

// named lists the offers of the first one's rank, as far as a sentence goes.
func (m *market) named(text func(choice) string, between string) string {
	const most = 4
	var parts []string
	all := 0
	for _, c := range m.choices {
		if c.rank() != m.choices[0].rank() {
			break
		}
		if all++; all <= most {
			parts = append(parts, text(c))
		}
	}
	out := strings.Join(parts, between)
	if all > most {
		out += sentence(" and %d more", all-most)
	}
	return out
}

// label is the offer's name; of one without a market only the lifetime is known.
func (c OfferChoice) label() string {
	if c.Zone == "" && c.MachineType == "" && c.Region == "" {
		return "any " + string(c.Lifetime) + " host"
	}
	return c.Name()
}
