package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// people are those who give orders, with what came of them.
type people struct {
	given int
	// orders are those without an outcome. A manager that dies takes them along,
	// and the person who gave them sees that.
	orders map[string]loop.Order
	// drained are the instances that a person let go of, forced those whose job a person gave up, adopted the resources
	// that a person had removed.
	drained map[fleet.CapacityInstanceID]bool
	forced  map[fleet.CapacityInstanceID]bool
	adopted map[fleet.ProviderInstanceRef]bool
}

func newPeople() people {
	return people{
		orders:  map[string]loop.Order{},
		drained: map[fleet.CapacityInstanceID]bool{},
		forced:  map[fleet.CapacityInstanceID]bool{},
		adopted: map[fleet.ProviderInstanceRef]bool{},
	}
}

// give is an order of a person, about anything that is on the books or listed. What
// a person says of the provider is true, for they look first; that they may name
// the wrong resource is part of it.
func (w *world) give(c *cloud, random *rand.Rand) {
	if !w.manager.alive {
		return
	}
	w.people.given++
	o := loop.Order{ID: fmt.Sprintf("order-%d", w.people.given), By: "ada", Until: w.now().Add(30 * time.Second)}
	kinds := []loop.OrderKind{loop.DrainInstance, loop.ForceDrain, loop.ReplaceInstance, loop.AdoptResource,
		loop.ResolveCreated, loop.ResolveNotCreated, loop.ResolveGone}
	o.Kind = kinds[random.IntN(len(kinds))]
	if o.Kind == loop.AdoptResource {
		if len(c.resources) == 0 {
			return
		}
		o.Provider, o.Resource, o.Fleet = c.address, c.resources[random.IntN(len(c.resources))].ID,
			w.store.fleets[c.number].Address
	} else {
		live := w.store.live()
		if len(live) == 0 {
			return
		}
		i := live[random.IntN(len(live))]
		o.Instance = i.ID
		if !w.true(&o, i, random) {
			return
		}
	}
	w.people.orders[o.ID] = o
	w.manager.deliver(w.manager.life, loop.Ordered{Order: o})
}

// true says whether a person could say so of an instance's resource, and names it
// where the order needs that.
func (w *world) true(o *loop.Order, i fleet.CapacityInstance, random *rand.Rand) bool {
	c := w.cloud(i.Provider)
	made := c.madeFor(i.Key)
	switch o.Kind {
	case loop.ResolveCreated:
		if made != nil && random.IntN(3) > 0 {
			o.Resource = made.ID
			return true
		}
		for _, r := range c.resources {
			if r.Key != "" && r.Key != i.Key && !r.part { // the wrong one, which carries another key
				o.Resource = r.ID
				return true
			}
		}
		return false
	case loop.ResolveNotCreated, loop.ResolveGone:
		return !c.inventory && made == nil && w.at > c.lastCall[i.Key]+time.Minute
	}
	return true
}

// carriedOut takes in what became of orders, before what follows from them goes
// out.
func (w *world) carriedOut(outcomes []loop.OrderOutcome) {
	for _, outcome := range outcomes {
		o := w.people.orders[outcome.ID]
		delete(w.people.orders, outcome.ID)
		w.say("ORDER %s %s%s: %s%s", o.Kind, o.Instance, o.Resource, outcome.Done, outcome.Refused)
		if outcome.Done.IsZero() {
			continue
		}
		switch o.Kind {
		case loop.DrainInstance, loop.ReplaceInstance:
			w.people.drained[o.Instance] = true
		case loop.ForceDrain:
			w.people.forced[o.Instance] = true
		case loop.AdoptResource:
			w.people.adopted[o.Resource] = true
		case loop.ResolveCreated:
			if made := w.cloud(w.store.instances[o.Instance].Provider).
				madeFor(w.store.instances[o.Instance].Key); made == nil ||
				made.ID != o.Resource {
				w.fail(
					"a person's word is held against what is listed",
					"%s is recorded for %s, and wasn't made for it",
					o.Resource,
					o.Instance,
				)
			}
		}
	}
}

// madeFor is the machine that was made for a key; nil: there is none.
func (c *cloud) madeFor(key fleet.OperationID) *resource {
	n := slices.IndexFunc(
		c.resources,
		func(r *resource) bool { return r.Key == key && !r.foreign && !r.copied && !r.part },
	)
	if n < 0 {
		return nil
	}
	return c.resources[n]
}
