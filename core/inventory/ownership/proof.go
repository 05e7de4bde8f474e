package ownership

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Claim is what a proof is about: one resource of one installation.
type Claim struct {
	Installation string
	Fleet        fleet.RunnerFleetID
	Instance     fleet.CapacityInstanceID
	// Key is the provision operation that makes the resource.
	Key fleet.OperationID
}

// A proof is "v1-KEYID-MAC". It fits the tag values of every provider:
// [a-z0-9-]{1,63}.
const (
	version     = "v1"
	keyIDLength = 16 // hex digits
	macBytes    = 16
	macLength   = 26 // base32 digits
)

// proofDomain keeps proofs apart from whatever else a key may ever be used for.
const proofDomain = "forgeyard ownership proof v1"

// encoding is lower case without padding.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Prove makes the proof of a claim with the current key: the first 128 bits of
// its HMAC-SHA-256. The same claim and key give the same proof.
func (r Keyring) Prove(c Claim) (string, error) {
	if len(r.keys) == 0 {
		return "", ErrNoKey
	}
	return version + "-" + r.keys[0].id + "-" + encoding.EncodeToString(mac(r.keys[0].secret, c)), nil
}

// Verify says whether a proof is of this claim and made with one of the keys.
// The error is a *RefusalError. How long it takes doesn't depend on how much of
// the proof is right.
func (r Keyring) Verify(proof string, c Claim) error {
	if proof == "" {
		return &RefusalError{Reason: NoProof}
	}
	id, sum, ok := parse(proof)
	if !ok {
		return &RefusalError{Reason: Malformed}
	}
	secret := r.secret(id)
	if secret == nil {
		return &RefusalError{Reason: UnknownKey, KeyID: id}
	}
	if subtle.ConstantTimeCompare(sum, mac(secret, c)) != 1 {
		return &RefusalError{Reason: AnotherClaim, KeyID: id}
	}
	return nil
}

// MadeWith is the id of the key that a proof names; "": it is not a proof. Whether it
// was really made with that key, Verify says.
func MadeWith(proof string) (keyID string) {
	id, _, ok := parse(proof)
	if !ok {
		return ""
	}
	return id
}

// parse takes a proof apart. It proves nothing.
func parse(proof string) (keyID string, sum []byte, ok bool) {
	parts := strings.Split(proof, "-")
	if len(parts) != 3 || parts[0] != version || len(parts[1]) != keyIDLength || len(parts[2]) != macLength {
		return "", nil, false
	}
	if strings.Trim(parts[1], "0123456789abcdef") != "" {
		return "", nil, false
	}
	sum, err := encoding.DecodeString(parts[2])
	// Of the texts that decode to the same bytes, one is the proof.
	return parts[1], sum, err == nil && encoding.EncodeToString(sum) == parts[2]
}

// mac is over the length and the bytes of each field, so that no two claims are
// the same text.
func mac(secret []byte, c Claim) []byte {
	m := hmac.New(sha256.New, secret)
	for _, field := range []string{proofDomain, c.Installation, string(c.Fleet), string(c.Instance), string(c.Key)} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(field)))
		m.Write(length[:])
		m.Write([]byte(field))
	}
	return m.Sum(nil)[:macBytes]
}

// Reason is why a proof isn't accepted.
type Reason string

// The reasons.
const (
	NoProof      Reason = "no_proof"      // there is none
	Malformed    Reason = "malformed"     // it isn't a proof of a known form
	UnknownKey   Reason = "unknown_key"   // no key of ours has its key id
	AnotherClaim Reason = "another_claim" // it was made for other values, or by somebody else
)

// RefusalError says why a proof doesn't prove the claim.
type RefusalError struct {
	Reason Reason
	// KeyID is the key that the proof names, where it could be read.
	KeyID string
}

func (e *RefusalError) Error() string {
	switch e.Reason {
	case NoProof:
		return "it carries no proof of ours"
	case Malformed:
		return "what it carries as its proof can't be one"
	case UnknownKey:
		return fmt.Sprintf("its proof names the key %s, which this installation doesn't have", e.KeyID)
	}
	return "its proof was made for something else: its tags were changed or copied, or another made it"
}
