package enroll

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/ownership"
)

func ownershipKeys(t *testing.T, folder string) ownership.Keyring {
	t.Helper()
	ring, err := LoadOwnershipKeys(folder)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestOwnershipKeysAreMadeOncePrivateAndTheSameAfterwards(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "keys")
	first := ownershipKeys(t, folder)
	info, err := os.Stat(filepath.Join(folder, ownershipKeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if again := ownershipKeys(t, folder); again.KeyID() != first.KeyID() {
		t.Error("the second start has another key")
	}
}

func TestARotationKeepsEveryEarlierOwnershipKey(t *testing.T) {
	folder := t.TempDir()
	claim := ownership.Claim{Installation: "demo", Fleet: "f", Instance: "i", Key: "k"}
	var ids, proofs []string
	ring := ownershipKeys(t, folder)
	for range 4 {
		proof, err := ring.Prove(claim)
		if err != nil {
			t.Fatal(err)
		}
		ids, proofs = append([]string{ring.KeyID()}, ids...), append(proofs, proof)
		if ring, err = AddOwnershipKey(folder); err != nil {
			t.Fatal(err)
		}
	}
	read := ownershipKeys(t, folder)
	if !slices.Equal(read.KeyIDs(), ring.KeyIDs()) || !slices.Equal(read.KeyIDs()[1:], ids) {
		t.Errorf("the file has %v, the rotation gave %v, before were %v", read.KeyIDs(), ring.KeyIDs(), ids)
	}
	for _, proof := range proofs {
		if err := read.Verify(proof, claim); err != nil {
			t.Errorf("%s: %v", proof, err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

func TestOwnershipKeysThatOthersMayReadOrThatAreDamagedAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"mode 0644": func(path string) error { return os.Chmod(path, 0o644) },
		"truncated": func(path string) error { return os.Truncate(path, 30) },
		"or damaged": func(path string) error {
			return os.WriteFile(path, []byte("-----BEGIN OTHER-----\nAAAA\n-----END OTHER-----\n"), 0o600)
		},
		"bytes, this one has": func(path string) error {
			return os.WriteFile(path, []byte("-----BEGIN FORGEYARD OWNERSHIP KEY-----\nAAAA\n-----END FORGEYARD OWNERSHIP KEY-----\n"), 0o600)
		},
	} {
		folder := t.TempDir()
		ownershipKeys(t, folder)
		if err := spoil(filepath.Join(folder, ownershipKeyFile)); err != nil {
			t.Fatal(err)
		}
		var refused *KeyFileError
		if _, err := LoadOwnershipKeys(folder); !errors.As(err, &refused) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheStoresOwnershipKeyMustBeAmongThoseOfTheFolder(t *testing.T) {
	folder := t.TempDir()
	before := ownershipKeys(t, folder)
	after, err := AddOwnershipKey(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		stored string
		ring   ownership.Keyring
		refuse bool
	}{
		"a new store":                             {"", before, false},
		"the same key":                            {before.KeyID(), before, false},
		"a rotation that was cut short":           {before.KeyID(), after, false},
		"a folder from before the rotation":       {after.KeyID(), before, true},
		"another installation's folder or a lost": {"0123456789abcdef", after, true},
	} {
		var mismatch *KeyMismatchError
		if err := CheckOwnershipKey(test.stored, test.ring); errors.As(err, &mismatch) != test.refuse {
			t.Errorf("%s: %v", name, err)
		}
	}
}
