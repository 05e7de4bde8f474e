package loop

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Hosts of an inventory carry no key: that one is an instance's is the claim in
// the store, and nothing that the provider could show.

// claim joins the claims with their rows.
func (w *work) claim(claims []fleet.AssetClaim) {
	for n := range claims {
		if r := w.byID[claims[n].Instance]; r != nil {
			r.claim = &claims[n]
		}
	}
}

// holds says whether the row has claimed the resource.
func (r *row) holds(id fleet.ProviderInstanceRef) bool {
	return r.claim != nil && r.claim.Provider == r.Provider && r.claim.Asset == string(id)
}

// showClaimed makes the assets of an inspection the resources of the rows that
// claimed them.
func (w *work) showClaimed(e Inspected, shown *sighting) {
	assets := map[fleet.ProviderInstanceRef]fleet.Resource{}
	for _, res := range e.Inspection.Resources {
		if res.Kind == fleet.AssetKind {
			assets[res.ID] = res
		}
	}
	for _, r := range w.rows {
		if r.Provider != e.Provider || r.claim == nil || r.provision.State == fleet.OperationPending && r.provision.Attempts == 0 {
			continue // a free asset of a request that never went out is no answer to it
		}
		if res, listed := assets[fleet.ProviderInstanceRef(r.claim.Asset)]; listed {
			res.Key = r.Key
			shown.byKey[r.Key] = append(shown.byKey[r.Key], res)
		}
	}
}

// unassigned says why the request of a row can't go to a provider of an
// inventory; "": it can, or the provider makes its hosts.
func (r *row) unassigned(f fleet.ProviderFacts) string {
	if f.Ownership != fleet.OwnershipAssigned || r.claim != nil {
		return ""
	}
	return fmt.Sprintf("The plugin %s has an inventory, and no host of it is claimed for this instance; this version claims hosts only where a person joins them.", f.Plugin)
}

// passJoin ends the claim of a host that nobody joined in time. The token is void
// by then, whether or not a manager ran meanwhile. False: the row doesn't wait
// for a person, and its state's deadline counts.
func (l *Loop) passJoin(w *work, r *row) bool {
	if r.claim == nil || r.claim.Expires.IsZero() || r.runner != nil || !r.Unjoined() {
		return false
	}
	if !w.now.Before(r.claim.Expires) {
		w.move(r, fleet.Failed, lifecycle.DeadlinePassed, fmt.Sprintf("Nobody joined the host %s before its token expired at %s.", r.Asset, r.claim.Expires.UTC().Format(time.RFC3339)))
	}
	return true
}

// neverJoined says that the row's host was claimed, and no agent ever came from
// it: its end says nothing about the fleet.
func (r *row) neverJoined() bool {
	return r.claim != nil && !r.claim.Expires.IsZero() && r.runner == nil
}

// joinUntil is how long the row's host may be joined; zero: it doesn't wait.
func (r *row) joinUntil() time.Time {
	if r.claim == nil || !r.Unjoined() {
		return time.Time{}
	}
	return r.claim.Expires
}

// RequestAsset is the instance that gets a claimed asset, and the operation that
// tells the plugin so, for whoever stores them with the claim. The instance is
// Provisioning from the start: the claim is the intent, and its token may be used
// at once. There is nothing that the provider could store tags with.
func RequestAsset(s Settings, now time.Time, f fleet.ManagedFleet, a fleet.Asset, b fleet.BootstrapIntent, why reason.Reason) (fleet.CapacityInstance, fleet.Operation, error) {
	none := fleet.CapacityInstance{}
	id, err := s.NewID(now)
	if err != nil {
		return none, fleet.Operation{}, err
	}
	key, err := s.NewID(now)
	if err != nil {
		return none, fleet.Operation{}, err
	}
	i := fleet.CapacityInstance{
		ID: fleet.CapacityInstanceID(id), Fleet: f.ID, Provider: f.Provider, Asset: a.ID, Key: fleet.OperationID(key),
		State: fleet.Requested, Since: now, Created: now, Cause: string(lifecycle.Decided), Reason: why,
		Class: f.Class.ID(), Image: f.Image.ID(s.AgentVersion), InstanceDigest: f.InstanceDigest(),
	}
	if err := lifecycle.Move(&i, fleet.Provisioning, lifecycle.IntentCommitted, now, why); err != nil {
		return none, fleet.Operation{}, err
	}
	request, err := json.Marshal(fleet.ProvisionIntent{
		Fleet: f.Address, Name: instanceName(f.Address, key), Instance: f.Instance, InstanceDigest: i.InstanceDigest,
		Image: f.Image.Ref, Platform: f.Class.Platform, Asset: a.ID, Bootstrap: b,
	})
	if err != nil {
		return none, fleet.Operation{}, fmt.Errorf("encode the request of %s: %w", f.Address, err)
	}
	return i, fleet.Operation{
		ID: i.Key, Kind: fleet.ProvisionOperation, Instance: i.ID, Fleet: f.ID, Provider: f.Provider,
		State: fleet.OperationPending, Request: request, Created: now,
	}, nil
}
