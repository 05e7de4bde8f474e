package planner

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/market"
)

// Request is what one new instance may be made of.
type Request struct {
	// Offers are ordered and exhaustive; none: its provider has no market.
	Offers []fleet.Offer
	// Probes are the circuits that the instance is the one to try.
	Probes []market.Scope
	// Make is what it is made from in the place of the fleet's own definition; nil:
	// that.
	Make *fleet.Make
}

// maxRequestOffers bounds the offers of one request: it is stored with each
// operation. The first ones are the best; when they have no room others follow.
const maxRequestOffers = 32

// probes notes which circuits got their one probe in this plan.
type probes map[market.Scope]bool

// request takes the offers that one more instance may be made of and that may be
// paid for, and false where there are none. What half open circuits cover goes into
// one request alone.
func (m *fleetOffers) request(probes probes, may func(fleet.Offer) bool) (Request, bool) {
	if m.unasked {
		return Request{}, true
	}
	var r Request
	for _, c := range m.choices {
		if len(r.Offers) == maxRequestOffers || c.rank() > 0 {
			break
		}
		taken := slices.ContainsFunc(
			c.probes,
			func(s market.Scope) bool { return probes[s] && !slices.Contains(r.Probes, s) },
		)
		if taken || !may(c.Offer) {
			continue
		}
		for _, s := range c.probes {
			probes[s] = true
			if !slices.Contains(r.Probes, s) {
				r.Probes = append(r.Probes, s)
			}
		}
		r.Offers = append(r.Offers, c.Offer)
	}
	if len(r.Offers) == 0 {
		return Request{}, false
	}
	if m.spread != nil { // the next one goes elsewhere
		m.spread[m.place(r.Offers[0])]++
		m.requireSpread()
		m.sort()
	}
	if !m.fleet.Market {
		r.Offers = nil
	}
	return r, true
}

// room is how many instances the offers are good for now: any number, one that
// probes, or none.
func (m *fleetOffers) room(probes probes) int {
	const any = 1 << 30
	if m.unasked {
		return any
	}
	room := 0
	for _, c := range m.choices {
		switch {
		case c.State == Usable:
			return any
		case c.State == MayProbe && !slices.ContainsFunc(c.probes, func(s market.Scope) bool { return probes[s] }):
			room = 1
		}
	}
	return room
}
