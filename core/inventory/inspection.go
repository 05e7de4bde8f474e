package inventory

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Inspection spacing. A settled provider is inspected now and then, one that can't be
// seen more often; one with something on its way is inspected eagerly at first, and
// less the longer it takes.
const (
	SettledInterval      = 30 * time.Second
	unobservableInterval = 5 * time.Second
	EagerInterval        = 500 * time.Millisecond
	// keysInterval spaces inspections by keys.
	keysInterval = 2 * time.Second
	// minKeys is how many keys may always be asked for instead of everything, where the
	// provider inspects by keys.
	minKeys = 4
	// longestRetryAfter bounds the wait that a provider asks for.
	longestRetryAfter = time.Hour
)

// NextInspection is when the provider should be inspected completely next. atOnce asks
// for it now; waitingSince is since when instances wait for what it shows. However much
// it is needed, the provider is left alone for as long as its plugin says.
func (p *Provider) NextInspection(now time.Time, atOnce bool, waitingSince []time.Time) time.Time {
	due := p.wantedInspection(now, atOnce, waitingSince)
	if p.Facts != nil && !p.ended.IsZero() {
		due = later(due, p.ended.Add(p.Facts.InspectionInterval))
	}
	return later(due, p.retryAfter)
}

func (p *Provider) wantedInspection(now time.Time, atOnce bool, waitingSince []time.Time) time.Time {
	if p.inspected.IsZero() || atOnce {
		return now
	}
	if p.hinted > p.InspectionStep { // however often it hints
		return p.inspected.Add(EagerInterval)
	}
	spacing := SettledInterval
	if !p.Unobservable.IsZero() {
		spacing = unobservableInterval
	}
	return p.inspected.Add(eagerness(now, spacing, EagerInterval, waitingSince))
}

// eagerness shortens a spacing for what waits: at first to the shortest, and the less
// the longer it takes.
func eagerness(now time.Time, spacing, shortest time.Duration, waitingSince []time.Time) time.Duration {
	for _, since := range waitingSince {
		waited := max(0, now.Sub(since))
		spacing = min(spacing, max(shortest, waited/10))
	}
	return spacing
}

// AsksForKeys says that so many keys are asked for one by one, between complete
// inspections.
func (p *Provider) AsksForKeys(keys int) bool {
	return p.Facts != nil && p.Facts.InspectsByKey && keys > 0 && keys <= max(minKeys, p.Facts.InspectionRequests)
}

// NextKeysInspection is when keys may be asked for next. waitingSince is since when
// instances wait for what that shows.
func (p *Provider) NextKeysInspection(now time.Time, waitingSince []time.Time) time.Time {
	spacing := eagerness(now, SettledInterval, keysInterval, waitingSince)
	return later(later(p.inspected, p.askedKeys).Add(spacing), p.retryAfter)
}

// BeginInspection notes that a step asked for an inspection, of some keys or of
// everything.
func (p *Provider) BeginInspection(now time.Time, step int, byKeys bool) {
	p.Inspecting = true
	if byKeys {
		p.askedKeys = now
		return
	}
	p.inspected, p.InspectionStep = now, step
}

// LastInspection is when the last inspection was asked for.
func (p *Provider) LastInspection() time.Time { return p.inspected }

// MakeDue makes an inspection due now: the clock was set back.
func (p *Provider) MakeDue() {
	p.inspected, p.askedKeys, p.ended, p.retryAfter = time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// EndInspection makes the listing of an inspection that has ended now. retryAfter is how
// long the provider asks to be left alone; 0: it doesn't say.
func (p *Provider) EndInspection(
	began, now time.Time, i fleet.Inspection, byKeys bool, retryAfter time.Duration,
) *Listing {
	p.Inspecting = false
	if !byKeys {
		p.ended = now
	}
	if retryAfter > 0 {
		p.retryAfter = now.Add(min(retryAfter, longestRetryAfter))
	}
	return NewListing(p.InspectionStep, began, i)
}

// Believe takes in a listing. failure is why it shows less than everything, zero if
// the provider calls it complete; known are the provider's instances, and
// listeningSince is since when this process has listened without a gap. It returns
// whether what the listing lacks is missing.
func (p *Provider) Believe(
	l *Listing,
	failure reason.Reason,
	known []*fleet.CapacityInstance,
	listeningSince time.Time,
) (complete bool) {
	if failure.IsZero() {
		failure = p.vanished(l, known, listeningSince)
	}
	if p.Facts != nil { // else it stays unobservable for being down
		p.Unobservable, p.Fault = failure, failure
	}
	if failure.IsZero() {
		p.Listing = l
	} else {
		p.firstListed = nil // what isn't listed without a gap isn't removed as an orphan
	}
	return failure.IsZero()
}

// vanishedFor is how long most of a provider's resources must be missing before
// that is believed.
const vanishedFor = 15 * time.Minute

// vanished says why a complete list is not believed: over half of at least three
// known resources are missing from it at once. An unmounted folder or a wrong
// region looks like that, too.
func (p *Provider) vanished(l *Listing, instances []*fleet.CapacityInstance, listeningSince time.Time) reason.Reason {
	known, missing := 0, 0
	for _, i := range instances {
		if i.SeenAt.IsZero() || !i.Live() || i.State == fleet.Terminating {
			continue
		}
		known++
		if _, ended := l.Ended(i); !ended && len(l.Of(i)) == 0 {
			missing++
		}
	}
	if known < 3 || 2*missing <= known {
		p.vanishing = time.Time{}
		return reason.Reason{}
	}
	if p.vanishing.IsZero() {
		p.vanishing = l.Began
	}
	if l.Began.Sub(later(p.vanishing, listeningSince)) >= vanishedFor {
		return reason.Reason{}
	}
	return reason.Of(reason.ResourcesVanished{Missing: missing, Known: known, After: reason.Duration(vanishedFor)})
}

// Settled says whether an inspection that began at a time began late enough to show
// everything that was there at another. What the clock says of time in which this
// process didn't listen isn't believed: it may have been set.
func (p *Provider) Settled(began, since, listeningSince time.Time) bool {
	return !began.Before(later(since, listeningSince).Add(p.Facts.ListSettle))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
