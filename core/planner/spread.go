package planner

import (
	"cmp"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// countSpread counts the fleet's instances where they are or will be.
func (m *fleetOffers) countSpread(instances []snapshot.Instance) {
	p := m.fleet.Placement
	if p.Spread != fleet.SpreadZone && p.Spread != fleet.SpreadRegion {
		return
	}
	m.spread = map[string]int{}
	for _, i := range instances {
		zone := cmp.Or(i.Zone, i.HeadsFor)
		if zone == "" || !lifecycle.Capacity(i.State, false) {
			continue
		}
		n := slices.IndexFunc(m.list.Offers, func(o fleet.Offer) bool { return o.Zone == zone })
		switch {
		case p.Spread == fleet.SpreadZone:
			m.spread[zone]++
		case n >= 0:
			m.spread[m.list.Offers[n].Region]++
		}
	}
}

// place is where an offer counts for the spread.
func (m *fleetOffers) place(o fleet.Offer) string {
	if m.fleet.Placement.Spread == fleet.SpreadRegion {
		return o.Region
	}
	return o.Zone
}

// requireSpread leaves out what would make the spread uneven, where it is a rule.
// A place without room stays the next one: a rule isn't relaxed for a shortage.
func (m *fleetOffers) requireSpread() {
	if m.spread == nil || !m.fleet.Placement.Required {
		return
	}
	fewest := -1
	for at, c := range m.choices {
		m.choices[at].OfferChoice = c.even
		if n := m.spread[m.place(c.Offer)]; c.even.State != LeftOut && (fewest < 0 || n < fewest) {
			fewest = n
		}
	}
	for n, c := range m.choices {
		if has := m.spread[m.place(c.Offer)]; c.even.State != LeftOut && has > fewest {
			m.choices[n].State, m.choices[n].passing = LeftOut, true
			m.choices[n].Reason = reason.Of(reason.OfferUneven{Here: has, Elsewhere: fewest})
		}
	}
}
