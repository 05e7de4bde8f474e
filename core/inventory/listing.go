package inventory

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Listing is what one inspection shows. What it shows as gone is in gone alone.
type Listing struct {
	// Step returned the Inspect effect, after its commit; Began is when it began.
	Step  int
	Began time.Time
	all   []fleet.Resource
	// byKey are the instances; byID is of every kind.
	byKey map[fleet.OperationID][]fleet.Resource
	byID  map[fleet.ProviderInstanceRef][]fleet.Resource
	// gone is what the provider says has ended, and lists for a while, by id.
	gone map[fleet.ProviderInstanceRef]fleet.Resource
	// inFlight are the keys for which a call ran inside the plugin.
	inFlight map[fleet.OperationID]bool
	// partsByKey and partsByOwner are the secondary resources: volumes, addresses
	// and whatever else an instance has (spec §160).
	partsByKey   map[fleet.OperationID][]fleet.Resource
	partsByOwner map[fleet.ProviderInstanceRef][]fleet.Resource
}

// IsInstance says that a resource is an instance, and no secondary one.
func IsInstance(res fleet.Resource) bool { return res.Kind == "" || res.Kind == "instance" }

// NewListing makes the listing of an inspection that a step asked for. Assets of an
// inventory are no part of it, until an instance claims them.
func NewListing(step int, began time.Time, seen fleet.Inspection) *Listing {
	l := &Listing{
		Step:         step,
		Began:        began,
		inFlight:     map[fleet.OperationID]bool{},
		gone:         map[fleet.ProviderInstanceRef]fleet.Resource{},
		byKey:        map[fleet.OperationID][]fleet.Resource{},
		byID:         map[fleet.ProviderInstanceRef][]fleet.Resource{},
		partsByKey:   map[fleet.OperationID][]fleet.Resource{},
		partsByOwner: map[fleet.ProviderInstanceRef][]fleet.Resource{},
	}
	for _, key := range seen.InFlight {
		l.inFlight[key] = true
	}
	for _, res := range seen.Resources {
		if res.Kind == fleet.AssetKind {
			continue
		}
		if res.State == fleet.ResourceGone {
			l.gone[res.ID] = res
			continue
		}
		l.all = append(l.all, res)
		l.byID[res.ID] = append(l.byID[res.ID], res)
		switch {
		case IsInstance(res):
			l.byKey[res.Key] = append(l.byKey[res.Key], res)
		default:
			if key := KeyOf(res); key != "" {
				l.partsByKey[key] = append(l.partsByKey[key], res)
			}
			if res.BelongsTo != "" {
				l.partsByOwner[res.BelongsTo] = append(l.partsByOwner[res.BelongsTo], res)
			}
		}
	}
	return l
}

// KeyOf is the key that a resource names, in its own field or its tags.
func KeyOf(res fleet.Resource) fleet.OperationID {
	if res.Key != "" {
		return res.Key
	}
	return fleet.OperationID(res.Tags[KeyTag])
}

// Of are the resources that may be an instance's own: those with its key, and for
// one that was adopted those with its id.
func (l *Listing) Of(i *fleet.CapacityInstance) []fleet.Resource {
	if i.Adopted != "" {
		return l.byID[i.ProviderInstance]
	}
	return l.byKey[i.Key]
}

// Ended is what the provider says of an instance's resource that has ended; false:
// it doesn't say so. An end is for good, and so proves what an absence from a list
// doesn't: of the very id that was recorded, and of nothing else that carries the instance's key.
func (l *Listing) Ended(i *fleet.CapacityInstance) (fleet.Resource, bool) {
	res, listed := l.gone[i.ProviderInstance]
	if !listed || i.ProviderInstance == "" || len(l.byID[i.ProviderInstance]) > 0 || len(l.Of(i)) > 0 {
		return res, false
	}
	return res, i.Adopted != "" || IsInstance(res) && res.Key == i.Key
}

// Contested says why it isn't clear which instance a listed resource is of: one
// resource under two keys, or one recorded for another instance.
func (l *Listing) Contested(i *fleet.CapacityInstance) reason.Reason {
	if i.ProviderInstance != "" {
		for _, res := range l.byID[i.ProviderInstance] {
			if IsInstance(res) && res.Key != i.Key && i.Adopted == "" {
				return reason.Of(
					reason.KeyChanged{Resource: string(i.ProviderInstance), Key: string(i.Key), Listed: string(res.Key)},
				)
			}
		}
	}
	for _, res := range l.Of(i) {
		for _, other := range l.byID[res.ID] {
			if res.ID != "" && IsInstance(other) && other.Key != res.Key {
				return reason.Of(reason.KeysContested{Resource: string(res.ID), Key: string(res.Key), Other: string(other.Key)})
			}
		}
	}
	return reason.Reason{}
}

// InFlight says that a call for the key ran inside the plugin.
func (l *Listing) InFlight(key fleet.OperationID) bool { return l.inFlight[key] }

// WithKey are the instances with a key.
func (l *Listing) WithKey(key fleet.OperationID) []fleet.Resource { return l.byKey[key] }

// WithID are the resources of every kind with an id.
func (l *Listing) WithID(id fleet.ProviderInstanceRef) []fleet.Resource { return l.byID[id] }

// AddAsset makes an asset of the inspection the resource of the instance that has
// claimed it. Hosts of an inventory carry no key: that one is an instance's is the
// claim in the store, and nothing that the provider could show.
func (l *Listing) AddAsset(asset fleet.Resource, key fleet.OperationID) {
	asset.Key = key
	l.byKey[key] = append(l.byKey[key], asset)
}
