package loop

import (
	"fmt"
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// adopt takes a resource that nobody accounts for onto a fleet's books and has it
// removed. It can't become capacity: no agent of it ever enrolled with a token of
// ours. The person's word is the evidence, for the id alone, and a complete
// inspection begun after the order must list exactly one resource of that id.
func (l *Loop) adopt(w *work, o *pendingOrder) (OrderOutcome, error) {
	fleets := slices.Collect(maps.Values(w.fleets))
	n := slices.IndexFunc(fleets, func(f fleet.ManagedFleet) bool { return f.Address == o.Fleet })
	if n < 0 {
		return refuse("there is no fleet %s", o.Fleet), nil
	}
	p := l.provider(o.Provider)
	if p.facts == nil || p.blind != "" || p.sight == nil || p.sight.step < o.step || p.classified != p.sight.step {
		return OrderOutcome{}, nil
	}
	if why := w.notAdoptable(p, o); why != "" {
		return refuse("%s", why), nil
	}
	reason := fmt.Sprintf("%s had it removed: it was listed and nobody's.", o.By)
	if u := p.unrecordedOf(o.Resource); u.owner == fleets[n].ID && (w.byKey[u.Key] == nil || !w.byKey[u.Key].Live()) {
		// Proven ours: its own row comes back, and with it what belonged to it.
		if err := l.takeOrphan(w, p, u, lifecycle.OrphanFound, reason); err != nil {
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
	err = l.newTerminating(w, p, fleets[n], taking{
		provider: o.Provider, id: fleet.CapacityInstanceID(id), key: fleet.OperationID(key),
		resource: p.sight.byID[o.Resource][0], cause: lifecycle.Adopted, reason: reason, adopted: o.By,
	})
	return OrderOutcome{Instance: fleet.CapacityInstanceID(id), Done: "it is on the books of " + string(o.Fleet) + " and is removed"}, err
}

// notAdoptable says why the resource of an order may not be taken.
func (w *work) notAdoptable(p *provider, o *pendingOrder) string {
	listed := p.sight.byID[o.Resource]
	switch {
	case o.Resource == "" || len(listed) == 0:
		return fmt.Sprintf("the provider %s lists no resource %q", o.Provider, o.Resource)
	case len(listed) > 1:
		return fmt.Sprintf("the provider %s lists %d resources of the id %s", o.Provider, len(listed), o.Resource)
	}
	for _, r := range w.rows {
		if r.Live() && r.Provider == o.Provider && r.ProviderInstance == o.Resource {
			return fmt.Sprintf("it is the resource of the instance %s", r.ID)
		}
	}
	holder := w.byKey[keyOf(listed[0])]
	switch {
	case holder == nil || !holder.Live():
		return ""
	case !isInstance(listed[0]) && p.unrecordedOf(o.Resource).ID == "":
		return fmt.Sprintf("it belongs to the instance %s", holder.ID)
	case !isInstance(listed[0]):
		return ""
	}
	if holder.ProviderInstance == "" || p.facts.Ownership == fleet.OwnershipNamed {
		return fmt.Sprintf("it carries the key of the instance %s, and may be its resource; if it isn't, say first which is: forgeyard-fleet instance resolve %s --created ID", holder.ID, holder.ID)
	}
	return "" // a copy: the instance's own resource is recorded
}

// unrecordedOf is what was found out about a resource; the zero value: it isn't
// among those without a record.
func (p *provider) unrecordedOf(id fleet.ProviderInstanceRef) unrecorded {
	if n := slices.IndexFunc(p.unrecorded, func(u unrecorded) bool { return u.ID == id }); n >= 0 {
		return p.unrecorded[n]
	}
	return unrecorded{}
}
