package inventory

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// Unrecorded is a listed resource that no live instance accounts for, with what was
// found out about it.
type Unrecorded struct {
	fleet.UnrecordedResource
	Resource fleet.Resource
	// Ended is the instance that its key once made; nil: the store has none.
	Ended *store.Recalled
	// Owner is the fleet that it belongs to, where it may be removed by itself.
	Owner fleet.RunnerFleetID
}

// resourceID names such a resource.
type resourceID struct {
	kind string
	id   fleet.ProviderInstanceRef
	key  fleet.OperationID
}

// listedSince is since when one has been listed by complete inspections without a
// gap, and the step that asked for the first of them.
type listedSince struct {
	step  int
	began time.Time
}

// Records are what the manager knows of instances, for one provider's listing.
type Records struct {
	Provider fleet.ProviderAddress
	// Instances are the provider's live ones. Live says that a key is of a live
	// instance of any provider.
	Instances []*fleet.CapacityInstance
	Live      func(fleet.OperationID) bool
	Fleets    map[fleet.RunnerFleetID]fleet.ManagedFleet
	// Recall finds instances, live or ended, by the keys that made them or by their
	// ids.
	Recall func([]fleet.OperationID, []fleet.CapacityInstanceID) ([]store.Recalled, error)
	// OrphanGrace is how long an orphan must have been listed before it is removed.
	OrphanGrace time.Duration
}

// Classify finds out what each listed resource is that no live instance accounts
// for. It is due once for every complete inspection.
func (p *Provider) Classify(o Owner, r Records) error {
	accounted := p.accountedFor(o, r)
	var unaccounted []fleet.Resource
	for _, res := range p.Listing.all {
		if !accounted(res) {
			unaccounted = append(unaccounted, res)
		}
	}
	known, err := recall(unaccounted, r)
	if err != nil {
		return err
	}
	before := p.firstListed
	p.firstListed, p.unrecorded = map[resourceID]listedSince{}, nil
	for _, res := range unaccounted {
		id := resourceID{res.Kind, res.ID, KeyOf(res)}
		first, seen := before[id]
		if !seen {
			first = listedSince{p.Listing.Step, p.Listing.Began}
		}
		p.firstListed[id] = first
		u := classify(o, r, *p.Facts, res, known.of(res))
		u.FirstSeen = first.began
		if u.Owner != "" {
			u.RemovedAfter = first.began.Add(r.OrphanGrace)
		}
		p.unrecorded = append(p.unrecorded, u)
	}
	slices.SortFunc(p.unrecorded, func(a, b Unrecorded) int {
		return cmp.Or(
			-cmp.Compare(a.Classification, b.Classification),
			cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Key, b.Key),
		)
	})
	p.classified = p.Listing.Step
	return nil
}

// ClassificationDue says that there is a listing to Classify.
func (p *Provider) ClassificationDue() bool {
	return p.Facts != nil && p.Listing != nil && p.classified != p.Listing.Step
}

// ClassifiedSince says that a complete inspection that the step or a later one asked
// for was taken in and classified, and that the provider can be seen.
func (p *Provider) ClassifiedSince(step int) bool {
	return p.Facts != nil && p.Unobservable.IsZero() && p.Listing != nil && p.Listing.Step >= step &&
		p.classified == p.Listing.Step
}

// accountedFor says which resources live instances account for: those with their
// keys and ids, and what is proven to belong to them.
func (p *Provider) accountedFor(o Owner, r Records) func(fleet.Resource) bool {
	type part struct {
		kind string
		id   fleet.ProviderInstanceRef
	}
	parts, adopted := map[part]bool{}, map[fleet.ProviderInstanceRef]bool{}
	for _, i := range r.Instances {
		if i.Adopted != "" {
			adopted[i.ProviderInstance] = true
		}
		for _, res := range o.SecondaryResources(p, p.Listing, i) {
			parts[part{res.Kind, res.ID}] = true
		}
	}
	return func(res fleet.Resource) bool {
		if adopted[res.ID] || parts[part{res.Kind, res.ID}] {
			return true
		}
		return IsInstance(res) && r.Live(res.Key)
	}
}

// recalled is what the store knows of the keys of resources and of the instances that
// their tags name, and how many instances are listed under each key.
type recalled struct {
	byKey  map[fleet.OperationID]*store.Recalled
	ids    map[fleet.CapacityInstanceID]bool
	copies map[fleet.OperationID]int
}

func recall(resources []fleet.Resource, r Records) (recalled, error) {
	known := recalled{
		map[fleet.OperationID]*store.Recalled{},
		map[fleet.CapacityInstanceID]bool{},
		map[fleet.OperationID]int{},
	}
	var keys []fleet.OperationID
	var ids []fleet.CapacityInstanceID
	for _, res := range resources {
		if key := KeyOf(res); key != "" {
			keys, ids = append(keys, key), append(ids, fleet.CapacityInstanceID(res.Tags[InstanceTag]))
			if IsInstance(res) {
				known.copies[key]++
			}
		}
	}
	if len(keys) == 0 {
		return known, nil
	}
	found, err := r.Recall(keys, ids)
	for n := range found {
		known.byKey[found[n].Instance.Key], known.ids[found[n].Instance.ID] = &found[n], true
	}
	return known, err
}

// of is what is known of one resource.
func (k recalled) of(res fleet.Resource) record {
	key := KeyOf(res)
	return record{k.byKey[key], k.ids[fleet.CapacityInstanceID(res.Tags[InstanceTag])], k.copies[key]}
}

// record is what the store knows of a resource's key and of the instance that its
// tags name, and how many instances carry the key.
type record struct {
	ended  *store.Recalled
	known  bool
	copies int
}

// classify says whether a resource is an orphan of ours or a foreign one, and
// why (spec §157, §159). What isn't proven is foreign.
func classify(o Owner, r Records, f fleet.ProviderFacts, res fleet.Resource, has record) Unrecorded {
	u := Unrecorded{Resource: res, Ended: has.ended, UnrecordedResource: fleet.UnrecordedResource{
		Provider:       r.Provider,
		ID:             res.ID,
		Kind:           cmp.Or(res.Kind, "instance"),
		Key:            KeyOf(res),
		State:          res.State,
		Classification: fleet.Foreign,
	}}
	var owner fleet.RunnerFleetID
	if owner, u.Reason = o.foreign(r.Provider, f, res, has); !u.Reason.IsZero() {
		u.Decide = reason.Of(reason.LeftAlone{Provider: string(r.Provider), Resource: string(res.ID)})
		return u
	}
	u.Classification = fleet.Orphan
	u.Reason = reason.Of(reason.ProvenOrphan{})
	if has.ended != nil {
		u.Reason = reason.Of(
			reason.OrphanOfEnded{Instance: string(has.ended.Instance.ID), Because: has.ended.Instance.Reason},
		)
	}
	declared, ok := r.Fleets[owner]
	if !ok {
		u.Decide = reason.Of(reason.LeftAlone{Provider: string(r.Provider), Resource: string(res.ID), Undeclared: true})
		return u
	}
	u.Owner, u.Fleet = owner, declared.Address
	u.Decide = reason.Of(reason.RemovedAfterGrace{
		Provider: string(
			r.Provider,
		),
		Resource: string(res.ID),
		Fleet:    declared.Address.Name(),
		Grace:    reason.Duration(r.OrphanGrace),
	})
	return u
}

// foreign says why a resource isn't proven to be ours, or the fleet that it is
// proven to be of.
func (o Owner) foreign(
	address fleet.ProviderAddress,
	f fleet.ProviderFacts,
	res fleet.Resource,
	has record,
) (owner fleet.RunnerFleetID, why reason.Reason) {
	claim := ClaimIn(res.Tags)
	if claim.Installation != "" && claim.Installation != o.Installation {
		return "", reason.Of(reason.OtherInstallation{Installation: claim.Installation})
	}
	if has.copies > 1 {
		return "", reason.Of(reason.KeyCopied{Resources: has.copies})
	}
	if !Deletable(f) {
		return "", unprovable(f)
	}
	proof := o.Keys.Verify(res.Tags[ProofTag], claim)
	if proof == nil && res.Key != "" && res.Key != claim.Key {
		return "", reason.Of(reason.ProofOfOtherKey{Key: string(res.Key), Proven: string(claim.Key)})
	}
	switch {
	case proof != nil && f.Ownership == fleet.OwnershipSigned:
		return "", rejected(proof)
	case proof != nil && has.ended == nil:
		return "", reason.Of(reason.KeyUnknown{Proof: rejected(proof)})
	case proof != nil && !IsInstance(res) && res.Key == "":
		return "", reason.Of(reason.NotNamedByKey{Proof: rejected(proof)})
	case has.ended == nil && has.known:
		return "", reason.Of(reason.InstanceOfOtherKey{Instance: string(claim.Instance)})
	case has.ended == nil:
		return claim.Fleet, reason.Reason{}
	}
	return has.ended.Instance.Fleet, o.notOfEnded(address, f, res, &has.ended.Instance)
}

// notOfEnded says why a resource with the key of an ended instance isn't that
// instance's; zero: it is.
func (o Owner) notOfEnded(
	address fleet.ProviderAddress,
	f fleet.ProviderFacts,
	res fleet.Resource,
	ended *fleet.CapacityInstance,
) reason.Reason {
	switch {
	case ended.Live():
		return reason.Of(reason.KeyOfLiveInstance{Instance: string(ended.ID)})
	case ended.Provider != address:
		return reason.Of(reason.KeyOfOtherPlace{Provider: string(ended.Provider)})
	case ended.Account != "" && ended.Account != f.Account:
		return reason.Of(reason.KeyOfOtherPlace{Account: ended.Account})
	case IsInstance(res) && ended.ProviderInstance != "" && ended.ProviderInstance != res.ID:
		return reason.Of(reason.CopyOfEnded{Instance: string(ended.ID), Resource: string(ended.ProviderInstance)})
	}
	return o.contradicted(ended, res.Tags)
}

// maxShown bounds how many unrecorded resources of a provider are shown.
const maxShown = 100

// Unrecorded are the resources of the last classified listing that no live instance
// accounts for, in order.
func (p *Provider) Unrecorded() []Unrecorded { return p.unrecorded }

// Shown is what people may see of them, but for those that are recorded by now.
func (p *Provider) Shown(recorded func(Unrecorded) bool) fleet.Unrecorded {
	var out fleet.Unrecorded
	for _, u := range p.unrecorded {
		if recorded(u) {
			continue
		}
		if u.Classification == fleet.Orphan {
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
