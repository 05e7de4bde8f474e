package enroll

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forgeyard/forgeyard-fleet/core/ownership"
)

// The ownership keys are blocks of one file: the first one makes proofs, all of
// them verify. Resources that were made before a rotation are ours as long as
// their key is in the file.
const (
	ownershipKeyFile = "ownership.key"
	ownershipKeyType = "FORGEYARD OWNERSHIP KEY"
)

// LoadOwnershipKeys reads the ownership keys in the folder, and makes one if
// there is none.
func LoadOwnershipKeys(folder string) (ownership.Keyring, error) {
	path := filepath.Join(folder, ownershipKeyFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		_, err := readOrCreateKeyFile(path, []string{ownershipKeyType}, func() ([]*pem.Block, error) {
			key := make([]byte, ownership.KeyBytes)
			if _, err := rand.Read(key); err != nil {
				return nil, err
			}
			return []*pem.Block{{Type: ownershipKeyType, Bytes: key}}, nil
		})
		if err != nil {
			return ownership.Keyring{}, err
		}
	}
	keys, err := readOwnershipKeys(path)
	if err != nil {
		return ownership.Keyring{}, err
	}
	return keyringOf(path, keys)
}

// AddOwnershipKey makes a new current key and keeps all earlier ones. The file
// has either the old keys or the new one with them, whatever happens meanwhile;
// the writer's lock must be held, since two at once would lose one's key. The
// store must be told the new id before a proof is made with it: Keyring.KeyID.
func AddOwnershipKey(folder string) (ownership.Keyring, error) {
	path := filepath.Join(folder, ownershipKeyFile)
	keys, err := readOwnershipKeys(path)
	if err != nil {
		return ownership.Keyring{}, err
	}
	fresh := make([]byte, ownership.KeyBytes)
	if _, err := rand.Read(fresh); err != nil {
		return ownership.Keyring{}, fmt.Errorf("make an ownership key: %w", err)
	}
	keys = append([][]byte{fresh}, keys...)
	ring, err := keyringOf(path, keys)
	if err != nil {
		return ownership.Keyring{}, err
	}
	var content []byte
	for _, key := range keys {
		content = append(content, pem.EncodeToMemory(&pem.Block{Type: ownershipKeyType, Bytes: key})...)
	}
	if err := replaceKeyFile(path, content); err != nil {
		return ownership.Keyring{}, fmt.Errorf("write key file %s: %w", path, err)
	}
	return ring, nil
}

// CheckOwnershipKey compares the keys with the id that the store holds, which may
// be of any of them: a rotation replaces the file first.
func CheckOwnershipKey(stored string, r ownership.Keyring) error {
	if stored != "" && !r.Knows(stored) {
		return &KeyMismatchError{Name: "ownership key", Stored: stored, Have: r.KeyID()}
	}
	return nil
}

func keyringOf(path string, keys [][]byte) (ownership.Keyring, error) {
	ring, err := ownership.NewKeyring(keys[0], keys[1:]...)
	if err != nil {
		return ownership.Keyring{}, &KeyFileError{path, fmt.Sprintf("can't be used (%v); restore it from a backup", err)}
	}
	return ring, nil
}

// readOwnershipKeys reads all blocks of the file, of which there is at least one.
func readOwnershipKeys(path string) ([][]byte, error) {
	content, err := readPrivately(path)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	for len(content) > 0 {
		var b *pem.Block
		if b, content = pem.Decode(content); b == nil || b.Type != ownershipKeyType {
			keys = nil
			break
		}
		keys = append(keys, b.Bytes)
	}
	if len(keys) == 0 {
		return nil, &KeyFileError{path, "is truncated or damaged; restore it from a backup, since resources made with it are told to be ours by it"}
	}
	return keys, nil
}

// replaceKeyFile puts the content in the place of the file whole or not at all.
func replaceKeyFile(path string, content []byte) error {
	suffix := make([]byte, 8)
	if _, err := rand.Read(suffix); err != nil {
		return err
	}
	temporary := path + ".new-" + hex.EncodeToString(suffix)
	defer os.Remove(temporary) // after the rename there is none
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}
