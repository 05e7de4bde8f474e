package planner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/breaker"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// Request is what one new instance may be made of.
type Request struct {
	// Offers are ordered and exhaustive; none: its provider has no market.
	Offers []fleet.Offer
	// Probes are the circuits that the instance is the one to try.
	Probes []breaker.Scope
	// Make is what it is made from in the place of the fleet's own definition; nil:
	// that.
	Make *fleet.Make
}

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
	// Reason is why it isn't usable; "": it is.
	Reason string `json:"reason,omitempty"`
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
	probes []breaker.Scope
	// passing says that the reason it is left out for goes by by itself.
	passing bool
	// even is what it is, the spread aside.
	even OfferChoice
}

// market is what a fleet's next instances could be made of.
type market struct {
	fleet   fleet.ManagedFleet
	list    fleet.OfferList
	choices []choice
	// silent says that its market has never answered, unasked that nobody could ask.
	silent, unasked bool
	// spread counts the fleet's instances by place, for whatever it is spread over.
	spread map[string]int
}

// maxRequestOffers bounds the offers of one request: it is stored with each
// operation. The first ones are the best; when they have no room others follow.
const maxRequestOffers = 32

// marketOf judges the offers for a fleet. Without a market there is one, of which
// only the lifetime and the fleet's own price are known.
func marketOf(in Input, f fleet.ManagedFleet, instances []Instance) *market {
	m := &market{fleet: f}
	lifetime := cmp.Or(f.Lifetime, fleet.LifetimeStable)
	offers := []fleet.Offer{{Lifetime: lifetime}}
	if f.Market {
		var answered bool
		m.list, answered = in.Offers[f.MarketKey()]
		m.unasked = in.Offers == nil
		m.silent = !m.unasked && (!answered || m.list.Read.IsZero())
		offers = m.list.Offers
	}
	m.countSpread(instances)
	for _, o := range offers {
		c := choice{OfferChoice: OfferChoice{Offer: o, State: Usable, Hourly: o.Price}}
		if o.Price.Currency == "" {
			c.Hourly = f.Cost.Hourly
		}
		if f.Market {
			c.Reason, c.passing = m.unfit(in.Now, c)
		}
		if c.Reason != "" {
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

// countSpread counts the fleet's instances where they are or will be.
func (m *market) countSpread(instances []Instance) {
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
func (m *market) place(o fleet.Offer) string {
	if m.fleet.Placement.Spread == fleet.SpreadRegion {
		return o.Region
	}
	return o.Zone
}

// requireSpread leaves out what would make the spread uneven, where it is a rule.
// A place without room stays the next one: a rule isn't relaxed for a shortage.
func (m *market) requireSpread() {
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
			m.choices[n].Reason = sentence("%d of the fleet are there and %d elsewhere, and the spread is required", has, fewest)
		}
	}
}

// sort puts first what may be used: the fewest of the fleet's instances first where
// it is spread, then by price for a host of the class, since nobody uses what is
// beyond that. The rest decides among equals, so that the order never changes by
// itself.
func (m *market) sort() {
	slices.SortFunc(m.choices, func(a, b choice) int {
		return cmp.Or(
			cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(m.spread[m.place(a.Offer)], m.spread[m.place(b.Offer)]),
			compareHourly(a.Hourly, b.Hourly),
			cmp.Compare(a.Resources.CPUMilli, b.Resources.CPUMilli), cmp.Compare(a.Resources.MemoryBytes, b.Resources.MemoryBytes),
			cmp.Compare(a.Region, b.Region), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.MachineType, b.MachineType), cmp.Compare(a.Lifetime, b.Lifetime),
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
	return cmp.Or(compareBool(a.Currency == "", b.Currency == ""), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Micros, b.Micros))
}

// unfit says why an offer isn't for the fleet, whatever room there is, and whether
// that may pass; "": it is. Nothing here is relaxed, and the price least of all
// decides what is allowed [108].
func (m *market) unfit(now time.Time, c choice) (why string, passing bool) {
	f, o := m.fleet, c.Offer
	lifetime := cmp.Or(f.Lifetime, fleet.LifetimeStable)
	switch {
	case o.Lifetime != lifetime:
		return sentence("it is %s, and the fleet %s", o.Lifetime, lifetime), false
	case len(f.Placement.Regions) > 0 && !slices.Contains(f.Placement.Regions, o.Region):
		return sentence("its region %.60q isn't among %s", o.Region, quoted(f.Placement.Regions)), false
	case len(f.Placement.Zones) > 0 && !slices.Contains(f.Placement.Zones, o.Zone):
		return sentence("its zone %.60q isn't among %s", o.Zone, quoted(f.Placement.Zones)), false
	case f.Cost.Hourly.Currency != "" && c.Hourly.Currency != f.Cost.Hourly.Currency:
		return sentence("its price is in %s, and the fleet's costs are in %s", c.Hourly.Currency, f.Cost.Hourly.Currency), false
	case o.Available != nil && *o.Available == 0 && !outdated(m.list, now):
		return "none of it is left", true
	}
	return lacksResources(f.Class.Resources, o.Resources), false
}

// lacksResources says which resource of the class an offer hasn't got; "": it has
// them all. A market may not say how much cpu, memory or disk there is; a gpu or
// anything else of a name that isn't said isn't there.
func lacksResources(class, offer fleet.ResourceCapacity) string {
	for _, d := range dimensions(class, offer) {
		said := d.host > 0 || !slices.Contains([]string{"cpu", "memory", "disk"}, d.name)
		if said && d.host < d.job {
			return sentence("it has %s, and the class asks for %s", d.text(d.host), d.text(d.job))
		}
	}
	return ""
}

// askCircuits asks every circuit over the offer: the one that lets it be used last
// decides.
func (c *choice) askCircuits(in Input, provider fleet.ProviderAddress) {
	for _, over := range in.Circuits.Over(provider, c.Offer) {
		state := NoRoom
		switch over.State(in.Now) {
		case breaker.HalfOpen:
			state = MayProbe
			c.probes = append(c.probes, over.Scope)
		case breaker.Probing:
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
			c.State, c.Reason, c.Said = state, "no "+string(over.Class), over.Message
		}
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
func (m *market) hourly() fleet.Money {
	best, found := m.fleet.Cost.Hourly, false
	for _, c := range m.choices {
		if c.State != LeftOut && (!found || compareHourly(c.Hourly, best) < 0) {
			best, found = c.Hourly, true
		}
	}
	return best
}

// probeBook notes which circuits got their one probe in this plan.
type probeBook map[breaker.Scope]bool

// request takes the offers that one more instance may be made of, and false where
// there are none. What half open circuits cover goes into one request alone.
func (m *market) request(book probeBook) (Request, bool) {
	if m.unasked {
		return Request{}, true
	}
	var r Request
	for _, c := range m.choices {
		if len(r.Offers) == maxRequestOffers || c.rank() > 0 {
			break
		}
		taken := slices.ContainsFunc(c.probes, func(s breaker.Scope) bool { return book[s] && !slices.Contains(r.Probes, s) })
		if taken {
			continue
		}
		for _, s := range c.probes {
			book[s] = true
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
func (m *market) room(book probeBook) int {
	const any = 1 << 30
	if m.unasked {
		return any
	}
	room := 0
	for _, c := range m.choices {
		switch {
		case c.State == Usable:
			return any
		case c.State == MayProbe && !slices.ContainsFunc(c.probes, func(s breaker.Scope) bool { return book[s] }):
			room = 1
		}
	}
	return room
}

// hold keeps a fleet none of whose offers can be used; nil: one can.
func (m *market) hold(now time.Time) *Hold {
	if m.room(nil) > 0 {
		return nil
	}
	h := &Hold{Constrained: true}
	switch {
	case m.silent && m.list.Failure != "":
		h.Reason, h.Until = sentence("What its provider offers isn't known: %s", m.list.Failure), m.list.Next
	case m.silent:
		h.Reason, h.Until = "What its provider offers isn't known yet; it is being asked.", m.list.Next
	case len(m.choices) == 0:
		h.Reason, h.NeedsPerson = "Its provider offers nothing for its instance block.", true
	case m.choices[0].State == LeftOut:
		h.Reason = sentence("None of %s will do: %s.", plural(len(m.choices), "offer"), m.named(func(c choice) string { return c.label() + ": " + c.Reason }, "; "))
		h.NeedsPerson = !slices.ContainsFunc(m.choices, func(c choice) bool { return c.passing })
	default:
		h.Reason = sentence("No room in any of its offers: %s.", m.named(func(c choice) string { return c.label() + " (" + c.Reason + ")" }, ", "))
		h.Reason, h.Until = h.Reason+m.lastWord(), m.nextTry()
	}
	if !h.Until.After(now) {
		h.Until = time.Time{} // it is under way
	}
	return h
}

// lastWord is what was said where the next try is.
func (m *market) lastWord() string {
	first := m.choices[0]
	for _, c := range m.choices {
		if c.State == Probed {
			return " One request tries now."
		}
		if c.State == NoRoom && c.Next.Before(first.Next) {
			first = c
		}
	}
	if first.Said == "" {
		return ""
	}
	return sentence(" Last: %.200s", first.Said)
}

// nextTry is when the first of the offers without room may be tried again; zero:
// one is being tried.
func (m *market) nextTry() (next time.Time) {
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

// named lists the offers of the first one's rank, as far as a sentence goes.
func (m *market) named(text func(choice) string, between string) string {
	const most = 4
	var parts []string
	all := 0
	for _, c := range m.choices {
		if c.rank() != m.choices[0].rank() {
			break
		}
		if all++; all <= most {
			parts = append(parts, text(c))
		}
	}
	out := strings.Join(parts, between)
	if all > most {
		out += sentence(" and %d more", all-most)
	}
	return out
}

// label is the offer's name; of one without a market only the lifetime is known.
func (c OfferChoice) label() string {
	if c.Zone == "" && c.MachineType == "" && c.Region == "" {
		return "any " + string(c.Lifetime) + " host"
	}
	return c.Name()
}
