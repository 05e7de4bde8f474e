package control

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Key is one of the installation's keys, without the key.
type Key struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Purpose says what it is for.
	Purpose string `json:"purpose"`
	// Fingerprint is what clients pin of an authority; empty for other kinds.
	Fingerprint string    `json:"fingerprint,omitempty"`
	Created     time.Time `json:"created,omitzero"`
	// Retired is when a newer key took over; zero: it is in use.
	Retired time.Time `json:"retired,omitzero"`
	// Replaces says what its rotation changes.
	Replaces string `json:"replaces,omitempty"`
	// Needed names what a retired key can't be dropped for yet.
	Needed []string `json:"needed,omitempty"`
}

// retiredKept is how long a retired key is kept at least: for what was begun with
// it and isn't stored yet, and for the last certificate that it signed.
const retiredKept = time.Hour

// Keys lists the keys that count, of each kind the one in use first.
func (m *Manager) Keys(ctx context.Context) ([]Key, error) {
	if err := m.authorizeKeys(ctx, "key list"); err != nil {
		return nil, err
	}
	m.keysMu.Lock()
	defer m.keysMu.Unlock()
	state, err := m.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	keys := []Key{}
	for _, kind := range m.keyKinds() {
		ring, err := m.keyring(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, record := range ring.trusted() {
			key, err := m.describeKey(kind, record, state)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// authorizeKeys refuses callers who are limited to fleets, too: keys are the whole
// installation's.
func (m *Manager) authorizeKeys(ctx context.Context, useCase string) error {
	caller, err := authorize(ctx, useCase)
	if err == nil && len(caller.Fleets) > 0 {
		return &InvalidError{fmt.Sprintf("%s is limited to fleets, and keys are the whole installation's; use a token for all fleets", caller.Name)}
	}
	return err
}

func (m *Manager) describeKey(kind keyKind, record keyRecord, state snapshot.State) (Key, error) {
	loaded, err := m.readKey(kind, record)
	if err != nil {
		return Key{}, err
	}
	key := Key{ID: record.ID, Kind: kind.name, Purpose: kind.purpose, Created: record.Created, Retired: record.Retired, Replaces: kind.replaces}
	if pinned, ok := loaded.(interface{ Fingerprint() string }); ok {
		key.Fingerprint = pinned.Fingerprint()
	}
	if !record.Retired.IsZero() {
		key.Needed = m.neededFor(kind, loaded, record, state)
	}
	return key, nil
}

// neededFor names what a retired key can't be dropped for yet.
func (m *Manager) neededFor(kind keyKind, key namedKey, record keyRecord, state snapshot.State) []string {
	now := m.options.Clock()
	needed := kind.needs(key, state, now)
	if until := record.Retired.Add(retiredKept); now.Before(until) {
		needed = append(needed, fmt.Sprintf("it is kept until %s for what was begun with it", until.UTC().Format(time.RFC3339)))
	}
	return needed
}

// RotateKey makes a new key of a kind and uses it from now on. One rotation must
// be over before the next begins: of two in a row, the key between them would be
// trusted by hosts that nobody thought of.
func (m *Manager) RotateKey(ctx context.Context, name string) (Key, error) {
	if err := m.authorizeKeys(ctx, "key rotate"); err != nil {
		return Key{}, err
	}
	kind, err := m.kindOf(name)
	if err != nil {
		return Key{}, err
	}
	m.keysMu.Lock()
	defer m.keysMu.Unlock()
	ring, err := m.keyring(ctx, kind)
	if err != nil {
		return Key{}, err
	}
	state, err := m.store.Load(ctx)
	if err != nil {
		return Key{}, err
	}
	if ring, err = m.dropIdle(ctx, kind, ring, state); err != nil {
		return Key{}, err
	}
	if trusted := ring.trusted(); len(trusted) > 1 && !kind.kept {
		old, err := m.describeKey(kind, trusted[1], state)
		if err != nil {
			return Key{}, err
		}
		return Key{}, &ConflictError{fmt.Sprintf("the last rotation of the %s key isn't over: the key %s is still needed, since %s; rotate again when forgeyard-fleet key list no longer shows it",
			kind.name, old.ID, reasons(old.Needed))}
	}
	return m.rotate(ctx, kind, ring, state)
}

// rotate makes the next key's file and then writes the keyring.
func (m *Manager) rotate(ctx context.Context, kind keyKind, ring keyring, state snapshot.State) (Key, error) {
	now := m.options.Clock().UTC()
	file := kind.fileOf(len(ring) + 1)
	fresh, err := kind.load(filepath.Join(m.keyFolder(), file))
	if err != nil {
		return Key{}, err
	}
	next := append(keyring{}, ring...)
	next[len(next)-1].Retired = now
	next = append(next, keyRecord{ID: fresh.KeyID(), File: file, Created: now})
	detail := fmt.Sprintf("%s key %s replaces %s", kind.name, fresh.KeyID(), ring[len(ring)-1].ID)
	if err := m.writeKeyring(ctx, kind, next, "key rotate", detail); err != nil {
		return Key{}, err
	}
	m.options.Log.Info("a key was replaced", "kind", kind.name, "key", fresh.KeyID(), "before", ring[len(ring)-1].ID, "by", CallerOf(ctx).Name)
	return m.describeKey(kind, next[len(next)-1], state)
}

// writeKeyring stores a keyring with its audit record and then lives by it.
func (m *Manager) writeKeyring(ctx context.Context, kind keyKind, ring keyring, action, detail string) error {
	record, err := m.auditRecord(ctx, action, detail)
	if err != nil {
		return err
	}
	text, err := json.Marshal(ring)
	if err != nil {
		return err
	}
	if err := m.store.SetSettingAudited(ctx, kind.setting(), string(text), record); err != nil {
		return err
	}
	return m.useKeys(kind, ring)
}

// DropKey ends the trust in a retired key, if nothing needs it.
func (m *Manager) DropKey(ctx context.Context, id string) error {
	if err := m.authorizeKeys(ctx, "key delete"); err != nil {
		return err
	}
	m.keysMu.Lock()
	defer m.keysMu.Unlock()
	state, err := m.store.Load(ctx)
	if err != nil {
		return err
	}
	for _, kind := range m.keyKinds() {
		ring, err := m.keyring(ctx, kind)
		if err != nil {
			return err
		}
		n := ring.find(id)
		if n < 0 {
			continue
		}
		if ring[n].Retired.IsZero() {
			return &ConflictError{fmt.Sprintf("the %s key %s is in use; replace it first: forgeyard-fleet key rotate %s", kind.name, id, kind.name)}
		}
		key, err := m.describeKey(kind, ring[n], state)
		if err != nil {
			return err
		}
		if len(key.Needed) > 0 {
			return &ConflictError{fmt.Sprintf("the %s key %s is still needed: %s; wait, or replace those instances", kind.name, id, reasons(key.Needed))}
		}
		_, err = m.drop(ctx, kind, ring, n)
		return err
	}
	return &NotFoundError{Kind: "key", ID: id}
}

// dropIdleKeys drops the retired keys that nothing needs any more.
func (m *Manager) dropIdleKeys(ctx context.Context) error {
	ctx = WithCaller(ctx, Caller{Name: "the manager"})
	m.keysMu.Lock()
	defer m.keysMu.Unlock()
	state, err := m.store.Load(ctx)
	if err != nil {
		return err
	}
	for _, kind := range m.keyKinds() {
		ring, err := m.keyring(ctx, kind)
		if err != nil {
			return err
		}
		if _, err := m.dropIdle(ctx, kind, ring, state); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) dropIdle(ctx context.Context, kind keyKind, ring keyring, state snapshot.State) (keyring, error) {
	for n := range ring {
		if kind.kept || ring[n].Retired.IsZero() || !ring[n].Dropped.IsZero() {
			continue
		}
		key, err := m.describeKey(kind, ring[n], state)
		if err != nil {
			return ring, err
		}
		if len(key.Needed) > 0 {
			continue
		}
		if ring, err = m.drop(ctx, kind, ring, n); err != nil {
			return ring, err
		}
	}
	return ring, nil
}

// drop writes the keyring and then removes the key's file.
func (m *Manager) drop(ctx context.Context, kind keyKind, ring keyring, n int) (keyring, error) {
	next := append(keyring{}, ring...)
	next[n].Dropped = m.options.Clock().UTC()
	if err := m.writeKeyring(ctx, kind, next, "key delete", fmt.Sprintf("%s key %s, which nothing needs any more", kind.name, next[n].ID)); err != nil {
		return ring, err
	}
	m.options.Log.Info("an old key isn't trusted any more", "kind", kind.name, "key", next[n].ID)
	return next, m.removeDropped(next)
}

func (m *Manager) kindOf(name string) (keyKind, error) {
	var names []string
	for _, kind := range m.keyKinds() {
		if kind.name == name || kind.name == "authority" && name == "ca" {
			return kind, nil
		}
		names = append(names, kind.name)
	}
	return keyKind{}, &InvalidError{fmt.Sprintf("there is no key %q; there are: %s", name, strings.Join(names, ", "))}
}

// reasons joins what a key is needed for, the first few in full.
func reasons(all []string) string {
	const most = 3
	if len(all) > most {
		return fmt.Sprintf("%s; and %d more", strings.Join(all[:most], "; "), len(all)-most)
	}
	return strings.Join(all, "; ")
}
