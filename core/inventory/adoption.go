package inventory

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// UnrecordedWithID is what was found out about a resource; the zero value: it isn't
// among those without a record.
func (p *Provider) UnrecordedWithID(id fleet.ProviderInstanceRef) Unrecorded {
	if n := slices.IndexFunc(p.unrecorded, func(u Unrecorded) bool { return u.ID == id }); n >= 0 {
		return p.unrecorded[n]
	}
	return Unrecorded{}
}

// NotAdoptable says why a resource may not be adopted to be removed; zero: it may.
// instances are the live ones of the provider; holder finds the live instance of a
// key, nil: there is none.
func (p *Provider) NotAdoptable(
	address fleet.ProviderAddress,
	id fleet.ProviderInstanceRef,
	instances []*fleet.CapacityInstance,
	holder func(fleet.OperationID) *fleet.CapacityInstance,
) reason.Reason {
	listed := p.Listing.WithID(id)
	switch {
	case id == "" || len(listed) != 1:
		return reason.Of(reason.ResourcesListed{Provider: string(address), Resource: string(id), Resources: len(listed)})
	}
	for _, i := range instances {
		if i.ProviderInstance == id {
			return reason.Of(reason.ResourceOfInstance{Resource: string(id), Instance: string(i.ID)})
		}
	}
	holds := holder(KeyOf(listed[0]))
	switch {
	case holds == nil:
		return reason.Reason{}
	case !IsInstance(listed[0]) && p.UnrecordedWithID(id).ID == "":
		return reason.Of(reason.ResourceBelongsTo{Resource: string(id), Instance: string(holds.ID)})
	case !IsInstance(listed[0]):
		return reason.Reason{}
	}
	if holds.ProviderInstance == "" || p.Facts.Ownership == fleet.OwnershipNamed {
		return reason.Of(reason.MayBeResourceOf{Resource: string(id), Instance: string(holds.ID)})
	}
	return reason.Reason{} // a copy: the instance's own resource is recorded
}
