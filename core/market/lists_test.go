package market

import (
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func reachable(fleet.ProviderAddress) bool { return true }

func TestListsAskAFewMarketsOfAProviderAtATime(t *testing.T) {
	var l Lists
	var keys []fleet.MarketKey
	for _, instance := range []string{"a", "b", "c", "d", "e"} {
		keys = append(keys, fleet.MarketKey{Provider: cloud, Instance: instance})
	}
	due := l.Due(keys, noon, reachable)
	if !slices.Equal(due, keys[:maxQueries]) {
		t.Fatalf("due: %v", due)
	}
	for _, key := range due {
		l.Asked(key)
	}
	if due := l.Due(keys, noon, reachable); len(due) != 0 {
		t.Errorf("due while %d are asked: %v", maxQueries, due)
	}
	l.Record(keys[0], fleet.OfferList{}, noon)
	if due := l.Due(keys, noon, reachable); !slices.Equal(due, keys[maxQueries:]) {
		t.Errorf("due after one answered: %v", due)
	}
}

func TestListsKeepOldOffersWhileAMarketFails(t *testing.T) {
	var l Lists
	key := fleet.MarketKey{Provider: cloud, Instance: "a"}
	l.Record(key, fleet.OfferList{Offers: []fleet.Offer{{Zone: "a"}}}, noon)
	l.RecordFailure(key, fleet.ErrorTransient, "closed", 0, noon.Add(RefreshInterval))
	list := l.Offers([]fleet.MarketKey{key})[key]
	if len(list.Offers) != 1 || list.Failure != "closed" || !list.Read.Equal(noon) {
		t.Errorf("list: %+v", list)
	}
	if next := l.NextQuery(key); !next.Equal(noon.Add(RefreshInterval + FirstRetry)) {
		t.Errorf("next query: %s", next)
	}
	l.RetryFailed()
	if !l.NextQuery(key).IsZero() {
		t.Error("RetryFailed must make the market due")
	}
	l.RecordFailure(key, fleet.ErrorRateLimit, "throttled", 10*time.Minute, noon)
	l.RetryFailed()
	if next := l.NextQuery(key); !next.Equal(noon.Add(10 * time.Minute)) {
		t.Errorf("a wait that the market asked for must stand, next query: %s", next)
	}
}

func TestListsForgetMarketsThatNobodyWants(t *testing.T) {
	var l Lists
	key := fleet.MarketKey{Provider: cloud, Instance: "a"}
	l.Record(key, fleet.OfferList{}, noon)
	l.Due(nil, noon, reachable)
	if offers := l.Offers([]fleet.MarketKey{key}); len(offers) != 0 {
		t.Errorf("offers: %v", offers)
	}
}
