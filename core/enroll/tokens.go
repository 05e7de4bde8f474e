package enroll

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

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Tokens makes and checks enrollment tokens [54, 55]. A token is derived from the
// installation's enrollment key, the provision operation and its stored nonce:
// the same request can be made again after a crash, and the store alone is not
// enough to enroll.
//
//	fyt1.OPERATION-ID.BASE32 of HMAC-SHA-256(key, "fyt1" 0 OPERATION-ID 0 nonce)
type Tokens struct {
	key []byte
}

const (
	tokenPrefix       = "fyt1"
	nonceBytes        = 16
	enrollmentKeyFile = "enrollment.key"
	enrollmentKeyType = "FORGEYARD ENROLLMENT KEY"
)

// tokenEncoding is lower case without padding, so that a token survives any
// shell, URL and first-boot format.
var tokenEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// LoadTokens reads the enrollment key in the folder, and makes it if there is
// none.
func LoadTokens(folder string) (*Tokens, error) {
	path := filepath.Join(folder, enrollmentKeyFile)
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
	return &Tokens{key: blocks[0].Bytes}, nil
}

// KeyID names the enrollment key without giving it away.
func (t *Tokens) KeyID() string {
	return hex.EncodeToString(t.mac("key id")[:8])
}

// NewNonce makes the nonce of a new operation.
func (t *Tokens) NewNonce(random io.Reader) ([]byte, error) {
	nonce := make([]byte, nonceBytes)
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, fmt.Errorf("make the nonce of an enrollment token: %w", err)
	}
	return nonce, nil
}

// Token is the operation's token. It is a secret until it is spent.
func (t *Tokens) Token(operation fleet.OperationID, nonce []byte) string {
	return tokenPrefix + "." + string(operation) + "." + tokenEncoding.EncodeToString(t.mac(tokenPrefix, string(operation), string(nonce)))
}

// Hash is what the store keeps of a token.
func (t *Tokens) Hash(token string) string { return fleet.DigestBytes([]byte(token)) }

// Verify says whether the token is the one of the operation, in a time that
// doesn't depend on how much of it is right.
func (t *Tokens) Verify(token string, operation fleet.Operation) bool {
	if len(operation.Nonce) == 0 || operation.TokenHash == "" {
		return false
	}
	want := t.Token(operation.ID, operation.Nonce)
	derived := subtle.ConstantTimeCompare([]byte(token), []byte(want))
	stored := subtle.ConstantTimeCompare([]byte(t.Hash(token)), []byte(operation.TokenHash))
	return derived&stored == 1
}

// OperationOf reads the operation that a token names. It proves nothing.
func OperationOf(token string) (fleet.OperationID, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[0] != tokenPrefix || !fleet.ValidULID(parts[1]) ||
		len(parts[2]) != tokenEncoding.EncodedLen(sha256.Size) {
		return "", false
	}
	return fleet.OperationID(parts[1]), true
}

func (t *Tokens) mac(parts ...string) []byte {
	m := hmac.New(sha256.New, t.key)
	m.Write([]byte(strings.Join(parts, "\x00")))
	return m.Sum(nil)
}
