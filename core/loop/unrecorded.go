package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// strayID names a resource that no live instance accounts for.
type strayID struct {
	kind string
	id   fleet.ProviderInstanceRef
	key  fleet.OperationID
}

// stray is since when it has been seen by complete inspections without a gap.
type stray struct {
	step  int // that asked for the first of them
	began time.Time
}

// unrecorded is one such resource with what was found out about it.
type unrecorded struct {
	fleet.UnrecordedResource
	resource fleet.Resource
	// ended is the instance that its key once made; nil: the store has none.
	ended *store.Recalled
	// owner is the fleet that it belongs to, where it may be removed by itself.
	owner fleet.RunnerFleetID
}

// classify finds out what each listed resource is that no live instance accounts
// for, once for every complete inspection.
func (l *Loop) classify(ctx context.Context, w *work) error {
	for _, address := range l.providerAddresses() {
		p := l.providers[address]
		if p.facts == nil || p.sight == nil || p.classified == p.sight.step {
			continue
		}
		if err := l.classifyAll(ctx, w, address, p); err != nil {
			return err
		}
		p.classified = p.sight.step
	}
	return nil
}

func (l *Loop) classifyAll(ctx context.Context, w *work, address fleet.ProviderAddress, p *provider) error {
	accounted := l.accountedFor(w, address, p)
	var loose []fleet.Resource
	var keys []fleet.OperationID
	var ids []fleet.CapacityInstanceID
	copies := map[fleet.OperationID]int{}
	for _, res := range p.sight.all {
		if accounted(res) {
			continue
		}
		loose = append(loose, res)
		if key := keyOf(res); key != "" {
			keys, ids = append(keys, key), append(ids, fleet.CapacityInstanceID(res.Tags[tagInstance]))
			if isInstance(res) {
				copies[key]++
			}
		}
	}
	known := map[fleet.OperationID]*store.Recalled{}
	taken := map[fleet.CapacityInstanceID]bool{}
	if len(keys) > 0 {
		recalled, err := l.store.Recall(ctx, keys, ids)
		if err != nil {
			return err
		}
		for n := range recalled {
			known[recalled[n].Instance.Key], taken[recalled[n].Instance.ID] = &recalled[n], true
		}
	}
	before := p.strays
	p.strays, p.unrecorded = map[strayID]stray{}, nil
	for _, res := range loose {
		id := strayID{res.Kind, res.ID, keyOf(res)}
		first, seen := before[id]
		if !seen {
			first = stray{p.sight.step, p.sight.began}
		}
		p.strays[id] = first
		u := l.classifyOne(w, address, p, res, evidenceOf{known[keyOf(res)], taken[fleet.CapacityInstanceID(res.Tags[tagInstance])], copies[keyOf(res)]})
		u.FirstSeen = first.began
		if u.owner != "" {
			u.RemovedAfter = first.began.Add(l.settings.OrphanGrace)
		}
		p.unrecorded = append(p.unrecorded, u)
	}
	slices.SortFunc(p.unrecorded, func(a, b unrecorded) int {
		return cmp.Or(-cmp.Compare(a.Standing, b.Standing), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
	})
	return nil
}

// accountedFor says which resources live instances account for: those with their
// keys and ids, and what is proven to belong to them.
func (l *Loop) accountedFor(w *work, address fleet.ProviderAddress, p *provider) func(fleet.Resource) bool {
	type part struct {
		kind string
		id   fleet.ProviderInstanceRef
	}
	parts, adopted := map[part]bool{}, map[fleet.ProviderInstanceRef]bool{}
	for _, r := range w.rows {
		if r.Provider != address || !r.Live() {
			continue
		}
		if r.Adopted != "" {
			adopted[r.ProviderInstance] = true
		}
		for _, res := range l.belongings(p, p.sight, r) {
			parts[part{res.Kind, res.ID}] = true
		}
	}
	return func(res fleet.Resource) bool {
		if adopted[res.ID] || parts[part{res.Kind, res.ID}] {
			return true
		}
		r := w.byKey[res.Key]
		return isInstance(res) && r != nil && r.Live()
	}
}

// evidenceOf is what the store knows of a resource's key and of the instance that
// its tags name, and how many instances carry the key.
type evidenceOf struct {
	ended  *store.Recalled
	taken  bool
	copies int
}

// classifyOne says whether a resource is an orphan of ours or a foreign one, and
// why [157, 159]. What isn't proven is foreign.
func (l *Loop) classifyOne(w *work, address fleet.ProviderAddress, p *provider, res fleet.Resource, e evidenceOf) unrecorded {
	u := unrecorded{resource: res, ended: e.ended, UnrecordedResource: fleet.UnrecordedResource{
		Provider: address, ID: res.ID, Kind: cmp.Or(res.Kind, "instance"), Key: keyOf(res), State: res.State, Standing: fleet.Foreign,
	}}
	var owner fleet.RunnerFleetID
	if owner, u.Reason = l.disown(address, *p.facts, res, e); u.Reason != "" {
		u.Decide = fmt.Sprintf("It is never touched. To have it removed: forgeyard-fleet instance adopt %s %s --fleet FLEET --remove", address, res.ID)
		return u
	}
	u.Standing = fleet.Orphan
	u.Reason = "Its tags carry our proof, and the store has no instance of its key."
	if e.ended != nil {
		u.Reason = fmt.Sprintf("It is of the instance %s, which had ended: %s", e.ended.Instance.ID, e.ended.Instance.Reason)
	}
	f, declared := w.fleets[owner]
	if !declared {
		u.Decide = fmt.Sprintf("Its fleet isn't declared any more, so it isn't removed by itself. To have it removed: forgeyard-fleet instance adopt %s %s --fleet FLEET --remove", address, res.ID)
		return u
	}
	u.owner, u.Fleet = owner, f.Address
	u.Decide = fmt.Sprintf("It is removed by itself if it is still there after %s. To have it removed now: forgeyard-fleet instance adopt %s %s --fleet %s --remove",
		l.settings.OrphanGrace, address, res.ID, f.Address.Name())
	return u
}

// disown says why a resource isn't proven to be ours, or the fleet that it is
// proven to be of.
func (l *Loop) disown(address fleet.ProviderAddress, f fleet.ProviderFacts, res fleet.Resource, e evidenceOf) (owner fleet.RunnerFleetID, why string) {
	claim := claimIn(res.Tags)
	if claim.Installation != "" && claim.Installation != l.settings.Installation {
		return "", fmt.Sprintf("Its tags name the installation %q.", claim.Installation)
	}
	if e.copies > 1 {
		return "", fmt.Sprintf("%d resources carry its key.", e.copies)
	}
	if !deletable(f) {
		return "", capital(unprovable(f)) + "."
	}
	proof := l.keys().Verify(res.Tags[ProofTag], claim)
	if proof == nil && res.Key != "" && res.Key != claim.Key {
		return "", fmt.Sprintf("Its key is %q and its proof is of the key %q.", res.Key, claim.Key)
	}
	switch {
	case proof != nil && f.Ownership == fleet.OwnershipSigned:
		return "", capital(proof.Error()) + "."
	case proof != nil && e.ended == nil:
		return "", "Its key isn't of any operation in the store, and " + proof.Error() + "."
	case proof != nil && !isInstance(res) && res.Key == "":
		return "", "It isn't named by its key, and " + proof.Error() + "."
	case e.ended == nil && e.taken:
		return "", fmt.Sprintf("Its tags name the instance %s, which was made with another key.", claim.Instance)
	case e.ended == nil:
		return claim.Fleet, ""
	}
	return e.ended.Instance.Fleet, l.notTheEnded(address, f, res, &row{CapacityInstance: e.ended.Instance})
}

// notTheEnded says why a resource with the key of an ended instance isn't that
// instance's; "": it is.
func (l *Loop) notTheEnded(address fleet.ProviderAddress, f fleet.ProviderFacts, res fleet.Resource, ended *row) string {
	switch {
	case ended.Live():
		return fmt.Sprintf("Its key is of the live instance %s, which doesn't account for it.", ended.ID)
	case ended.Provider != address:
		return fmt.Sprintf("Its key is of an instance of provider %s.", ended.Provider)
	case ended.Account != "" && ended.Account != f.Account:
		return fmt.Sprintf("Its key is of an instance that was made in %q.", ended.Account)
	case isInstance(res) && ended.ProviderInstance != "" && ended.ProviderInstance != res.ID:
		return fmt.Sprintf("Its key is of the ended instance %s, whose resource was %s: this one is a copy.", ended.ID, ended.ProviderInstance)
	}
	if why := l.contradicted(ended, res.Tags); why != "" {
		return capital(why) + "."
	}
	return ""
}

// maxShown bounds how many unrecorded resources of a provider are listed.
const maxShown = 100

// shownUnrecorded is what people may see of them. What this step took onto the
// books is left out.
func (l *Loop) shownUnrecorded(w *work, p *provider) fleet.Unrecorded {
	var out fleet.Unrecorded
	for _, u := range p.unrecorded {
		if r := w.byKey[u.Key]; r != nil && r.Live() && u.Standing == fleet.Orphan || w.adopted(u.Provider, u.ID) {
			continue
		}
		if u.Standing == fleet.Orphan {
			out.Orphans++
		} else {
			out.Foreign++
		}
		if len(out.Resources) < maxShown {
			out.Resources = append(out.Resources, u.UnrecordedResource)
		}
	}
	return out
}

func (w *work) adopted(address fleet.ProviderAddress, id fleet.ProviderInstanceRef) bool {
	return slices.ContainsFunc(w.rows, func(r *row) bool {
		return r.Adopted != "" && r.Live() && r.Provider == address && r.ProviderInstance == id
	})
}

// capital begins a text with a capital letter.
func capital(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}
