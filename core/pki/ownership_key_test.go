package pki

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
)

func ownershipKey(t *testing.T, path string) *OwnershipKey {
	t.Helper()
	key, err := LoadOwnershipKey(path)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAnOwnershipKeyIsMadeOncePrivateAndTheSameAfterwards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", OwnershipKeyFile)
	first := ownershipKey(t, path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if again := ownershipKey(t, path); again.KeyID() != first.KeyID() {
		t.Error("the second start has another key")
	}
}

func TestProofsOfEarlierOwnershipKeysStillVerify(t *testing.T) {
	folder := t.TempDir()
	old, fresh := ownershipKey(t, filepath.Join(folder, "a.key")), ownershipKey(t, filepath.Join(folder, "b.key"))
	before, err := OwnershipKeyring(old)
	if err != nil {
		t.Fatal(err)
	}
	claim := ownership.Claim{Installation: "demo", Fleet: "f", Instance: "i", Key: "k"}
	proof, err := before.Prove(claim)
	if err != nil {
		t.Fatal(err)
	}
	after, err := OwnershipKeyring(fresh, old)
	if err != nil || after.KeyID() != fresh.KeyID() {
		t.Fatalf("key %s, %v; want %s", after.KeyID(), err, fresh.KeyID())
	}
	if err := after.Verify(proof, claim); err != nil {
		t.Error(err)
	}
	alone, err := OwnershipKeyring(fresh)
	if err != nil {
		t.Fatal(err)
	}
	if alone.Verify(proof, claim) == nil {
		t.Error("a proof of a dropped key verifies")
	}
}

func TestADamagedOwnershipKeyIsNeverReplaced(t *testing.T) {
	for name, content := range map[string]string{
		"truncated":    "-----BEGIN FORGEYARD OWNERSHIP KEY-----\nAAAA",
		"empty":        "",
		"another kind": "-----BEGIN X-----\nAAAA\n-----END X-----\n",
		"too short":    "-----BEGIN FORGEYARD OWNERSHIP KEY-----\nAAAA\n-----END FORGEYARD OWNERSHIP KEY-----\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), OwnershipKeyFile)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			var bad *KeyFileError
			if _, err := LoadOwnershipKey(path); !errors.As(err, &bad) {
				t.Errorf("error %v, want a KeyFileError", err)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != content {
				t.Errorf("the file was changed: %q, %v", after, err)
			}
		})
	}
}
