package loop

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

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

// marketMemory is what is known of one market. What was read stays until something
// newer is: old offers are better than none, and their age is shown.
type marketMemory struct {
	list   fleet.OfferList
	asking bool
	// told says that it said how long to wait after its last failure.
	told     bool
	failures int
}

const (
	// refreshOffers is how often a market is asked that answers.
	refreshOffers = 5 * time.Minute
	// askAgain is how soon one is asked again that doesn't, doubling to refreshOffers.
	askAgain = 10 * time.Second
	// askLimit bounds the questions under way at one provider.
	askLimit = 4
)

func (m *memory) market(key fleet.MarketKey) *marketMemory {
	s := m.markets[key]
	if s == nil {
		s = &marketMemory{}
		m.markets[key] = s
	}
	return s
}

// offersListed takes in what a market said. An answer that failed says nothing.
func (l *Loop) offersListed(w *work, e OffersListed) {
	m := l.market(e.Market)
	m.asking = false
	if e.Failure != nil {
		wait := doubling(askAgain, m.failures, refreshOffers)
		m.failures++
		m.told = e.Failure.RetryAfter > wait
		m.list.Failure, m.list.Next = e.Failure.Message, w.now.Add(min(max(wait, e.Failure.RetryAfter), time.Hour))
		return
	}
	m.failures = 0
	m.list = e.List
	m.list.Read, m.list.Failure, m.list.Next = w.now, "", w.now.Add(refreshOffers)
}

// forgetOffers drops what another account of a provider offered.
func (m *memory) forgetOffers(provider fleet.ProviderAddress) {
	for key, s := range m.markets {
		if key.Provider == provider {
			s.list, s.failures = fleet.OfferList{}, 0
		}
	}
}

// marketKeys are the offers that the fleets need, in order.
func (w *work) marketKeys() []fleet.MarketKey {
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

// listings returns a ListOffers effect for every market that is due, and forgets
// those that no fleet needs any more.
func (l *Loop) listings(w *work) []Effect {
	keys := w.marketKeys()
	maps.DeleteFunc(l.markets, func(key fleet.MarketKey, m *marketMemory) bool { return !m.asking && !slices.Contains(keys, key) })
	bodies := make(map[fleet.MarketKey]json.RawMessage, len(keys))
	for _, f := range w.fleets {
		bodies[f.MarketKey()] = f.Instance
	}
	asking := map[fleet.ProviderAddress]int{}
	for key, m := range l.markets {
		if m.asking {
			asking[key.Provider]++
		}
	}
	var effects []Effect
	for _, key := range keys {
		m := l.market(key)
		if m.asking || asking[key.Provider] >= askLimit || m.list.Next.After(w.now) || l.provider(key.Provider).facts == nil {
			continue
		}
		asking[key.Provider]++
		effects = append(effects, ListOffers{Market: key, Instance: bodies[key]})
	}
	return effects
}

// offers are what the fleets' markets said last. It is never nil: this process
// can ask.
func (l *Loop) offers(w *work) map[fleet.MarketKey]fleet.OfferList {
	out := map[fleet.MarketKey]fleet.OfferList{}
	for _, key := range w.marketKeys() {
		if m := l.markets[key]; m != nil {
			out[key] = m.list
		}
	}
	return out
}
