package control

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/enroll"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reconcile"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// ownershipKeys prove that resources are ours.
func (m *Manager) ownershipKeys() keyKind {
	return keyKind{
		name: "ownership", file: enroll.OwnershipKeyFile, kept: true,
		purpose:  "proves by tags that a provider's resources are this installation's",
		replaces: "new resources carry proofs by the new key; what was made before stays ours by the old one, which is kept",
		load:     func(path string) (namedKey, error) { return enroll.LoadOwnershipKey(path) },
		use: func(newest namedKey, older []namedKey) error {
			ring, err := enroll.OwnershipKeyring(newest.(*enroll.OwnershipKey), typed[*enroll.OwnershipKey](older)...)
			if err == nil {
				m.ownership.Store(&ring)
			}
			return err
		},
		needs: func(old namedKey, s store.State, _ time.Time) []string { return ownershipKeyNeeded(old.KeyID(), s) },
	}
}

// ownershipKeyNeeded names the live instances whose resources carry a proof by an
// old key.
func ownershipKeyNeeded(id string, s store.State) (needed []string) {
	for _, op := range s.Operations {
		if op.Kind != fleet.ProvisionOperation {
			continue
		}
		var intent fleet.ProvisionIntent
		// A request that can't be read may carry any proof.
		if json.Unmarshal(op.Request, &intent) != nil || strings.Contains(intent.Tags[reconcile.ProofTag], "v1-"+id+"-") {
			needed = append(needed, fmt.Sprintf("the resource of instance %s is told to be ours by it", op.Instance))
		}
	}
	return needed
}
