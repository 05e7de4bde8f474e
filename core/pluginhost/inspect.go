//go:build unix

package pluginhost

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Inspect asks what the provider has: everything of the installation, or where
// keys are given, what they made. On an error the inspection holds what was
// seen so far, and Complete is false: nothing may be concluded to be gone.
func (p *Process) Inspect(ctx context.Context, keys []fleet.OperationID) (fleet.Inspection, error) {
	request := &providerpb.InspectRequest{}
	for _, key := range keys {
		request.Keys = append(request.Keys, string(key))
	}
	var seen fleet.Inspection
	if refusal := p.refusal(ctx, request); refusal != nil {
		return seen, p.notSent("list what it has", refusal)
	}
	err := stream(ctx, maxAnswers, p.rpc.Inspect, request, func(page *providerpb.InspectResponse) {
		for _, resource := range page.GetResources() {
			seen.Resources = append(seen.Resources, resourceOf(resource))
		}
		for _, key := range page.GetAbsentKeys() {
			seen.Absent = append(seen.Absent, fleet.OperationID(key))
		}
		for _, key := range page.GetInFlightKeys() {
			seen.InFlight = append(seen.InFlight, fleet.OperationID(key))
		}
	})
	seen.Complete = err == nil
	p.settleContradictions(&seen, keys)
	if err != nil {
		return seen, p.failed("list what it has", err)
	}
	return seen, nil
}

// settleContradictions makes each key mean one thing, the most careful one: what
// is found or in flight isn't absent, and what wasn't asked for has no say.
func (p *Process) settleContradictions(seen *fleet.Inspection, asked []fleet.OperationID) {
	present := map[fleet.OperationID]bool{}
	for _, resource := range seen.Resources {
		present[resource.Key] = true
	}
	for _, key := range seen.InFlight {
		present[key] = true
	}
	wanted := map[fleet.OperationID]bool{}
	for _, key := range asked {
		wanted[key] = true
	}
	unexpected := unexpectedItems{
		logger: p.launch.Logger,
		what:   "the plugin calls a key absent that it shows or wasn't asked about",
	}
	defer unexpected.report()
	seen.Absent = slices.DeleteFunc(seen.Absent, func(key fleet.OperationID) bool {
		wrong := present[key] || !wanted[key]
		if wrong {
			unexpected.note("key", key)
		}
		return wrong
	})
}

var resourceStates = map[providerpb.Resource_State]fleet.ResourceState{
	providerpb.Resource_STATE_PENDING:  fleet.ResourcePending,
	providerpb.Resource_STATE_RUNNING:  fleet.ResourceRunning,
	providerpb.Resource_STATE_STOPPING: fleet.ResourceStopping,
	providerpb.Resource_STATE_STOPPED:  fleet.ResourceStopped,
	providerpb.Resource_STATE_GONE:     fleet.ResourceGone,
	providerpb.Resource_STATE_FAILED:   fleet.ResourceFailed,
}

// resourceOf converts one resource. A state that is unset or unknown to this
// version says no more than that the resource exists.
func resourceOf(r *providerpb.Resource) fleet.Resource {
	state, known := resourceStates[r.GetState()]
	if !known {
		state = fleet.ResourceUnclear
	}
	resource := fleet.Resource{
		ID:             fleet.ProviderInstanceRef(r.GetId()),
		Key:            fleet.OperationID(r.GetKey()),
		Fleet:          fleet.RunnerFleetID(r.GetFleet()),
		State:          state,
		Addresses:      r.GetAddresses(),
		Created:        timeOf(r.GetCreated()),
		BilledUntil:    timeOf(r.GetBilledUntil()),
		Zone:           r.GetZone(),
		MachineType:    r.GetMachineType(),
		InstanceDigest: digestOfLabel(r.GetInstanceDigest()),
		Tags:           r.GetTags(),
		Detail:         shownText(r.GetDetail(), maxErrorMessage),
		Image:          r.GetImage(),
		BelongsTo:      fleet.ProviderInstanceRef(r.GetBelongsTo()),
		Kind:           r.GetKind(),
		Attested:       r.GetAttested(),
	}
	if why := callErrorOf(r.GetFailure()); why != nil && state == fleet.ResourceFailed {
		resource.Failure = &fleet.ResourceFailure{
			Class: why.Class, Message: why.Message, Zone: why.Zone, MachineType: why.MachineType, Scope: why.Scope,
		}
	}
	return resource
}

// timeOf reads a timestamp; unset and nonsense are the zero time.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil || t.CheckValid() != nil {
		return time.Time{}
	}
	return t.AsTime()
}
