package ownership

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// KeyBytes is the length of an ownership key.
const KeyBytes = sha256.Size

// Keyring is the ownership keys of an installation: the current one makes
// proofs, and all of them verify, so that what was made before a rotation stays
// ours. The zero Keyring verifies nothing. It is never changed once it is made.
type Keyring struct {
	keys []key // the current one first
}

type key struct {
	id     string
	secret []byte
}

// NewKeyring makes a keyring of a current key and the ones before it, each
// KeyBytes long.
func NewKeyring(current []byte, earlier ...[]byte) (Keyring, error) {
	var r Keyring
	for _, secret := range append([][]byte{current}, earlier...) {
		if len(secret) != KeyBytes {
			return Keyring{}, fmt.Errorf("an ownership key has %d bytes, this one has %d", KeyBytes, len(secret))
		}
		id := idOf(secret)
		if r.Knows(id) {
			return Keyring{}, fmt.Errorf("the ownership key %s is there twice", id)
		}
		r.keys = append(r.keys, key{id, slices.Clone(secret)})
	}
	return r, nil
}

// KeyID names the current key without giving it away; "": there is none.
func (r Keyring) KeyID() string {
	if len(r.keys) == 0 {
		return ""
	}
	return r.keys[0].id
}

// KeyIDs name all keys, the current one first.
func (r Keyring) KeyIDs() []string {
	var ids []string
	for _, k := range r.keys {
		ids = append(ids, k.id)
	}
	return ids
}

// Knows says whether proofs of the key are verified.
func (r Keyring) Knows(id string) bool { return r.secret(id) != nil }

func (r Keyring) secret(id string) []byte {
	for _, k := range r.keys {
		if k.id == id {
			return k.secret
		}
	}
	return nil
}

// ErrNoKey is what making a proof without a key fails with.
var ErrNoKey = errors.New("there is no ownership key to make a proof with")

// keyIDDomain keeps ids apart from proofs: none is ever part of the other.
const keyIDDomain = "forgeyard ownership key id v1"

func idOf(secret []byte) string {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(keyIDDomain))
	return hex.EncodeToString(m.Sum(nil)[:keyIDLength/2])
}
