package simulation

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// offersOf is the market of the first cloud: three zones of two machine types.
func offersOf() []fleet.Offer {
	var out []fleet.Offer
	for z := range 3 {
		for m := range 2 {
			out = append(out, fleet.Offer{
				Zone: fmt.Sprintf(
					"zone-%d",
					z,
				),
				Region:      "east",
				MachineType: fmt.Sprintf("type-%d", m),
				Lifetime:    fleet.LifetimeStable,
				Price:       fleet.Money{Micros: int64(100 + 10*z + 100*m), Currency: "USD"},
			})
		}
	}
	return out
}

// shortage says what a fault of the kind leaves without room: a zone, a machine
// type, or one in the other, and whether it is the quota that is used up.
func (f Fault) shortage() (zone, machineType string, class fleet.ErrorClass) {
	class = fleet.ErrorCapacity
	if f.Draw/16%4 == 0 {
		class = fleet.ErrorQuota
	}
	zone, machineType = fmt.Sprintf("zone-%d", f.Draw/64%3), fmt.Sprintf("type-%d", f.Draw/256%2)
	switch f.Draw % 4 {
	case 0:
		return zone, "", class
	case 1:
		return "", machineType, class
	}
	return zone, machineType, class
}

// roomFor says what an offer lacks now; "": it can be had.
func (c *cloud) roomFor(o fleet.Offer) (zone, machineType string, class fleet.ErrorClass) {
	for _, f := range c.w.faults {
		if f.Kind != ZoneShortage || c.w.at < f.At || c.w.at >= f.At+f.For {
			continue
		}
		zone, machineType, class := f.shortage()
		if (zone == "" || zone == o.Zone) && (machineType == "" || machineType == o.MachineType) {
			return zone, machineType, class
		}
	}
	return "", "", ""
}

// pick takes the first offer of a request that can be had. Like plugins do, it goes
// on to the next one or says where there was no room and leaves it to the manager.
func (c *cloud) pick(offers []fleet.Offer) (fleet.Offer, *loop.Failure) {
	var last *loop.Failure
	for _, o := range offers {
		zone, machineType, class := c.roomFor(o)
		if class == "" {
			return o, nil
		}
		last = &loop.Failure{
			Class:       class,
			Message:     "no room in " + o.Zone + " for " + o.MachineType,
			Zone:        zone,
			MachineType: machineType,
		}
		if c.random.IntN(2) == 0 {
			return fleet.Offer{}, last
		}
	}
	if last != nil {
		last.Zone, last.MachineType = "", "" // none of them
	}
	return fleet.Offer{}, last
}

// listOffers answers a question for offers.
func (c *cloud) listOffers(life int, e loop.ListOffers) {
	c.w.after(c.seconds(0.1, 4), func() {
		out := loop.OffersListed{Market: e.Market, List: fleet.OfferList{Offers: c.w.priced(offersOf())}}
		switch {
		case !c.up:
			out.Failure = transient("no plugin answers")
		case c.w.during(RegionOutage, c.number) || c.w.during(MarketSilent, -1):
			out.Failure = transient("503 from the market")
		}
		c.w.manager.deliver(life, out)
	})
}

// noRequestIsMadeForWhereThereIsNoRoom: "provider errors are classified;", and what
// they say is minded. A request that is made now holds no offer of an open circuit,
// and of one that is half open only where it is the one that tries.
func (w *world) noRequestIsMadeForWhereThereIsNoRoom(res loop.Result) {
	const name = "no request is made for where there is no room"
	for _, t := range res.Transitions {
		i := w.store.instances[t.Instance]
		if t.To != fleet.Requested {
			continue
		}
		offers := w.store.operations[i.Key].Offers()
		if i.Fleet == w.store.fleets[0].ID && len(offers) == 0 {
			w.fail(name, "%s is requested without an offer", i.ID)
		}
		if len(offers) == 0 {
			offers = []fleet.Offer{{Lifetime: fleet.LifetimeStable}}
		}
		for _, o := range offers {
			for _, c := range res.Observations.Circuits.Affecting(i.Provider, o) {
				if c.Probe != i.Key {
					w.fail(
						name,
						"%s is requested with %s, which has no %s since %s and is %s",
						i.ID,
						o.Name(),
						c.Class,
						c.Since.Format(time.TimeOnly),
						c.State(w.now()),
					)
				}
			}
		}
	}
}
