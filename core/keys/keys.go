package keys

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Keyrings are all keys of an installation: those in use, and those that are still
// trusted. A rotation replaces them while a loop and agents work with them.
type Keyrings struct {
	// Authorities sign certificates, Enrollment makes the hosts' single-use tokens.
	Authorities pki.AuthoritySet
	Enrollment  pki.Tokens
	// proofs makes and checks the proofs in resource tags.
	proofs atomic.Pointer[ownership.Keyring]

	store   *store.Store
	options workspace.Options
	// seen is what a running manager sees of the providers.
	seen func() snapshot.Observations
	// mu is held while a key is changed.
	mu sync.Mutex
}

// New is of a store that is open for writing. Load comes next.
func New(s *store.Store, o workspace.Options, seen func() snapshot.Observations) *Keyrings {
	return &Keyrings{store: s, options: o, seen: seen}
}

// Ownership makes and checks the proofs in resource tags.
func (k *Keyrings) Ownership() ownership.Keyring { return *k.proofs.Load() }

// ServerCertificate is the manager's own, for listeners beside the agents'.
func (k *Keyrings) ServerCertificate() (*tls.Certificate, error) {
	return k.Authorities.Signing().ServerCertificate(k.options.Clock())
}

// Fingerprint is of the installation's authority: what clients pin.
func (k *Keyrings) Fingerprint() string { return k.Authorities.Signing().Fingerprint() }

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
	// Needed names what a retired key can't be deleted for yet.
	Needed []string `json:"needed,omitempty"`
}

// RetiredKept is how long a retired key is kept at least: for what was begun with
// it and isn't stored yet, and for the last certificate that it signed.
const RetiredKept = time.Hour

// Keys lists the keys that count, of each kind the one in use first.
func (k *Keyrings) Keys(ctx context.Context) ([]Key, error) {
	if err := k.authorizeKeys(ctx, "key list"); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	state, err := k.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	keys := []Key{}
	for _, kind := range k.keyKinds() {
		ring, err := k.keyring(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, record := range ring.trusted() {
			key, err := k.describeKey(kind, record, state)
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
func (k *Keyrings) authorizeKeys(ctx context.Context, useCase string) error {
	caller, err := access.Authorize(ctx, useCase)
	if err == nil && len(caller.Fleets) > 0 {
		return access.Invalid(
			"%s is limited to fleets, and keys are the whole installation's; use a token for all fleets",
			caller.Name,
		)
	}
	return err
}

func (k *Keyrings) describeKey(kind keyKind, record keyRecord, state snapshot.State) (Key, error) {
	loaded, err := k.readKey(kind, record)
	if err != nil {
		return Key{}, err
	}
	key := Key{
		ID:       record.ID,
		Kind:     kind.name,
		Purpose:  kind.purpose,
		Created:  record.Created,
		Retired:  record.Retired,
		Replaces: kind.replaces,
	}
	if pinned, ok := loaded.(interface{ Fingerprint() string }); ok {
		key.Fingerprint = pinned.Fingerprint()
	}
	if !record.Retired.IsZero() {
		key.Needed = k.neededFor(kind, loaded, record, state)
	}
	return key, nil
}

// neededFor names what a retired key can't be deleted for yet.
func (k *Keyrings) neededFor(kind keyKind, key namedKey, record keyRecord, state snapshot.State) []string {
	now := k.options.Clock()
	needed := kind.needs(key, state, now)
	if until := record.Retired.Add(RetiredKept); now.Before(until) {
		needed = append(
			needed,
			fmt.Sprintf("it is kept until %s for what was begun with it", until.UTC().Format(time.RFC3339)),
		)
	}
	return needed
}

// RotateKey makes a new key of a kind and uses it from now on. One rotation must
// be over before the next begins: of two in a row, the key between them would be
// trusted by forgotten hosts.
func (k *Keyrings) RotateKey(ctx context.Context, name string) (Key, error) {
	if err := k.authorizeKeys(ctx, "key rotate"); err != nil {
		return Key{}, err
	}
	kind, err := k.kindOf(name)
	if err != nil {
		return Key{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	ring, err := k.keyring(ctx, kind)
	if err != nil {
		return Key{}, err
	}
	state, err := k.store.Load(ctx)
	if err != nil {
		return Key{}, err
	}
	if ring, err = k.deleteIdle(ctx, kind, ring, state); err != nil {
		return Key{}, err
	}
	if trusted := ring.trusted(); len(trusted) > 1 && !kind.kept {
		old, err := k.describeKey(kind, trusted[1], state)
		if err != nil {
			return Key{}, err
		}
		return Key{}, access.Conflict(
			"the last rotation of the %s key isn't over: the key %s is still needed, since %s; rotate again when "+
				"forgeyard-fleet key list no longer shows it",
			kind.name,
			old.ID,
			reasons(old.Needed),
		)
	}
	return k.rotate(ctx, kind, ring, state)
}

// rotate makes the next key's file and then writes the keyring.
func (k *Keyrings) rotate(ctx context.Context, kind keyKind, ring keyring, state snapshot.State) (Key, error) {
	now := k.options.Clock().UTC()
	file := kind.fileOf(len(ring) + 1)
	fresh, err := kind.load(filepath.Join(k.options.Place.Keys(), file))
	if err != nil {
		return Key{}, err
	}
	next := append(keyring{}, ring...)
	next[len(next)-1].Retired = now
	next = append(next, keyRecord{ID: fresh.KeyID(), File: file, Created: now})
	detail := fmt.Sprintf("%s key %s replaces %s", kind.name, fresh.KeyID(), ring[len(ring)-1].ID)
	if err := k.writeKeyring(ctx, kind, next, "key rotate", detail); err != nil {
		return Key{}, err
	}
	k.options.Log.Info(
		"a key was replaced",
		"kind",
		kind.name,
		"key",
		fresh.KeyID(),
		"before",
		ring[len(ring)-1].ID,
		"by",
		access.CallerOf(ctx).Name,
	)
	return k.describeKey(kind, next[len(next)-1], state)
}

// writeKeyring stores a keyring with its audit record and then lives by it.
func (k *Keyrings) writeKeyring(ctx context.Context, kind keyKind, ring keyring, action, detail string) error {
	record, err := access.NewAuditRecord(ctx, k.options.Clock(), action, detail)
	if err != nil {
		return err
	}
	text, err := json.Marshal(ring)
	if err != nil {
		return err
	}
	if err := k.store.SetSettingAudited(ctx, kind.setting(), string(text), record); err != nil {
		return err
	}
	return k.useKeys(kind, ring)
}

// DeleteKey ends the trust in a retired key, if nothing needs it.
func (k *Keyrings) DeleteKey(ctx context.Context, id string) error {
	if err := k.authorizeKeys(ctx, "key delete"); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	state, err := k.store.Load(ctx)
	if err != nil {
		return err
	}
	for _, kind := range k.keyKinds() {
		ring, err := k.keyring(ctx, kind)
		if err != nil {
			return err
		}
		n := ring.find(id)
		if n < 0 {
			continue
		}
		if ring[n].Retired.IsZero() {
			return access.Conflict(
				"the %s key %s is in use; replace it first: forgeyard-fleet key rotate %s",
				kind.name,
				id,
				kind.name,
			)
		}
		key, err := k.describeKey(kind, ring[n], state)
		if err != nil {
			return err
		}
		if len(key.Needed) > 0 {
			return access.Conflict(
				"the %s key %s is still needed: %s; wait, or replace those instances",
				kind.name,
				id,
				reasons(key.Needed),
			)
		}
		_, err = k.delete(ctx, kind, ring, n)
		return err
	}
	return &access.NotFoundError{Kind: "key", ID: id}
}

// DeleteIdle deletes the retired keys that nothing needs any more.
func (k *Keyrings) DeleteIdle(ctx context.Context) error {
	ctx = access.WithCaller(ctx, access.Caller{Name: "the manager"})
	k.mu.Lock()
	defer k.mu.Unlock()
	state, err := k.store.Load(ctx)
	if err != nil {
		return err
	}
	for _, kind := range k.keyKinds() {
		ring, err := k.keyring(ctx, kind)
		if err != nil {
			return err
		}
		if _, err := k.deleteIdle(ctx, kind, ring, state); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keyrings) deleteIdle(ctx context.Context, kind keyKind, ring keyring, state snapshot.State) (keyring, error) {
	for n := range ring {
		if kind.kept || ring[n].Retired.IsZero() || !ring[n].Deleted.IsZero() {
			continue
		}
		key, err := k.describeKey(kind, ring[n], state)
		if err != nil {
			return ring, err
		}
		if len(key.Needed) > 0 {
			continue
		}
		if ring, err = k.delete(ctx, kind, ring, n); err != nil {
			return ring, err
		}
	}
	return ring, nil
}

// delete writes the keyring and then removes the key's file.
func (k *Keyrings) delete(ctx context.Context, kind keyKind, ring keyring, n int) (keyring, error) {
	next := append(keyring{}, ring...)
	next[n].Deleted = k.options.Clock().UTC()
	if err := k.writeKeyring(
		ctx,
		kind,
		next,
		"key delete",
		fmt.Sprintf("%s key %s, which nothing needs any more", kind.name, next[n].ID),
	); err != nil {
		return ring, err
	}
	k.options.Log.Info("an old key is no longer trusted", "kind", kind.name, "key", next[n].ID)
	return next, k.removeDeleted(next)
}

func (k *Keyrings) kindOf(name string) (keyKind, error) {
	var names []string
	for _, kind := range k.keyKinds() {
		if kind.name == name || kind.name == "authority" && name == "ca" {
			return kind, nil
		}
		names = append(names, kind.name)
	}
	return keyKind{}, access.Invalid("unknown kind of key %q; valid: %s", name, strings.Join(names, ", "))
}

// reasons joins what a key is needed for, the first few in full.
func reasons(all []string) string {
	const most = 3
	if len(all) > most {
		return fmt.Sprintf("%s; and %d more", strings.Join(all[:most], "; "), len(all)-most)
	}
	return strings.Join(all, "; ")
}
