package inventory

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// RequestAsset is the instance that a claim of an asset asks for, and the operation that
// tells the plugin so. The loop writes them. The instance is
// Provisioning from the start: the claim is the intent, and its token may be used
// at once. There is nothing that the provider could store tags with. newID makes a ULID
// for a time, agentVersion is the version that the host must run.
func RequestAsset(
	newID func(time.Time) (string, error),
	agentVersion string,
	now time.Time,
	f fleet.ManagedFleet,
	a fleet.Asset,
	b fleet.BootstrapIntent,
	why reason.Reason,
) (fleet.CapacityInstance, fleet.Operation, error) {
	none := fleet.CapacityInstance{}
	id, err := newID(now)
	if err != nil {
		return none, fleet.Operation{}, err
	}
	key, err := newID(now)
	if err != nil {
		return none, fleet.Operation{}, err
	}
	i := fleet.CapacityInstance{
		ID: fleet.CapacityInstanceID(id), Fleet: f.ID, Provider: f.Provider, Asset: a.ID, Key: fleet.OperationID(key),
		State: fleet.Requested, Since: now, Created: now, Cause: string(lifecycle.Decided), Reason: why,
		Class: f.Class.ID(), Image: f.Image.ID(agentVersion), InstanceDigest: f.InstanceDigest(),
	}
	if err := lifecycle.Move(&i, fleet.Provisioning, lifecycle.IntentCommitted, now, why); err != nil {
		return none, fleet.Operation{}, err
	}
	request, err := json.Marshal(fleet.ProvisionIntent{
		Fleet: f.Address, Name: InstanceName(f.Address, i.Key), Instance: f.Instance, InstanceDigest: i.InstanceDigest,
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
