package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// OfferReport shows a person what a fleet's next instances could be made of.
type OfferReport struct {
	// Considered are the offers, the first to be used first, as far as they are
	// shown; More is how many others there are.
	Considered []OfferChoice `json:"considered"`
	More       int           `json:"more,omitempty"`
	// Of is when the offers are from; zero: they are the fleet's own, or not known.
	Of time.Time `json:"of,omitzero"`
	// Outdated says that they are old, or couldn't be refreshed, by Failure.
	Outdated bool   `json:"outdated,omitempty"`
	Failure  string `json:"failure,omitempty"`
	// Ignored is what of the market's answer couldn't be used.
	Ignored []string `json:"ignored,omitempty"`
	// Market says that the provider lists them; without it there is one, of which
	// only the lifetime and the fleet's own price are known.
	Market bool `json:"market,omitempty"`
}

// shownOffers is how many offers of a fleet are shown.
const shownOffers = 20

// report is the market for people; nil where a person brings the hosts, or where
// no one has asked.
func (m *fleetOffers) report(now time.Time) *OfferReport {
	if m.fleet.Joined || m.unasked {
		return nil
	}
	r := &OfferReport{Market: m.fleet.Market, Of: m.list.Of(), Failure: m.list.Failure, Ignored: m.list.Ignored}
	r.Outdated = m.fleet.Market && outdated(m.list, now)
	shown := min(len(m.choices), shownOffers)
	r.Considered, r.More = make([]OfferChoice, 0, shown), len(m.choices)-shown
	for _, c := range m.choices[:shown] {
		r.Considered = append(r.Considered, c.OfferChoice)
	}
	return r
}

// Worth says whether there is something to show that the fleet's own block doesn't.
func (r *OfferReport) Worth() bool {
	return r != nil && (r.Market || len(r.Considered) > 0 && r.Considered[0].State != Usable)
}

// constrain holds the fleets none of whose offers can be used. What an earlier plan
// held for that is evaluated again.
func (in *planning) constrain() {
	holds := make(map[fleet.RunnerFleetID]snapshot.Hold, len(in.Holds))
	for id, h := range in.Holds {
		if !h.Constrained {
			holds[id] = h
		}
	}
	in.markets, in.probes = make(map[fleet.RunnerFleetID]*fleetOffers, len(in.fleets)), probes{}
	for _, f := range in.fleets {
		m := offersFor(in, f, in.byFleet[f.ID])
		in.markets[f.ID] = m
		hold, isHeld := holds[f.ID]
		if f.Joined || f.Operational == fleet.FleetDraining || isHeld && hold.InForce(in.Now) {
			continue
		}
		if h := m.hold(in.Now); h != nil {
			holds[f.ID] = *h
		}
	}
	in.holds = holds
}

// requests are the requests of as many new instances as the offers allow.
func (in *planning) requests(f fleet.ManagedFleet, create int) []Request {
	out := make([]Request, 0, create)
	budget := in.budgets[f.ID]
	for n := range create {
		may := func(o fleet.Offer) bool { return budget.fits(f.Cost.Of(o), create-n-1) }
		r, ok := in.markets[f.ID].request(in.probes, may)
		if !ok {
			break
		}
		budget.take(f.Cost.Of(r.Offers...))
		out = append(out, r)
	}
	return out
}
