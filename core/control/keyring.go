package control

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

	"github.com/forgeyard/forgeyard-fleet/core/enroll"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// A keyring is what the store remembers of all keys of a kind, the first one
// first. The keys themselves are in files; the store says which of them count.
//
// A rotation makes the new key's file and then writes the keyring. Killed in
// between, the file is one that nobody counts on, and the next rotation takes it.
// A drop writes the keyring and then removes the file; killed in between, the next
// start removes it.
type keyring []keyRecord

// keyRecord is what the store remembers of one key.
type keyRecord struct {
	ID   string `json:"id"`
	File string `json:"file"`
	// Created is zero for the first key of an installation of before there were
	// keyrings.
	Created time.Time `json:"created,omitzero"`
	// Retired is when the next key took over, Dropped when this one ceased to be
	// trusted; zero: it hasn't.
	Retired time.Time `json:"retired,omitzero"`
	Dropped time.Time `json:"dropped,omitzero"`
}

// trusted are the records of the keys that count, the one in use first.
func (r keyring) trusted() (records []keyRecord) {
	for _, one := range slices.Backward(r) {
		if one.Dropped.IsZero() {
			records = append(records, one)
		}
	}
	return records
}

// find gives the place of a key in the ring; -1: none.
func (r keyring) find(id string) int {
	return slices.IndexFunc(r, func(one keyRecord) bool { return one.ID == id && one.Dropped.IsZero() })
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
	// use gives the keys to whoever works with them: the one in use, and those that
	// are still trusted.
	use func(newest namedKey, older []namedKey) error
	// needs names what an old key can't be dropped for yet; none: nothing.
	needs func(old namedKey, s snapshot.State, now time.Time) []string
	// kept says that old keys stay until somebody drops them, and are no hindrance
	// for another rotation.
	kept bool
}

// setting is where the store keeps the keyring.
func (k keyKind) setting() string { return k.name + " keys" }

// fileOf is the file of the n-th key, from 1.
func (k keyKind) fileOf(n int) string {
	if n == 1 {
		return k.file
	}
	extension := filepath.Ext(k.file)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(k.file, extension), n, extension)
}

func (m *Manager) keyFolder() string { return keysFolder(m.options.Place) }

// loadKeys reads the keys that this installation made, or makes them at the first
// start. The store holds their ids: a key that got lost or exchanged is noticed
// before anything is signed with another.
func (m *Manager) loadKeys(ctx context.Context) error {
	if err := enroll.RemoveUnfinishedKeys(m.keyFolder()); err != nil {
		return err
	}
	for _, kind := range m.keyKinds() {
		ring, err := m.keyring(ctx, kind)
		if err != nil {
			return err
		}
		if len(ring) == 0 {
			if ring, err = m.firstKey(ctx, kind); err != nil {
				return err
			}
		}
		if err := m.useKeys(kind, ring); err != nil {
			return err
		}
		if err := m.removeDropped(ring); err != nil {
			return err
		}
	}
	return nil
}

// keyring reads what the store remembers; empty: nothing yet.
func (m *Manager) keyring(ctx context.Context, kind keyKind) (keyring, error) {
	return readKeyring(ctx, m.store, kind.setting())
}

// authorityKeyring is the setting of the authority's keyring.
const authorityKeyring = "authority keys"

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
func (m *Manager) firstKey(ctx context.Context, kind keyKind) (keyring, error) {
	key, err := kind.load(filepath.Join(m.keyFolder(), kind.file))
	if err != nil {
		return nil, err
	}
	failpoint.KeyUnremembered.Hit()
	ring := keyring{{ID: key.KeyID(), File: kind.file, Created: m.options.Clock().UTC()}}
	text, err := json.Marshal(ring)
	if err != nil {
		return nil, err
	}
	return ring, m.store.SetSetting(ctx, kind.setting(), string(text))
}

// useKeys reads the files of all keys that count and gives them to whoever works
// with them.
func (m *Manager) useKeys(kind keyKind, ring keyring) error {
	var keys []namedKey
	for _, record := range ring.trusted() {
		key, err := m.readKey(kind, record)
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
func (m *Manager) readKey(kind keyKind, record keyRecord) (namedKey, error) {
	path := filepath.Join(m.keyFolder(), record.File)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &enroll.KeyFileError{Path: path, Problem: fmt.Sprintf("is missing, and the store was written with its key %s; restore it from a backup, or use another state folder", record.ID)}
	}
	key, err := kind.load(path)
	if err != nil {
		return nil, err
	}
	return key, enroll.CheckKeyID(kind.name+" key in "+path, record.ID, key.KeyID())
}

// removeDropped removes the files of keys that aren't trusted any more.
func (m *Manager) removeDropped(ring keyring) error {
	for _, record := range ring {
		if record.Dropped.IsZero() {
			continue
		}
		path := filepath.Join(m.keyFolder(), record.File)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the key file %s, whose key was dropped: %w; remove it by hand", path, err)
		}
	}
	return nil
}
