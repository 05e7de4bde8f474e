package loop

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// provenOurs returns the resource of the row that may be deleted next: the
// instance, and once that is gone what belongs to it. It asks for all of [160]:
// the key is a stored operation, which the row's is; a complete inspection begun
// after the intent to terminate was stored shows exactly one resource with it, and no
// call that could make another; and the evidence at the level of the provider holds in
// that inspection. The reason says what is missing.
func (l *Loop) provenOurs(p *provider, r *row, m *rowMemory) (fleet.Resource, bool, string) {
	if p.sight == nil || p.sight.step < m.intent || p.sight.step == 0 {
		return fleet.Resource{}, false, "No inspection since it was decided."
	}
	if r.Conflict != "" {
		return fleet.Resource{}, false, r.Conflict
	}
	if why := p.elsewhere(r); why != "" {
		return fleet.Resource{}, false, why
	}
	if p.sight.inFlight[r.Key] {
		// It could still make what is to go, once more.
		return fleet.Resource{}, false, "A call with its key is still under way in the plugin."
	}
	found := p.sight.of(r)
	switch len(found) {
	case 0:
		// A list may lag: until it would show the instance, or says that it has ended, what
		// belongs to it stays.
		late := look{began: p.sight.began}
		_, ended := p.sight.ended(r)
		if !ended && (!l.callSettled(p, r, late) || !l.settled(p, late, m.seen)) {
			return fleet.Resource{}, false, "No resource carries its key yet."
		}
		if left := l.belongings(p, p.sight, r); len(left) > 0 {
			return l.nextLeft(r, m, left)
		}
		return fleet.Resource{}, false, "No resource carries its key."
	case 1:
	default:
		return fleet.Resource{}, false, fmt.Sprintf("%d resources carry its key.", len(found))
	}
	if r.ProviderInstance != "" && found[0].ID != r.ProviderInstance {
		return fleet.Resource{}, false, fmt.Sprintf("%s was recorded, %s carries the key.", r.ProviderInstance, found[0].ID)
	}
	if why := l.doubt(*p.facts, r, found[0]); why != "" {
		return fleet.Resource{}, false, why
	}
	return found[0], true, ""
}

// doubt says what the evidence lacks that a resource with the row's key is the
// row's, at the level that the provider declares; "": nothing.
//
//	SIGNED    the tags are those of the row, and carry our proof of them
//	NAMED     the key is the resource's name, and no tag contradicts it
//	ASSIGNED  an asset that is claimed in our store
func (l *Loop) doubt(f fleet.ProviderFacts, r *row, res fleet.Resource) string {
	if r.Adopted != "" {
		return "" // an operator said so, of this very id
	}
	if why := l.contradicted(r, res.Tags); why != "" {
		return why
	}
	switch f.Ownership {
	case fleet.OwnershipSigned:
		return l.unsigned(r, res.Tags)
	case fleet.OwnershipNamed:
		return "" // found by its name
	case fleet.OwnershipAssigned:
		if r.holds(res.ID) {
			return ""
		}
		return fmt.Sprintf("%s is not claimed by this instance", res.ID)
	}
	return unprovable(f)
}

// unsigned says why tags don't prove that the resource is the row's.
func (l *Loop) unsigned(r *row, tags map[string]string) string {
	if own := claimIn(tags); own != l.claimOf(r.CapacityInstance) {
		return "its tags aren't those that it was made with"
	}
	if err := l.keys().Verify(tags[ProofTag], l.claimOf(r.CapacityInstance)); err != nil {
		return err.Error()
	}
	return ""
}

// contradicted says which tag names something else than the row. Where the
// plugin stores no tags there are none to contradict.
func (l *Loop) contradicted(r *row, tags map[string]string) string {
	for _, t := range []struct{ tag, want string }{
		{tagInstallation, l.settings.Installation}, {tagFleet, string(r.Fleet)}, {tagInstance, string(r.ID)}, {tagKey, string(r.Key)},
	} {
		if got, there := tags[t.tag]; there && got != t.want {
			return fmt.Sprintf("its tag %s says %q and not %q", t.tag, got, t.want)
		}
	}
	return ""
}

// deletable says whether this version can prove that a provider's resources are
// ours to delete. Where it can't, it makes none.
func deletable(f fleet.ProviderFacts) bool {
	switch f.Ownership {
	case fleet.OwnershipSigned, fleet.OwnershipNamed, fleet.OwnershipAssigned:
		return true
	}
	return false
}

func unprovable(f fleet.ProviderFacts) string {
	return fmt.Sprintf("the plugin %s proves ownership by %q, which this version can't check", f.Plugin, f.Ownership)
}

func undeletable(f fleet.ProviderFacts) string {
	return fmt.Sprintf("The plugin %s proves ownership by %q; this version deletes only what carries our proof, is named by its key or was claimed, and makes nothing that it can't delete.", f.Plugin, f.Ownership)
}

// contested says why it isn't clear which instance a listed resource is of: one
// resource under two keys, or one recorded for another instance.
func (s *sighting) contested(r *row) string {
	if r.ProviderInstance != "" {
		for _, res := range s.byID[r.ProviderInstance] {
			if isInstance(res) && res.Key != r.Key && r.Adopted == "" {
				return fmt.Sprintf("%s was recorded for key %s and is listed under key %q: nothing is done about it until a person looks.", r.ProviderInstance, r.Key, res.Key)
			}
		}
	}
	for _, res := range s.of(r) {
		for _, other := range s.byID[res.ID] {
			if res.ID != "" && isInstance(other) && other.Key != res.Key {
				return fmt.Sprintf("%s is listed under the keys %s and %q: nothing is done about it until a person looks.", res.ID, res.Key, other.Key)
			}
		}
	}
	return ""
}

// recordedElsewhere names another live instance of the provider that the
// resource was recorded for.
func (w *work) recordedElsewhere(r *row, id fleet.ProviderInstanceRef) (fleet.CapacityInstanceID, bool) {
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
func (w *work) record(r *row, id fleet.ProviderInstanceRef) {
	if id != "" && r.ProviderInstance != id {
		r.ProviderInstance, r.dirty = id, true
		w.index(r)
	}
}

func (w *work) index(r *row) {
	if r.ProviderInstance != "" {
		key := recordedResource{r.Provider, r.ProviderInstance}
		w.byResource[key] = append(w.byResource[key], r)
	}
}
