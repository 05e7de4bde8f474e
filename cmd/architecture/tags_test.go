package architecture

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// The core doesn't import the contract but where it calls plugins, so the names are
// written twice.
func TestTagNamesAreThoseOfTheContract(t *testing.T) {
	for own, contract := range map[string]string{
		inventory.InstallationTag: providerpb.TagInstallation,
		inventory.FleetTag:        providerpb.TagFleet,
		inventory.InstanceTag:     providerpb.TagInstance,
		inventory.KeyTag:          providerpb.TagKey,
		inventory.ProofTag:        providerpb.TagProof,
	} {
		if own != contract {
			t.Errorf("the manager writes the tag %s, and the contract says %s", own, contract)
		}
	}
}
