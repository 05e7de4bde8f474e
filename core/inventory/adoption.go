package inventory

import (
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// UnrecordedWithID is what was found out about a resource; the zero value: it isn't
// among those without a record.
func (p *Provider) UnrecordedWithID(id fleet.ProviderInstanceRef) Unrecorded {
	if n := slices.IndexFunc(p.unrecorded, func(u Unrecorded) bool { return u.ID == id }); n >= 0 {
		return p.unrecorded[n]
	}
	return Unrecorded{}
}

// NotAdoptable says why a resource may not be adopted to be removed; "": it may.
// instances are the live ones of the provider; holder finds the live instance of a
// key, nil: there is none.
func (p *Provider) NotAdoptable(
	address fleet.ProviderAddress,
	id fleet.ProviderInstanceRef,
	instances []*fleet.CapacityInstance,
	holder func(fleet.OperationID) *fleet.CapacityInstance,
) string {
	listed := p.Listing.WithID(id)
	switch {
	case id == "" || len(listed) == 0:
		return fmt.Sprintf("the provider %s lists no resource %q", address, id)
	case len(listed) > 1:
		return fmt.Sprintf("the provider %s lists %d resources of the id %s", address, len(listed), id)
	}
	for _, i := range instances {
		if i.ProviderInstance == id {
			return fmt.Sprintf("it is the resource of the instance %s", i.ID)
		}
	}
	holds := holder(KeyOf(listed[0]))
	switch {
	case holds == nil:
		return ""
	case !IsInstance(listed[0]) && p.UnrecordedWithID(id).ID == "":
		return fmt.Sprintf("it belongs to the instance %s", holds.ID)
	case !IsInstance(listed[0]):
		return ""
	}
	if holds.ProviderInstance == "" || p.Facts.Ownership == fleet.OwnershipNamed {
		return fmt.Sprintf(
			"it carries the key of the instance %s, and may be its resource; if it isn't, say first which is: forgeyard-fleet instance resolve %s --created ID",
			holds.ID,
			holds.ID,
		)
	}
	return "" // a copy: the instance's own resource is recorded
}
