package pki

import (
	"crypto/rand"
	"encoding/pem"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
)

// OwnershipKeyFile is the name of the first ownership key's file.
const OwnershipKeyFile = "ownership.key"

const ownershipKeyType = "FORGEYARD OWNERSHIP KEY"

// OwnershipKey is one key of the proofs that resources are ours.
type OwnershipKey struct {
	secret []byte
	id     string
}

// LoadOwnershipKey reads an ownership key, and makes it if there is none.
func LoadOwnershipKey(path string) (*OwnershipKey, error) {
	blocks, err := readOrCreateKeyFile(path, []string{ownershipKeyType}, func() ([]*pem.Block, error) {
		key := make([]byte, ownership.KeyBytes)
		if _, err := rand.Read(key); err != nil {
			return nil, err
		}
		return []*pem.Block{{Type: ownershipKeyType, Bytes: key}}, nil
	})
	if err != nil {
		return nil, err
	}
	ring, err := ownership.NewKeyring(blocks[0].Bytes)
	if err != nil {
		return nil, &KeyFileError{path, fmt.Sprintf("can't be used (%v); restore it from a backup", err)}
	}
	return &OwnershipKey{secret: blocks[0].Bytes, id: ring.KeyID()}, nil
}

// KeyID names the key without giving it away.
func (k *OwnershipKey) KeyID() string { return k.id }

// OwnershipKeyring is the keyring of a key that makes proofs, and of those that
// only verify the ones that were made before.
func OwnershipKeyring(newest *OwnershipKey, older ...*OwnershipKey) (ownership.Keyring, error) {
	var earlier [][]byte
	for _, k := range older {
		earlier = append(earlier, k.secret)
	}
	return ownership.NewKeyring(newest.secret, earlier...)
}
