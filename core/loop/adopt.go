package loop

import (
	"fmt"
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// adopt takes a resource that nobody accounts for onto a fleet's books and has it
// removed. It can't become capacity: no agent of it ever enrolled with a token of
// ours. The person's word is the evidence, for the id alone, and a complete
// inspection begun after the order must list exactly one resource of that id.
func (l *Loop) adopt(w *step, o *pendingOrder) (OrderOutcome, error) {
	fleets := slices.Collect(maps.Values(w.fleets))
	n := slices.IndexFunc(fleets, func(f fleet.ManagedFleet) bool { return f.Address == o.Fleet })
	if n < 0 {
		return refuse("there is no fleet %s", o.Fleet), nil
	}
	p := l.provider(o.Provider)
	if !p.ClassifiedSince(o.step) {
		return OrderOutcome{}, nil
	}
	if why := p.NotAdoptable(o.Provider, o.Resource, w.instancesOf(o.Provider), w.liveWithKey); why != "" {
		return refuse("%s", why), nil
	}
	reason := fmt.Sprintf("%s had it removed: it was listed and nobody's.", o.By)
	if u := p.UnrecordedWithID(o.Resource); u.Owner == fleets[n].ID && w.liveWithKey(u.Key) == nil {
		// Proven ours: its own row comes back, and with it what belonged to it.
		if err := l.recordOrphan(w, p, u, lifecycle.OrphanFound, reason); err != nil {
			return OrderOutcome{}, err
		}
		return OrderOutcome{Instance: w.byKey[u.Key].ID, Done: "it is on the books of " + string(o.Fleet) + " and is removed"}, nil
	}
	id, err := l.settings.NewID(w.now)
	if err != nil {
		return OrderOutcome{}, err
	}
	key, err := l.settings.NewID(w.now)
	if err != nil {
		return OrderOutcome{}, err
	}
	err = l.recordFound(w, p, fleets[n], inventory.Found{
		Provider: o.Provider, Instance: fleet.CapacityInstanceID(id), Key: fleet.OperationID(key),
		Resource: p.Listing.WithID(o.Resource)[0], Cause: lifecycle.Adopted, Reason: reason, AdoptedBy: o.By,
	})
	return OrderOutcome{Instance: fleet.CapacityInstanceID(id), Done: "it is on the books of " + string(o.Fleet) + " and is removed"}, err
}
