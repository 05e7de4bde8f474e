package planner

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// OfferState says whether an offer may be used now.
type OfferState string

// The states of an offer. NoRoom waits for its next try, MayProbe lets one request
// try, Probed is being tried, and LeftOut isn't for the fleet.
const (
	Usable   OfferState = "usable"
	MayProbe OfferState = "may_probe"
	Probed   OfferState = "probed"
	NoRoom   OfferState = "no_room"
	LeftOut  OfferState = "left_out"
)

// OfferChoice is one offer with what speaks for and against it.
type OfferChoice struct {
	fleet.Offer
	// Hourly is the price that it is compared by: its own, or the fleet's where the
	// market says none.
	Hourly fleet.Money `json:"hourly,omitzero"`
	State  OfferState  `json:"state"`
	// Reason is why it isn't usable; zero: it is.
	Reason reason.Reason `json:"reason,omitzero"`
	// Since is when there began to be no room, Next when one request may try.
	Since time.Time `json:"since,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	// Said is what the infrastructure said last about the lack of room.
	Said string `json:"said,omitempty"`
}

// choice is an offer while the plan is made.
type choice struct {
	OfferChoice
	// probes are the half open circuits over it.
	probes []market.Scope
	// passing says that the reason it is left out for goes by by itself.
	passing bool
	// even is what it is, the spread aside.
	even OfferChoice
}

// fleetOffers are what a fleet's next instances could be made of.
type fleetOffers struct {
	fleet   fleet.ManagedFleet
	list    fleet.OfferList
	choices []choice
	// guarded says that it has a cost guardrail, against which what has no price can't
	// be held.
	guarded bool
	// silent says that its market has never answered, unasked that no one could ask.
	silent, unasked bool
	// fault is what went wrong with its provider last; "": nothing that is known.
	fault reason.Reason
	// spread counts the fleet's instances by place, for whatever it is spread over.
	spread map[string]int
}

// offersFor evaluates the offers for a fleet. Without a market there is one, of which
// only the lifetime and the fleet's own price are known.
func offersFor(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance) *fleetOffers {
	m := &fleetOffers{fleet: f, fault: in.Faults[f.Provider]}
	lifetime := cmp.Or(f.Lifetime, fleet.LifetimeStable)
	offers := []fleet.Offer{{Lifetime: lifetime}}
	if f.Market {
		var answered bool
		m.list, answered = in.Offers[f.MarketKey()]
		m.unasked = in.Offers == nil
		m.silent = !m.unasked && (!answered || m.list.Read.IsZero())
		offers = m.list.Offers
	}
	maxHourly, maxDaily := in.Overrides.CostLimits(f, in.Now)
	m.guarded = !maxHourly.IsZero() || !maxDaily.IsZero()
	m.countSpread(instances)
	for _, o := range offers {
		c := choice{OfferChoice: OfferChoice{Offer: o, State: Usable, Hourly: o.Price}}
		if o.Price.Currency == "" {
			c.Hourly = f.Cost.Hourly
		}
		if f.Market {
			var why reason.Detail
			why, c.passing = m.unfit(in.Now, c)
			c.Reason = reason.Of(why)
		}
		if !c.Reason.IsZero() {
			c.State = LeftOut
		} else {
			c.askCircuits(in, f.Provider)
		}
		c.even = c.OfferChoice
		m.choices = append(m.choices, c)
	}
	m.requireSpread()
	m.sort()
	return m
}

// sort puts first what may be used: the fewest of the fleet's instances first where
// it is spread, then by price for a host of the class, since no one uses what is
// beyond that. The rest decides among equals, so that the order never changes by
// itself.
func (m *fleetOffers) sort() {
	slices.SortFunc(m.choices, func(a, b choice) int {
		return cmp.Or(
			cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(m.spread[m.place(a.Offer)], m.spread[m.place(b.Offer)]),
			compareHourly(a.Hourly, b.Hourly),
			cmp.Compare(
				a.Resources.CPUMilli,
				b.Resources.CPUMilli,
			),
			cmp.Compare(a.Resources.MemoryBytes, b.Resources.MemoryBytes),
			cmp.Compare(
				a.Region,
				b.Region,
			),
			cmp.Compare(a.Zone, b.Zone),
			cmp.Compare(a.MachineType, b.MachineType),
			cmp.Compare(a.Lifetime, b.Lifetime),
		)
	})
}

// rank puts what may be used before what waits, and that before what is left out.
func (c OfferChoice) rank() int {
	switch c.State {
	case Usable, MayProbe:
		return 0
	case NoRoom, Probed:
		return 1
	}
	return 2
}

// compareHourly puts what has no price last: it may cost anything.
func compareHourly(a, b fleet.Money) int {
	return cmp.Or(
		compareBool(a.Currency == "", b.Currency == ""),
		cmp.Compare(a.Currency, b.Currency),
		cmp.Compare(a.Micros, b.Micros),
	)
}

// unfit says why an offer isn't for the fleet, whatever room there is, and whether
// that may pass; nil: it is. Nothing here is relaxed, and the price least of all
// decides what is allowed (spec §108).
func (m *fleetOffers) unfit(now time.Time, c choice) (why reason.Detail, passing bool) {
	f, o := m.fleet, c.Offer
	lifetime := cmp.Or(f.Lifetime, fleet.LifetimeStable)
	switch {
	case o.Lifetime != lifetime:
		return reason.OfferLifetimeDiffers{Offer: string(o.Lifetime), Required: string(lifetime)}, false
	case len(f.Placement.Regions) > 0 && !slices.Contains(f.Placement.Regions, o.Region):
		return reason.OfferPlaceDisallowed{
			Kind:    "region",
			Place:   o.Region,
			Allowed: reason.ListOf(f.Placement.Regions...),
		}, false
	case len(f.Placement.Zones) > 0 && !slices.Contains(f.Placement.Zones, o.Zone):
		return reason.OfferPlaceDisallowed{Kind: "zone", Place: o.Zone, Allowed: reason.ListOf(f.Placement.Zones...)}, false
	case o.Platform.OS != "" && o.Platform.OS != f.Class.Platform.OS:
		return reason.OfferPlatformDiffers{Kind: "os", Offer: o.Platform.OS, Required: f.Class.Platform.OS}, false
	case o.Platform.Arch != "" && o.Platform.Arch != f.Class.Platform.Arch:
		return reason.OfferPlatformDiffers{Kind: "arch", Offer: o.Platform.Arch, Required: f.Class.Platform.Arch}, false
	case m.guarded && c.Hourly.Currency == "":
		return reason.OfferUnpriced{}, false
	case f.Cost.Currency() != "" && c.Hourly.Currency != "" && c.Hourly.Currency != f.Cost.Currency():
		return reason.OfferCurrencyDiffers{Offer: c.Hourly.Currency, Required: f.Cost.Currency()}, false
	case o.Available != nil && *o.Available == 0 && !outdated(m.list, now):
		return reason.OfferSoldOut{}, true
	case o.Unavailable != "" && !outdated(m.list, now):
		return reason.OfferUnavailable{Message: o.Unavailable}, true
	}
	return lacksResources(f.Class.Resources, o.Resources), false
}

// lacksResources says which resource of the class an offer hasn't got; nil: it has
// them all. A market may not say how much cpu, memory or disk there is; a gpu or
// anything else of a name that isn't said isn't there.
func lacksResources(class, offer fleet.ResourceCapacity) reason.Detail {
	for _, d := range dimensions(class, offer) {
		said := d.host > 0 || !slices.Contains([]string{"cpu", "memory", "disk"}, d.name)
		if said && d.host < d.job {
			return reason.OfferTooSmall{Resource: d.name, Has: d.host, Required: d.job}
		}
	}
	return nil
}

// askCircuits asks every circuit over the offer: the one that lets it be used last
// decides.
func (c *choice) askCircuits(in *planning, provider fleet.ProviderAddress) {
	class := ""
	for _, over := range in.Circuits.Affecting(provider, c.Offer) {
		state := NoRoom
		switch over.State(in.Now) {
		case market.HalfOpen:
			state = MayProbe
			c.probes = append(c.probes, over.Scope)
		case market.Probing:
			state = Probed
		}
		if c.Since.IsZero() || over.Since.Before(c.Since) {
			c.Since = over.Since
		}
		if state == NoRoom && over.Until.After(c.Next) {
			c.Next = over.Until
		}
		worse := c.State == Usable || state == NoRoom || state == Probed && c.State == MayProbe
		if worse {
			c.State, c.Said, class = state, over.Message, string(over.Class)
		}
	}
	if class != "" {
		why := reason.OfferExhausted{Class: class, Since: reason.At(c.Since), Trying: c.State == Probed}
		if c.State == NoRoom {
			why.NextTry = reason.At(c.Next)
		}
		c.Reason = reason.Of(why)
	}
}

// outdatedAfter is the age from which offers are called outdated. They are used
// all the same: there are no better ones.
const outdatedAfter = 15 * time.Minute

func outdated(l fleet.OfferList, now time.Time) bool {
	return l.Failure != "" || now.Sub(l.Of()) > outdatedAfter
}

// hourly is what a host of the fleet costs, by the best offer that is for it,
// whether or not it has room now: a shortage mustn't change which fleet is
// preferred.
func (m *fleetOffers) hourly() fleet.Money {
	best, found := m.fleet.Cost.Hourly, false
	for _, c := range m.choices {
		if c.State != LeftOut && (!found || compareHourly(c.Hourly, best) < 0) {
			best, found = c.Hourly, true
		}
	}
	return best
}
