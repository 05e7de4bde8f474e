package pki

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Tokens makes and checks enrollment tokens (spec §54, §55). A token is derived from the
// installation's enrollment key, the provision operation and its stored nonce:
// the same request can be made again after a crash, and a copy of the store is
// not enough to enroll.
//
//	fyt1.OPERATION-ID.BASE32 of HMAC-SHA-256(key, "fyt1" 0 OPERATION-ID 0 nonce)
//
// The operations of a batch share one, which has the batch's key in the place of an
// operation's id.
//
// Of several enrollment keys the newest makes the tokens of new operations. Each
// operation's own is found by the hash of its token that the store keeps.
type Tokens struct {
	keys atomic.Pointer[[]*TokenKey] // the newest first
}

// TokenKey is one enrollment key.
type TokenKey struct {
	key []byte
}

// EnrollmentKeyFile is the file of an installation's first enrollment key.
const EnrollmentKeyFile = "enrollment.key"

const (
	tokenPrefix       = "fyt1"
	nonceBytes        = 16
	enrollmentKeyType = "FORGEYARD ENROLLMENT KEY"
)

// tokenEncoding is lower case without padding, so that a token survives any
// shell, URL and first-boot format.
var tokenEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// LoadTokens reads the first enrollment key in the folder, and makes it if there
// is none.
func LoadTokens(folder string) (*Tokens, error) {
	key, err := LoadTokenKey(filepath.Join(folder, EnrollmentKeyFile))
	if err != nil {
		return nil, err
	}
	t := &Tokens{}
	t.Use(key)
	return t, nil
}

// Use makes tokens with the newest key from now on, and still accepts those of
// the older ones.
func (t *Tokens) Use(newest *TokenKey, older ...*TokenKey) {
	keys := append([]*TokenKey{newest}, older...)
	t.keys.Store(&keys)
}

// LoadTokenKey reads an enrollment key, and makes it if there is none.
func LoadTokenKey(path string) (*TokenKey, error) {
	blocks, err := readOrCreateKeyFile(path, []string{enrollmentKeyType}, func() ([]*pem.Block, error) {
		key := make([]byte, sha256.Size)
		if _, err := rand.Read(key); err != nil {
			return nil, err
		}
		return []*pem.Block{{Type: enrollmentKeyType, Bytes: key}}, nil
	})
	if err != nil {
		return nil, err
	}
	if len(blocks[0].Bytes) != sha256.Size {
		return nil, &KeyFileError{path, "holds a key of the wrong length; restore it from a backup"}
	}
	return &TokenKey{key: blocks[0].Bytes}, nil
}

// KeyID names the key of new tokens without giving it away.
func (t *Tokens) KeyID() string { return t.newest().KeyID() }

func (t *Tokens) newest() *TokenKey { return (*t.keys.Load())[0] }

// KeyID names the enrollment key without giving it away.
func (k *TokenKey) KeyID() string {
	return hex.EncodeToString(k.mac("key id")[:8])
}

// NewNonce makes the nonce of a new operation.
func (t *Tokens) NewNonce(random io.Reader) ([]byte, error) {
	nonce := make([]byte, nonceBytes)
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, fmt.Errorf("make the nonce of an enrollment token: %w", err)
	}
	return nonce, nil
}

// Token is a new operation's token. It is a secret until it is spent.
func (t *Tokens) Token(operation fleet.OperationID, nonce []byte) string {
	return t.newest().token(operation, nonce)
}

// TokenOf is the token of a stored operation, whichever key it was made with: what
// is sent again is the same again. Without that key it is invalid.
func (t *Tokens) TokenOf(o fleet.Operation) string {
	for _, k := range *t.keys.Load() {
		if k.Made(o) {
			return k.token(o.TokenKey(), o.Nonce)
		}
	}
	return t.Token(o.TokenKey(), o.Nonce)
}

func (k *TokenKey) token(operation fleet.OperationID, nonce []byte) string {
	return tokenPrefix + "." + string(
		operation,
	) + "." + tokenEncoding.EncodeToString(
		k.mac(tokenPrefix, string(operation), string(nonce)),
	)
}

// Made says whether the operation's token was made with this key.
func (k *TokenKey) Made(o fleet.Operation) bool {
	return len(o.Nonce) > 0 &&
		subtle.ConstantTimeCompare(
			[]byte(fleet.DigestBytes([]byte(k.token(o.TokenKey(), o.Nonce)))),
			[]byte(o.TokenHash),
		) == 1
}

// Hash is what the store keeps of a token.
func (t *Tokens) Hash(token string) string { return fleet.DigestBytes([]byte(token)) }

// Verify says whether the token is the one of the operation, in a time that
// doesn't depend on how much of it is right.
func (t *Tokens) Verify(token string, operation fleet.Operation) bool {
	if len(operation.Nonce) == 0 || operation.TokenHash == "" {
		return false
	}
	want := t.TokenOf(operation)
	derived := subtle.ConstantTimeCompare([]byte(token), []byte(want))
	stored := subtle.ConstantTimeCompare([]byte(t.Hash(token)), []byte(operation.TokenHash))
	return derived&stored == 1
}

// ParseToken reads the operation or the batch that a token names. It proves nothing.
func ParseToken(token string) (fleet.OperationID, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[0] != tokenPrefix || !fleet.ValidULID(parts[1]) ||
		len(parts[2]) != tokenEncoding.EncodedLen(sha256.Size) {
		return "", false
	}
	return fleet.OperationID(parts[1]), true
}

func (k *TokenKey) mac(parts ...string) []byte {
	m := hmac.New(sha256.New, k.key)
	m.Write([]byte(strings.Join(parts, "\x00")))
	return m.Sum(nil)
}
