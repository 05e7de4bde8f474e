package loop

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// provenOurs returns the resource of the row that may be deleted next: the
// instance, and once that is gone what belongs to it. It asks for all of (spec §160):
// the key is a stored operation, which the row's is; a complete inspection begun
// after the intent to terminate was stored shows exactly one resource with it, and no
// call that could make another; and the evidence at the level of the provider holds in
// that inspection. The reason says what is missing.
func (l *Loop) provenOurs(p *inventory.Provider, r *row, m *rowMemory) (fleet.Resource, bool, reason.Reason) {
	if p.Listing == nil || p.Listing.Step < m.intent || p.Listing.Step == 0 {
		return unproven(reason.InspectionAwaited{})
	}
	if !r.Conflict.IsZero() {
		return fleet.Resource{}, false, r.Conflict
	}
	if why := p.WrongAccount(&r.CapacityInstance); !why.IsZero() {
		return fleet.Resource{}, false, why
	}
	if p.Listing.InFlight(r.Key) {
		// It could still make what is to go, once more.
		return unproven(reason.CallInFlight{})
	}
	found := p.Listing.Of(&r.CapacityInstance)
	switch len(found) {
	case 0:
		// A list may lag: until it would show the instance, or says that it has ended, what
		// belongs to it stays.
		late := finding{began: p.Listing.Began}
		_, ended := p.Listing.Ended(&r.CapacityInstance)
		if !ended && (!l.callSettled(p, r, late) || !p.Settled(late.began, m.seen, l.listeningSince)) {
			return unproven(reason.KeyNotListed{Yet: true})
		}
		if left := l.owner().SecondaryResources(p, p.Listing, &r.CapacityInstance); len(left) > 0 {
			return l.nextDangling(r, m, left)
		}
		return unproven(reason.KeyNotListed{})
	case 1:
	default:
		return unproven(reason.KeyShared{Resources: len(found), Key: string(r.Key)})
	}
	if r.ProviderInstance != "" && found[0].ID != r.ProviderInstance {
		return unproven(
			reason.ResourceMismatch{Shown: string(found[0].ID), Key: string(r.Key), Recorded: string(r.ProviderInstance)},
		)
	}
	if why := l.owner().Doubt(*p.Facts, &r.CapacityInstance, r.claim, found[0]); !why.IsZero() {
		return fleet.Resource{}, false, why
	}
	return found[0], true, reason.Reason{}
}

// unproven is that no resource of a row may be deleted, and why.
func unproven(why reason.Detail) (fleet.Resource, bool, reason.Reason) {
	return fleet.Resource{}, false, reason.Of(why)
}

// nextDangling is what is to be removed next of the resources that an ended instance
// left, which aren't none. Where all of them have to wait, the operation stands as the
// tries ended, and the reason says so.
func (l *Loop) nextDangling(
	r *row,
	m *rowMemory,
	dangling []fleet.Resource,
) (next fleet.Resource, due bool, why reason.Reason) {
	next, due, state, why := m.removals.Next(dangling, l.last)
	if !due && r.terminate.State != state {
		r.edit(r.terminate).State = state
	}
	return next, due, why
}

// owner is what proves resources to be ours, by the keys as they are now: a rotation
// may replace them between two steps.
func (l *Loop) owner() inventory.Owner {
	o := inventory.Owner{Installation: l.settings.Installation}
	if l.settings.Ownership != nil {
		o.Keys = l.settings.Ownership()
	}
	return o
}

// recordedElsewhere names another live instance of the provider that the
// resource was recorded for.
func (w *step) recordedElsewhere(r *row, id fleet.ProviderInstanceRef) (fleet.CapacityInstanceID, bool) {
	if id == "" || id == r.ProviderInstance {
		return "", false
	}
	for _, other := range w.byResource[recordedResource{r.Provider, id}] {
		if other != r && other.Live() && other.ProviderInstance == id {
			return other.ID, true
		}
	}
	return "", false
}

// recordedResource is a resource as its provider names it.
type recordedResource struct {
	provider fleet.ProviderAddress
	id       fleet.ProviderInstanceRef
}

// record notes which resource is the row's.
func (w *step) record(r *row, id fleet.ProviderInstanceRef) {
	if id != "" && r.ProviderInstance != id {
		r.ProviderInstance, r.dirty = id, true
		w.index(r)
	}
}

func (w *step) index(r *row) {
	if r.ProviderInstance != "" {
		key := recordedResource{r.Provider, r.ProviderInstance}
		w.byResource[key] = append(w.byResource[key], r)
	}
}
