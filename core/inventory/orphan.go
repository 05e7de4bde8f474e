package inventory

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

const (
	// DefaultOrphanGrace is how long an orphan must have been listed without a gap
	// before it is removed.
	DefaultOrphanGrace = 15 * time.Minute
	// MaxOrphansPerStep bounds how many are removed at once: if it is we who are
	// wrong about them, a person has time to see it.
	MaxOrphansPerStep = 5
)

// GraceOver says whether an unrecorded resource has been listed without a gap for
// the grace (spec §158): by two complete inspections at least, both of this process.
// listeningSince is since when it has listened without a gap: the machine may have
// slept, or its clock may have been set.
func (p *Provider) GraceOver(u Unrecorded, grace time.Duration, listeningSince time.Time) bool {
	first, seen := p.firstListed[resourceID{u.Resource.Kind, u.Resource.ID, u.Key}]
	if !seen || first.step >= p.Listing.Step {
		return false
	}
	return p.Listing.Began.Sub(later(first.began, listeningSince)) >= grace
}

// Found is a resource that is taken onto the books to be removed.
type Found struct {
	Provider fleet.ProviderAddress
	Instance fleet.CapacityInstanceID
	Key      fleet.OperationID
	Resource fleet.Resource
	Cause    lifecycle.Cause
	Reason   reason.Reason
	// AdoptedBy is the person who said that it may be removed; "": it is proven ours.
	AdoptedBy string
}

// Record makes an instance of the fleet that is only there to be removed, with an
// operation that stands for whatever made it.
func (p *Provider) Record(
	found Found,
	f fleet.ManagedFleet,
	agentVersion string,
	now time.Time,
) (fleet.CapacityInstance, fleet.Operation, error) {
	request, err := json.Marshal(
		fleet.ProvisionIntent{
			Fleet:    f.Address,
			Instance: json.RawMessage(`{}`),
			Platform: f.Class.Platform,
			Tags:     found.Resource.Tags,
		},
	)
	if err != nil {
		return fleet.CapacityInstance{}, fleet.Operation{}, fmt.Errorf(
			"encode what made %s: %w",
			found.Resource.ID,
			err,
		)
	}
	op := fleet.Operation{
		ID:       found.Key,
		Kind:     fleet.ProvisionOperation,
		Instance: found.Instance,
		Fleet:    f.ID,
		Provider: found.Provider,
		State:    fleet.OperationSucceeded,
		Request:  request,
		Created:  now,
		CallOver: p.Listing.Began,
		Reason:   reason.Of(reason.FoundByInspection{Unrecorded: true}),
	}
	i := fleet.CapacityInstance{
		ID:             found.Instance,
		Fleet:          f.ID,
		Provider:       found.Provider,
		Account:        p.Facts.Account,
		Key:            found.Key,
		Adopted:        found.AdoptedBy,
		State:          fleet.Terminating,
		Since:          now,
		Created:        now,
		Cause:          string(found.Cause),
		Reason:         found.Reason,
		Class:          f.Class.ID(),
		Image:          f.Image.ID(agentVersion),
		InstanceDigest: f.InstanceDigest(),
		Seen:           found.Resource.State,
		SeenAt:         p.Listing.Began,
		Zone:           found.Resource.Zone,
		MachineType:    found.Resource.MachineType,
		Detail:         found.Resource.Detail,
	}
	if IsInstance(found.Resource) || found.AdoptedBy != "" {
		i.ProviderInstance = found.Resource.ID
	}
	return i, op, nil
}
