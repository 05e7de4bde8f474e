package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Identities of the domain (specification 6, 7, 49, 53, 59, 98). Those that
// name rows are ULIDs in lower case, since they go into names and tags of
// providers; those that name content are digests.
type (
	// RunnerFleetID is the stable administrative identity of a fleet (spec §6).
	RunnerFleetID string
	// CapacityInstanceID is the stable identity of one unit of capacity (spec §53).
	CapacityInstanceID string
	// RunnerID is the identity that an enrolled agent proves by certificate. It
	// is never derived from a provider's id (spec §50).
	RunnerID string
	// OperationID identifies one external effect and is the key that the
	// provider gets (spec §46, §48).
	OperationID string
	// CapacityClassID is the digest of platform, capabilities, resources and
	// trust (spec §7). The image is not part of it: a rollout must not break demand
	// mapping or reservations.
	CapacityClassID string
	// RunnerImageID is the digest of declared digest, resolved reference,
	// bootstrap kind and agent version (spec §59).
	RunnerImageID string
	// ProviderInstanceRef is the provider's own string for a resource, never
	// used as any other identity (spec §50).
	ProviderInstanceRef string
	// FleetAddress is a fleet's place in the file: fleet.NAME, or
	// fleet.NAME["KEY"] for each key of a block with for_each.
	FleetAddress string
	// ProviderAddress is a provider block's place in the file: PLUGIN.NAME.
	ProviderAddress string
)

// NewULID makes a lower-case ULID from a time and a source of randomness.
func NewULID(now time.Time, entropy io.Reader) (string, error) {
	id, err := ulid.New(ulid.Timestamp(now), entropy)
	if err != nil {
		return "", fmt.Errorf("make a ULID: %w", err)
	}
	return strings.ToLower(id.String()), nil
}

// ValidULID says whether s is a lower-case ULID, the form that all row
// identities have.
func ValidULID(s string) bool {
	if s != strings.ToLower(s) {
		return false
	}
	_, err := ulid.ParseStrict(strings.ToUpper(s))
	return err == nil
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// ValidName says whether s may name a block of a fleet file.
func ValidName(s string) bool { return len(s) <= 63 && namePattern.MatchString(s) }

// Plugin is the plugin that serves the provider block.
func (a ProviderAddress) Plugin() string {
	plugin, _, _ := strings.Cut(string(a), ".")
	return plugin
}

// Digest is "sha256:" and the hex digest of v's JSON. The values it is used on
// marshal canonically: structs in field order, map keys sorted.
func Digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		// Only plain values of this package reach here; a failure is a bug in it.
		panic(fmt.Sprintf("digest of %T: %v", v, err))
	}
	return DigestBytes(b)
}

// DigestBytes is "sha256:" and the hex digest of b.
func DigestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ShortDigest is enough of a digest to tell it from another: the first 12 of its
// digits, without the name of its algorithm.
func ShortDigest(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(12, len(digest))]
}
