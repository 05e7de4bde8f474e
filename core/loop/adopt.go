package loop

import (
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// adopt takes a resource that no one accounts for onto a fleet's books and has it
// removed. It can't become capacity: no agent of it ever enrolled with a token of
// ours. The person's word is the evidence, for the id alone, and a complete
// inspection begun after the order must list exactly one resource of that id.
func (l *Loop) adopt(w *step, o *pendingOrder) (OrderOutcome, error) {
	fleets := slices.Collect(maps.Values(w.fleets))
	n := slices.IndexFunc(fleets, func(f fleet.ManagedFleet) bool { return f.Address == o.Fleet })
	if n < 0 {
		return refuse(reason.FleetUnknown{Fleet: string(o.Fleet)}), nil
	}
	p := l.provider(o.Provider)
	if !p.ClassifiedSince(o.step) {
		return OrderOutcome{}, nil
	}
	if why := p.NotAdoptable(o.Provider, o.Resource, w.instancesOf(o.Provider), w.liveWithKey); !why.IsZero() {
		return OrderOutcome{Refused: why}, nil
	}
	why, done := reason.Of(reason.AdoptedBy{By: o.By}), reason.Of(reason.AdoptedForRemoval{Fleet: string(o.Fleet)})
	if u := p.UnrecordedWithID(o.Resource); u.Owner == fleets[n].ID && w.liveWithKey(u.Key) == nil {
		// Proven ours: its own row comes back, and with it what belonged to it.
		if err := l.recordOrphan(w, p, u, lifecycle.OrphanFound, why); err != nil {
			return OrderOutcome{}, err
		}
		return OrderOutcome{Instance: w.byKey[u.Key].ID, Done: done}, nil
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
		Resource: p.Listing.WithID(o.Resource)[0], Cause: lifecycle.Adopted, Reason: why, AdoptedBy: o.By,
	})
	return OrderOutcome{Instance: fleet.CapacityInstanceID(id), Done: done}, err
}
