package keys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// A keyring is what the store remembers of all keys of a kind, the first one
// first. The keys themselves are in files; the store says which of them count.
//
// A rotation makes the new key's file and then writes the keyring. Killed in
// between, the file is unused, and the next rotation takes it.
// A deletion writes the keyring and then removes the file; killed in between, the next
// start removes it.
type keyring []keyRecord

// keyRecord is what the store remembers of one key.
type keyRecord struct {
	ID   string `json:"id"`
	File string `json:"file"`
	// Created is zero for the first key of an installation from before there were
	// keyrings.
	Created time.Time `json:"created,omitzero"`
	// Retired is when the next key took over, Deleted when this one ceased to be
	// trusted; zero: it hasn't.
	Retired time.Time `json:"retired,omitzero"`
	Deleted time.Time `json:"deleted,omitzero"`
}

// trusted are the records of the keys that count, the one in use first.
func (r keyring) trusted() (records []keyRecord) {
	for _, one := range slices.Backward(r) {
		if one.Deleted.IsZero() {
			records = append(records, one)
		}
	}
	return records
}

// find gives the place of a key in the ring; -1: none.
func (r keyring) find(id string) int {
	return slices.IndexFunc(r, func(one keyRecord) bool { return one.ID == id && one.Deleted.IsZero() })
}

// namedKey is a key that was read from its file.
type namedKey interface {
	// KeyID names the key without giving it away.
	KeyID() string
}

// keyKind is one kind of key that an installation has. keyKinds lists them.
type keyKind struct {
	// name is what people call it, file the name of the first key's file. Further
	// ones have a number in theirs.
	name, file string
	// purpose says what the key is for, replaces what a rotation changes.
	purpose, replaces string
	// load reads a key's file, and makes a key where there is none.
	load func(path string) (namedKey, error)
	// use gives the keys to their user: the one in use, and those that
	// are still trusted.
	use func(newest namedKey, older []namedKey) error
	// needs names what an old key can't be deleted for yet; none: nothing.
	needs func(old namedKey, s snapshot.State, now time.Time) []string
	// kept says that old keys stay until somebody deletes them, and are no hindrance
	// for another rotation.
	kept bool
}

// setting is where the store keeps the keyring.
func (kind keyKind) setting() string { return kind.name + " keys" }

// fileOf is the file of the n-th key, from 1.
func (kind keyKind) fileOf(n int) string {
	if n == 1 {
		return kind.file
	}
	extension := filepath.Ext(kind.file)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(kind.file, extension), n, extension)
}

// Load reads the keys that this installation made, or makes them at the first
// start. The store holds their ids: a key that got lost or exchanged is noticed
// before anything is signed with another.
func (k *Keyrings) Load(ctx context.Context) error {
	if err := pki.RemoveUnfinishedKeys(k.options.Place.Keys()); err != nil {
		return err
	}
	for _, kind := range k.keyKinds() {
		ring, err := k.keyring(ctx, kind)
		if err != nil {
			return err
		}
		if len(ring) == 0 {
			if ring, err = k.firstKey(ctx, kind); err != nil {
				return err
			}
		}
		if err := k.useKeys(kind, ring); err != nil {
			return err
		}
		if err := k.removeDeleted(ring); err != nil {
			return err
		}
	}
	return nil
}

// keyring reads what the store remembers; empty: nothing yet.
func (k *Keyrings) keyring(ctx context.Context, kind keyKind) (keyring, error) {
	return readKeyring(ctx, k.store, kind.setting())
}

// authorityKeyring is the setting of the authority's keyring.
const authorityKeyring = "authority keys"

// InstallationID tells installations of one name apart: the id of the first key of
// the authority, whatever was rotated since; "": there is none yet.
func InstallationID(ctx context.Context, s *store.Store) (string, error) {
	ring, err := readKeyring(ctx, s, authorityKeyring)
	if err != nil || len(ring) == 0 {
		return "", err
	}
	return ring[0].ID, nil
}

func readKeyring(ctx context.Context, s *store.Store, setting string) (ring keyring, err error) {
	text, found, err := s.Setting(ctx, setting)
	if err != nil || !found {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &ring); err != nil {
		return nil, fmt.Errorf("read the %s that the store remembers: %w; restore the store from a backup", setting, err)
	}
	return ring, nil
}

// firstKey makes the first key of a kind, or takes the file that a first start
// made before it was killed.
func (k *Keyrings) firstKey(ctx context.Context, kind keyKind) (keyring, error) {
	key, err := kind.load(filepath.Join(k.options.Place.Keys(), kind.file))
	if err != nil {
		return nil, err
	}
	failpoint.KeyUnremembered.Hit()
	ring := keyring{{ID: key.KeyID(), File: kind.file, Created: k.options.Clock().UTC()}}
	text, err := json.Marshal(ring)
	if err != nil {
		return nil, err
	}
	return ring, k.store.SetSetting(ctx, kind.setting(), string(text))
}

// useKeys reads the files of all keys that count and gives them to their user.
func (k *Keyrings) useKeys(kind keyKind, ring keyring) error {
	var keys []namedKey
	for _, record := range ring.trusted() {
		key, err := k.readKey(kind, record)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return fmt.Errorf("the store remembers no %s key in use; restore the store from a backup", kind.name)
	}
	return kind.use(keys[0], keys[1:])
}

// readKey reads the file of a key that there must be. It never makes one: a new
// key in the place of a lost one would be believed the next time.
func (k *Keyrings) readKey(kind keyKind, record keyRecord) (namedKey, error) {
	path := filepath.Join(k.options.Place.Keys(), record.File)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &pki.KeyFileError{
			Path: path,
			Problem: fmt.Sprintf(
				"is missing, and the store was written with its key %s; restore it from a backup, or use another state folder",
				record.ID,
			),
		}
	}
	key, err := kind.load(path)
	if err != nil {
		return nil, err
	}
	return key, pki.CheckKeyID(kind.name+" key in "+path, record.ID, key.KeyID())
}

// removeDeleted removes the files of keys that aren't trusted any more.
func (k *Keyrings) removeDeleted(ring keyring) error {
	for _, record := range ring {
		if record.Deleted.IsZero() {
			continue
		}
		path := filepath.Join(k.options.Place.Keys(), record.File)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the key file %s, whose key was deleted: %w; remove it by hand", path, err)
		}
	}
	return nil
}
