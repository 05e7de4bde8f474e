package loop

import (
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// sighting is what one inspection shows. What it shows as gone is in gone alone.
type sighting struct {
	step  int // that returned the Inspect effect, after its commit
	began time.Time
	all   []fleet.Resource
	// byKey are the instances; byID is of every kind.
	byKey map[fleet.OperationID][]fleet.Resource
	byID  map[fleet.ProviderInstanceRef][]fleet.Resource
	// gone is what the provider says has ended, and lists for a while, by id.
	gone map[fleet.ProviderInstanceRef]fleet.Resource
	// inFlight are the keys for which a call ran inside the plugin.
	inFlight map[fleet.OperationID]bool
	// partsByKey and partsByOwner are the secondary resources: volumes, addresses
	// and whatever else an instance has [160].
	partsByKey   map[fleet.OperationID][]fleet.Resource
	partsByOwner map[fleet.ProviderInstanceRef][]fleet.Resource
}

func isInstance(res fleet.Resource) bool { return res.Kind == "" || res.Kind == "instance" }

func newSighting(step int, began time.Time, seen fleet.Inspection) *sighting {
	s := &sighting{
		step: step, began: began, inFlight: map[fleet.OperationID]bool{}, gone: map[fleet.ProviderInstanceRef]fleet.Resource{},
		byKey: map[fleet.OperationID][]fleet.Resource{}, byID: map[fleet.ProviderInstanceRef][]fleet.Resource{},
		partsByKey: map[fleet.OperationID][]fleet.Resource{}, partsByOwner: map[fleet.ProviderInstanceRef][]fleet.Resource{},
	}
	for _, key := range seen.InFlight {
		s.inFlight[key] = true
	}
	for _, res := range seen.Resources {
		if res.Kind == fleet.AssetKind {
			continue
		}
		if res.State == fleet.ResourceGone {
			s.gone[res.ID] = res
			continue
		}
		s.all = append(s.all, res)
		s.byID[res.ID] = append(s.byID[res.ID], res)
		switch {
		case isInstance(res):
			s.byKey[res.Key] = append(s.byKey[res.Key], res)
		default:
			if key := keyOf(res); key != "" {
				s.partsByKey[key] = append(s.partsByKey[key], res)
			}
			if res.BelongsTo != "" {
				s.partsByOwner[res.BelongsTo] = append(s.partsByOwner[res.BelongsTo], res)
			}
		}
	}
	return s
}

// keyOf is the key that a resource names, in its own field or its tags.
func keyOf(res fleet.Resource) fleet.OperationID {
	if res.Key != "" {
		return res.Key
	}
	return fleet.OperationID(res.Tags[tagKey])
}

// of are the resources that may be a row's instance: those with its key, and for
// one that was adopted those with its id.
func (s *sighting) of(r *row) []fleet.Resource {
	if r.Adopted != "" {
		return s.byID[r.ProviderInstance]
	}
	return s.byKey[r.Key]
}

// ended is what the provider says of a row's resource that has ended; false: it doesn't
// say so. An end is for good, and so proves what an absence from a list doesn't: of
// the very id that was recorded, and of nothing else that carries the row's key.
func (s *sighting) ended(r *row) (fleet.Resource, bool) {
	res, listed := s.gone[r.ProviderInstance]
	if !listed || r.ProviderInstance == "" || len(s.byID[r.ProviderInstance]) > 0 || len(s.of(r)) > 0 {
		return res, false
	}
	return res, r.Adopted != "" || isInstance(res) && res.Key == r.Key
}

// belongings are the secondary resources of a row that are proven to be its own:
// by their own proof, by the key as their name, or by a name with the key in it
// and the instance that they say they belong to.
func (l *Loop) belongings(p *provider, s *sighting, r *row) []fleet.Resource {
	if p.facts == nil || r.Adopted != "" {
		return nil
	}
	var own []fleet.Resource
	for _, res := range s.partsByKey[r.Key] {
		if l.belongs(*p.facts, r, res) {
			own = append(own, res)
		}
	}
	if r.ProviderInstance == "" {
		return own
	}
	for _, res := range s.partsByOwner[r.ProviderInstance] {
		if keyOf(res) != r.Key && l.belongs(*p.facts, r, res) {
			own = append(own, res)
		}
	}
	return own
}

func (l *Loop) belongs(f fleet.ProviderFacts, r *row, res fleet.Resource) bool {
	if l.contradicted(r, res.Tags) != "" || res.Key != "" && res.Key != r.Key {
		return false
	}
	switch {
	case !deletable(f):
		return false
	case l.unsigned(r, res.Tags) == "":
		return true
	case f.Ownership == fleet.OwnershipNamed && res.Key == r.Key:
		return true
	}
	return r.ProviderInstance != "" && res.BelongsTo == r.ProviderInstance && strings.Contains(string(res.ID), string(r.Key))
}
