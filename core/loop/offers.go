package loop

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// ListOffers asks a provider's market what an instance block could be made of.
type ListOffers struct {
	Market   fleet.MarketKey
	Instance json.RawMessage
}

// OffersListed is the end of a ListOffers effect.
type OffersListed struct {
	Market  fleet.MarketKey
	List    fleet.OfferList
	Failure *Failure
}

func (ListOffers) isEffect()  {}
func (OffersListed) isEvent() {}

// recordOffers takes in what a market said. An answer that failed says nothing.
func (l *Loop) recordOffers(w *step, e OffersListed) {
	if e.Failure != nil {
		l.markets.RecordFailure(e.Market, e.Failure.Class, e.Failure.Message, e.Failure.RetryAfter, w.now)
		return
	}
	l.markets.Record(e.Market, e.List, w.now)
}

// marketKeys are the offers that the fleets need, in order.
func (w *step) marketKeys() []fleet.MarketKey {
	keys := map[fleet.MarketKey]bool{}
	for _, f := range w.fleets {
		if f.Market && f.Operational != fleet.FleetDraining {
			keys[f.MarketKey()] = true
		}
	}
	return slices.SortedFunc(maps.Keys(keys), func(a, b fleet.MarketKey) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Instance, b.Instance))
	})
}

// listOffers returns a ListOffers effect for every market that is due.
func (l *Loop) listOffers(w *step) []Effect {
	bodies := map[fleet.MarketKey]json.RawMessage{}
	for _, f := range w.fleets {
		bodies[f.MarketKey()] = f.Instance
	}
	var effects []Effect
	for _, key := range l.markets.Due(w.marketKeys(), w.now, l.reachable) {
		effects = append(effects, ListOffers{Market: key, Instance: bodies[key]})
	}
	return effects
}

// reachable says that a plugin process answers for the provider.
func (l *Loop) reachable(address fleet.ProviderAddress) bool { return l.provider(address).Facts != nil }

// offers are what the fleets' markets said last.
func (l *Loop) offers(w *step) map[fleet.MarketKey]fleet.OfferList {
	return l.markets.Offers(w.marketKeys())
}
