package executor_test

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

const (
	agentVersion = "0.1.0"
	lab          = fleet.ProviderAddress("lab.here")
	jobs         = fleet.SchedulerAddress("forgeyard.jobs")
)

// openBooks opens a store of its own that knows one fleet. The caller closes it.
func openBooks(t testing.TB, now time.Time, f fleet.ManagedFleet) *store.Store {
	t.Helper()
	books, err := store.Open(context.Background(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := books.Claim(context.Background(), "test", now); err != nil {
		t.Fatal(err)
	}
	_, err = books.ApplyDefinition(context.Background(), store.Apply{
		Definition: fleet.Definition{Installation: "lab"}, At: now, By: "ada", Fleets: []fleet.ManagedFleet{f},
	})
	if err != nil {
		t.Fatal(err)
	}
	return books
}

// installationKeys are the keys of an installation.
type installationKeys struct {
	authority *pki.Authority
	tokens    *pki.Tokens
	ownership ownership.Keyring
}

func newInstallationKeys(t testing.TB, now time.Time) installationKeys {
	t.Helper()
	folder := t.TempDir()
	authority, err := pki.LoadAuthority(folder, "lab", now)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := pki.LoadTokens(folder)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := ownership.NewKeyring(make([]byte, ownership.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return installationKeys{authority: authority, tokens: tokens, ownership: ring}
}

// newLoop is the loop of a manager whose agents' endpoint is at the URL.
func (k installationKeys) newLoop(books loop.Store, url string, started time.Time, callLimit int) *loop.Loop {
	return loop.New(books, door{k.tokens, fleet.BootstrapIntent{
		ManagerURL:    url,
		CAFingerprint: k.authority.Fingerprint(),
		ServerName:    k.authority.ServerName(),
	}}, loop.Settings{
		Installation: "lab",
		AgentVersion: agentVersion,
		CallLimit:    callLimit,
		Started:      started,
		Ownership:    func() ownership.Keyring { return k.ownership },
		NewID:        func(now time.Time) (string, error) { return fleet.NewULID(now, rand.Reader) },
	})
}

// door lets new machines in.
type door struct {
	tokens *pki.Tokens
	intent fleet.BootstrapIntent
}

func (d door) Issue(op fleet.OperationID) ([]byte, string, error) {
	nonce, err := d.tokens.NewNonce(rand.Reader)
	return nonce, d.tokens.Hash(d.tokens.Token(op, nonce)), err
}

func (d door) Bootstrap(_ fleet.ProviderAddress, kind string, _ fleet.Platform) (fleet.BootstrapIntent, error) {
	out := d.intent
	out.Kind = kind
	return out, nil
}

// labReady says that the provider's plugin serves.
func labReady() loop.ProviderReady {
	return loop.ProviderReady{Provider: lab, Facts: fleet.ProviderFacts{
		Plugin: "lab", Account: "1", Idempotency: fleet.IdempotencyNative, Ownership: fleet.OwnershipSigned,
	}}
}
