package market

import (
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/retry"
)

// Lists are what the markets said last. What was read stays until something newer
// is: old offers are better than none, and their age is shown.
type Lists struct {
	byKey map[fleet.MarketKey]*market
}

// market is what is known of one of them.
type market struct {
	list   fleet.OfferList
	asking bool
	// delayed says that it said how long to wait after its last failure.
	delayed  bool
	failures int
}

const (
	// RefreshInterval is how often a market is asked that answers.
	RefreshInterval = 5 * time.Minute
	// FirstRetry is how soon one is asked again that doesn't, doubling to
	// RefreshInterval.
	FirstRetry = 10 * time.Second
	// longestDelay bounds the wait that a market asks for.
	longestDelay = time.Hour
	// maxQueries bounds the queries under way at one provider.
	maxQueries = 4
)

func (l *Lists) market(key fleet.MarketKey) *market {
	if l.byKey == nil {
		l.byKey = map[fleet.MarketKey]*market{}
	}
	m := l.byKey[key]
	if m == nil {
		m = &market{}
		l.byKey[key] = m
	}
	return m
}

// Record takes in what a market listed.
func (l *Lists) Record(key fleet.MarketKey, list fleet.OfferList, now time.Time) {
	m := l.market(key)
	m.asking, m.failures, m.list = false, 0, list
	m.list.Read, m.list.Failure, m.list.FailureClass, m.list.Next = now, "", "", now.Add(RefreshInterval)
}

// RecordFailure takes in that a market gave no list, which says nothing about its
// offers. One that only a person can mend is asked again as rarely as one that answers.
// retryAfter is how long it wants to be left alone; 0: it didn't say.
func (l *Lists) RecordFailure(
	key fleet.MarketKey, class fleet.ErrorClass, message string, retryAfter time.Duration, now time.Time,
) {
	m := l.market(key)
	m.asking = false
	wait := retry.Delay(FirstRetry, m.failures, RefreshInterval)
	if class.NeedsPerson() {
		wait = RefreshInterval
	}
	m.failures++
	m.delayed = retryAfter > wait
	m.list.Failure, m.list.FailureClass = message, class
	m.list.Next = now.Add(min(max(wait, retryAfter), longestDelay))
}

// Asked notes that a market is being asked.
func (l *Lists) Asked(key fleet.MarketKey) { l.market(key).asking = true }

// Due are those of the wanted markets, in their order, that are to be asked now.
// Those that nothing wants any more are forgotten.
func (l *Lists) Due(
	wanted []fleet.MarketKey,
	now time.Time,
	reachable func(fleet.ProviderAddress) bool,
) []fleet.MarketKey {
	maps.DeleteFunc(
		l.byKey,
		func(key fleet.MarketKey, m *market) bool { return !m.asking && !slices.Contains(wanted, key) },
	)
	asking := map[fleet.ProviderAddress]int{}
	for key, m := range l.byKey {
		if m.asking {
			asking[key.Provider]++
		}
	}
	var due []fleet.MarketKey
	for _, key := range wanted {
		m := l.market(key)
		if m.asking || asking[key.Provider] >= maxQueries || m.list.Next.After(now) || !reachable(key.Provider) {
			continue
		}
		asking[key.Provider]++
		due = append(due, key)
	}
	return due
}

// NextQuery is when a market is to be asked next; zero: it is being asked, or at
// once.
func (l *Lists) NextQuery(key fleet.MarketKey) time.Time {
	if m := l.byKey[key]; m != nil && !m.asking {
		return m.list.Next
	}
	return time.Time{}
}

// Offers are the lists of markets. It is never nil: who keeps Lists can ask.
func (l *Lists) Offers(keys []fleet.MarketKey) map[fleet.MarketKey]fleet.OfferList {
	out := map[fleet.MarketKey]fleet.OfferList{}
	for _, key := range keys {
		if m := l.byKey[key]; m != nil {
			out[key] = m.list
		}
	}
	return out
}

// ForgetProvider drops what a provider offered: it reaches another account now.
func (l *Lists) ForgetProvider(provider fleet.ProviderAddress) {
	for key, m := range l.byKey {
		if key.Provider == provider {
			m.list, m.failures = fleet.OfferList{}, 0
		}
	}
}

// RetryFailed makes the markets due that gave no list last, but for those that said
// how long to wait. Their failures stay counted.
func (l *Lists) RetryFailed() {
	for _, m := range l.byKey {
		if m.list.Failure != "" && !m.delayed {
			m.list.Next = time.Time{}
		}
	}
}

// MakeDue makes all of them due: the clock was set back.
func (l *Lists) MakeDue() {
	for _, m := range l.byKey {
		m.list.Next = time.Time{}
	}
}
