package control

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/core/enroll"
)

// ownershipKeySetting is where the store keeps the id of the newest ownership
// key that a proof may have been made with.
const ownershipKeySetting = "ownership key"

// loadOwnershipKeys reads the keys that prove resources to be ours, or makes the
// first one. A keys folder without the key that the store knows of is refused:
// with it, what this installation made would look like a stranger's.
func (m *Manager) loadOwnershipKeys(ctx context.Context) error {
	ring, err := enroll.LoadOwnershipKeys(keysFolder(m.options.Place))
	if err != nil {
		return err
	}
	stored, _, err := m.store.Setting(ctx, ownershipKeySetting)
	if err != nil {
		return err
	}
	if err := enroll.CheckOwnershipKey(stored, ring); err != nil {
		return err
	}
	if stored != ring.KeyID() { // the first start, or one after a rotation that was cut short
		if err := m.store.SetSetting(ctx, ownershipKeySetting, ring.KeyID()); err != nil {
			return err
		}
	}
	m.ownership.Store(&ring)
	return nil
}

// addOwnershipKey makes a new current ownership key and returns its id. What was
// made with earlier ones stays ours. It may be called while the loop runs.
func (m *Manager) addOwnershipKey(ctx context.Context) (keyID string, err error) {
	ring, err := enroll.AddOwnershipKey(keysFolder(m.options.Place))
	if err != nil {
		return "", err
	}
	if err := m.store.SetSetting(ctx, ownershipKeySetting, ring.KeyID()); err != nil {
		return "", err
	}
	m.ownership.Store(&ring)
	return ring.KeyID(), nil
}
