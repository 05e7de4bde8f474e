package planner

import (
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// hold keeps a fleet none of whose offers can be used; nil: one can.
func (m *fleetOffers) hold(now time.Time) *snapshot.Hold {
	if m.room(nil) > 0 {
		return nil
	}
	h := &snapshot.Hold{Constrained: true}
	switch {
	case m.silent && m.list.Failure != "":
		h.Reason, h.Until = reason.Of(
			reason.OffersUnknown{Because: reason.Of(reason.ProviderError{Message: m.list.Failure})},
		), m.list.Next
		h.NeedsPerson = m.list.FailureClass.NeedsPerson()
	case m.silent && !m.fault.IsZero():
		h.Reason = reason.Of(reason.OffersUnknown{Because: m.fault})
	case m.silent:
		h.Reason, h.Until = reason.Of(reason.OffersUnknown{}), m.list.Next
	case len(m.choices) == 0:
		h.Reason, h.NeedsPerson = reason.Of(reason.OffersEmpty{}), true
	case m.choices[0].State == LeftOut:
		h.Reason = reason.Of(reason.OffersUnsuitable{Offers: m.refused()})
		h.NeedsPerson = !slices.ContainsFunc(m.choices, func(c choice) bool { return c.passing })
	default:
		why := reason.OffersExhausted{Offers: m.refused()}
		why.Trying, why.Message = m.lastWord()
		h.Reason, h.Until = reason.Of(why), m.nextTry()
	}
	if !h.Until.After(now) {
		h.Until = time.Time{} // it is under way
	}
	return h
}

// lastWord is whether one of the offers without room is being tried, and else what was
// said where the next try is.
func (m *fleetOffers) lastWord() (trying bool, said string) {
	first := m.choices[0]
	for _, c := range m.choices {
		if c.State == Probed {
			return true, ""
		}
		if c.State == NoRoom && c.Next.Before(first.Next) {
			first = c
		}
	}
	return false, first.Said
}

// nextTry is when the first of the offers without room may be tried again; zero:
// one is being tried.
func (m *fleetOffers) nextTry() (next time.Time) {
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

// refused lists the offers of the first one's rank, with why they can't be used.
func (m *fleetOffers) refused() reason.List[reason.OfferRefused] {
	var all []reason.OfferRefused
	for _, c := range m.choices {
		if c.rank() != m.choices[0].rank() {
			break
		}
		all = append(all, reason.OfferRefused{Offer: c.Offer.Label(), Because: c.Reason})
	}
	return reason.ListOf(all...)
}
