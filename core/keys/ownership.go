package keys

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// ownershipKeys prove that resources are ours.
func (k *Keyrings) ownershipKeys() keyKind {
	return keyKind{
		name: "ownership", file: pki.OwnershipKeyFile, kept: true,
		purpose:  "proves by tags that a provider's resources are this installation's",
		replaces: "new resources carry proofs by the new key; what was made before stays ours by the old one, which is kept",
		load:     func(path string) (namedKey, error) { return pki.LoadOwnershipKey(path) },
		use: func(newest namedKey, older []namedKey) error {
			ring, err := pki.OwnershipKeyring(newest.(*pki.OwnershipKey), typed[*pki.OwnershipKey](older)...)
			if err == nil {
				k.proofs.Store(&ring)
			}
			return err
		},
		needs: func(old namedKey, s snapshot.State, _ time.Time) []string {
			return append(ownershipKeyNeeded(old.KeyID(), s), orphansMayNeedIt(s, k.seen())...)
		},
	}
}

// ownershipKeyNeeded names the live instances whose resources carry a proof by an
// old key.
func ownershipKeyNeeded(id string, s snapshot.State) (needed []string) {
	for _, op := range s.Operations {
		if op.Kind != fleet.ProvisionOperation {
			continue
		}
		var intent fleet.ProvisionIntent
		// A request that can't be read may carry any proof.
		if json.Unmarshal(op.Request, &intent) != nil || ownership.MadeWith(intent.Tags[inventory.ProofTag]) == id {
			needed = append(needed, fmt.Sprintf("the resource of instance %s is told to be ours by it", op.Instance))
		}
	}
	return needed
}

// orphansMayNeedIt names what no live instance accounts for and may carry a proof
// by an old key: without the key an orphan is taken for somebody else's, is never
// removed, and is paid for ever. What can't be seen may have orphans.
func orphansMayNeedIt(s snapshot.State, seen snapshot.Observations) (needed []string) {
	for _, p := range s.Providers {
		if why, unseen := seen.Unobserved[p.Address]; unseen {
			needed = append(
				needed,
				fmt.Sprintf(
					"provider.%s, which may have orphans that are told to be ours by it, can't be seen (%s)",
					p.Address,
					why,
				),
			)
		} else if seen.Inspected[p.Address].IsZero() {
			needed = append(
				needed,
				fmt.Sprintf(
					"provider.%s may have orphans that are told to be ours by it, and no running manager has looked; ask while "+
						"forgeyard-fleet serve runs",
					p.Address,
				),
			)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(seen.Unrecorded)) {
		if n := seen.Unrecorded[address].Orphans; n > 0 {
			needed = append(
				needed,
				fmt.Sprintf("provider.%s has orphans (%d), which may be told to be ours by it, until they are removed", address, n),
			)
		}
	}
	return needed
}
