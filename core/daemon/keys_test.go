package daemon

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/agent/metadata"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/logbuffer"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

// yard is a manager that answers real agents on a real socket, with a store on the
// disk and a clock that the test moves. No loop runs: what it would write, the
// test writes.
type yard struct {
	t       *testing.T
	options workspace.Options
	ahead   atomic.Int64
	log     *logbuffer.Buffer
	manager *Daemon
	agents  *agentServer
	address string
	// metadata is the metadata service of the hosts that boot; nil: they have none.
	metadata *metadata.Service
}

func newYard(t *testing.T) *yard {
	t.Helper()
	y := &yard{t: t, options: workspacetest.Options(t), log: &logbuffer.Buffer{}, address: "127.0.0.1:0"}
	y.options.Clock = func() time.Time { return time.Now().Add(time.Duration(y.ahead.Load())) }
	y.options.Log = slog.New(slog.NewTextHandler(y.log, nil))
	y.start()
	f := fleet.ManagedFleet{
		ID:          "f1",
		Operational: fleet.FleetActive,
		RunnerFleet: fleet.RunnerFleet{Address: "fleet.demo", Instance: []byte(`{}`), Timeouts: fleet.DefaultTimeouts()},
	}
	f.Timeouts.Heartbeat = time.Second // beats every quarter of a second
	_, err := y.manager.store.ApplyDefinition(
		t.Context(),
		store.Apply{
			Definition: fleet.Definition{Installation: "demo"},
			At:         y.now(),
			By:         "ada",
			Fleets:     []fleet.ManagedFleet{f},
		},
	)
	y.must(err)
	t.Cleanup(y.stop)
	return y
}

func (y *yard) now() time.Time { return y.options.Clock() }

func (y *yard) must(err error) {
	y.t.Helper()
	if err != nil {
		y.t.Fatal(err)
	}
}

// start is a new manager process on the same state and address.
func (y *yard) start() {
	y.t.Helper()
	y.manager = open(y.t, y.options)
	listener, err := net.Listen("tcp", y.address)
	y.must(err)
	y.address = listener.Addr().String()
	y.agents, err = y.manager.serveAgents(listener, agentserver.Config{})
	y.must(err)
}

func (y *yard) stop() {
	if err := errors.Join(y.agents.close(), y.manager.Close()); err != nil {
		y.t.Error(err)
	}
}

func (y *yard) ctx() context.Context {
	return access.WithCaller(y.t.Context(), access.LocalUser("ada"))
}

// request stores an instance whose request is about to go out, and gives the
// document that its host would boot with whenever it is sent.
func (y *yard) request() (fleet.CapacityInstanceID, fleet.OperationID) {
	y.t.Helper()
	id, err := newID(y.now())
	y.must(err)
	key, err := newID(y.now())
	y.must(err)
	authority := y.manager.Authorities.Signing()
	nonce, err := y.manager.Enrollment.NewNonce(rand.Reader)
	y.must(err)
	op := fleet.Operation{
		ID:       fleet.OperationID(key),
		Kind:     fleet.ProvisionOperation,
		Instance: fleet.CapacityInstanceID(id),
		Fleet:    "f1",
		Created:  y.now(),
		State:    fleet.OperationInProgress,
		Nonce:    nonce,
	}
	op.TokenHash = y.manager.Enrollment.Hash(y.manager.Enrollment.Token(op.ID, nonce))
	op.TokenExpires = y.now().Add(30 * time.Minute)
	op.Request, err = json.Marshal(fleet.ProvisionIntent{Fleet: "fleet.demo", Bootstrap: fleet.BootstrapIntent{
		ManagerURL: "https://" + y.address, CAFingerprint: authority.Fingerprint(), ServerName: authority.ServerName()}})
	y.must(err)
	i := fleet.CapacityInstance{
		ID:      fleet.CapacityInstanceID(id),
		Fleet:   "f1",
		Key:     op.ID,
		State:   fleet.Bootstrapping,
		Since:   y.now(),
		Created: y.now(),
	}
	y.must(
		y.manager.store.Commit(
			y.t.Context(),
			store.Change{Instances: []fleet.CapacityInstance{i}, Operations: []fleet.Operation{op}},
		),
	)
	return i.ID, op.ID
}

// host is a host of a stored request: what it boots with is made from the store.
type host struct {
	folder string
	cancel context.CancelFunc
	ended  chan error
}

// boot starts the real agent with what the stored request says now. The same
// folder is the same host.
func (y *yard) boot(id fleet.OperationID, folder string) *host {
	y.t.Helper()
	subject, found, err := y.manager.store.EnrollmentSubject(y.t.Context(), id)
	if err != nil || !found {
		y.t.Fatalf("operation %s: %v, %v", id, found, err)
	}
	var intent fleet.ProvisionIntent
	y.must(json.Unmarshal(subject.Operation.Request, &intent))
	token := y.manager.Enrollment.TokenOf(subject.Operation)
	trust := func(t agentapi.Trust, checkTime bool) *tls.Config {
		d := bootstrap.Document{
			ManagerURL:    intent.Bootstrap.ManagerURL,
			CAFingerprint: intent.Bootstrap.CAFingerprint,
			ServerName:    intent.Bootstrap.ServerName,
		}
		if t != (agentapi.Trust{}) {
			d.CAFingerprint, d.ServerName = t.CAFingerprint, t.ServerName
		}
		return bootstrap.TLSConfig(d, checkTime)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &host{folder: folder, cancel: cancel, ended: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ended <- agent.Run(ctx,
			agent.Config{ManagerURL: intent.Bootstrap.ManagerURL, TLS: trust, Token: token, StateDir: folder,
				Version: "0.1.0", Metadata: y.metadata, Now: y.now, Logger: y.options.Log,
				Retry: agent.Backoff{First: 10 * time.Millisecond, Most: 50 * time.Millisecond}})
	}()
	y.t.Cleanup(func() { cancel(); <-done })
	return h
}

// shows waits until the stored runner of an operation is as wanted.
func (y *yard) shows(id fleet.OperationID, what string, condition func(fleet.Runner) bool) (last fleet.Runner) {
	y.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(60 * time.Second); ; <-ticker.C {
		subject, _, err := y.manager.store.EnrollmentSubject(y.t.Context(), id)
		y.must(err)
		if subject.Runner != nil {
			if last = *subject.Runner; condition(last) {
				return last
			}
		}
		if time.Now().After(deadline) {
			y.t.Fatalf("it never came true that %s; the runner is %+v and the log\n%s", what, last, y.log)
		}
	}
}

func (y *yard) key(id string) (keys.Key, bool) {
	y.t.Helper()
	all, err := y.manager.Keys(y.ctx())
	y.must(err)
	n := slices.IndexFunc(all, func(k keys.Key) bool { return k.ID == id })
	if n < 0 {
		return keys.Key{}, false
	}
	return all[n], true
}

// conflict insists that a key can't be changed now, and on the reason.
func (y *yard) conflict(err error, says string) {
	y.t.Helper()
	var conflict *access.ConflictError
	if !errors.As(err, &conflict) || !strings.Contains(err.Error(), says) {
		y.t.Fatalf("the error is %v; it should be a conflict that says %q", err, says)
	}
}

func TestRotatedAuthorityEndsOnceNoAgentNeedsIt(t *testing.T) {
	y := newYard(t)
	_, working := y.request()
	_, late := y.request() // its host boots after the rotation
	h := y.boot(working, filepath.Join(t.TempDir(), "a"))
	old := y.manager.Authorities.Signing()
	before := y.shows(
		working,
		"the agent beats",
		func(r fleet.Runner) bool { return r.Beats > 0 && r.Authority == old.KeyID() },
	)

	fresh, err := y.manager.RotateKey(y.ctx(), "ca")
	y.must(err)
	if fresh.ID == old.KeyID() || fresh.Fingerprint == old.Fingerprint() {
		t.Fatal("nothing was replaced")
	}
	y.shows(working, "it keeps beating and knows the manager by the new authority", func(r fleet.Runner) bool {
		return r.ID == before.ID && r.Beats > before.Beats && r.Authority == fresh.ID
	})
	_, err = y.manager.RotateKey(y.ctx(), "authority")
	y.conflict(err, "the last rotation of the authority key isn't over")
	y.conflict(y.manager.DeleteKey(y.ctx(), old.KeyID()), "boots with its fingerprint")

	// The request from before goes out once more, as the bytes that are stored.
	l := y.boot(late, filepath.Join(t.TempDir(), "b"))
	y.shows(late, "a host with the old fingerprint enrolls and learns the new one", func(r fleet.Runner) bool {
		return r.Authority == fresh.ID && r.Issuer == fresh.ID
	})
	y.conflict(y.manager.DeleteKey(y.ctx(), old.KeyID()), "has a certificate of it until it renews")

	// The next processes of both sides know it too.
	h.cancel()
	y.must(<-h.ended)
	y.stop()
	y.start()
	if got := y.manager.Authorities.Signing().KeyID(); got != fresh.ID {
		t.Fatalf("the next manager signs with %s", got)
	}
	y.ahead.Add(int64(2 * time.Hour)) // all certificates of the old one are over
	y.boot(working, h.folder)
	y.shows(
		working,
		"it has a certificate of the new authority",
		func(r fleet.Runner) bool { return r.Issuer == fresh.ID && r.Authority == fresh.ID },
	)
	y.must(y.manager.DeleteIdle(t.Context()))
	if _, there := y.key(old.KeyID()); there {
		k, _ := y.key(old.KeyID())
		t.Fatalf("nothing needs the old authority, and it is trusted: %+v", k)
	}
	entries, err := os.ReadDir(filepath.Join(y.options.Place.State, "keys"))
	y.must(err)
	for _, e := range entries {
		if e.Name() == pki.AuthorityFile {
			t.Error("the file of the dropped authority is still there")
		}
	}
	seen := y.shows(late, "beats", func(fleet.Runner) bool { return true })
	y.shows(late, "it beats without the old one", func(r fleet.Runner) bool { return r.LastBeat.After(seen.LastBeat) })
	if ended := len(l.ended); ended > 0 {
		t.Errorf("the agent ended: %v", <-l.ended)
	}
	records, err := y.manager.Audit(y.ctx(), 0)
	y.must(err)
	var did []string
	for _, r := range records {
		did = append(did, r.By+": "+r.Action)
	}
	slices.Sort(did)
	if want := []string{"ada: key rotate", "the manager: key delete"}; !slices.Equal(did, want) {
		t.Errorf("the audit has %q, want %q", did, want)
	}
	if _, err := y.manager.RotateKey(y.ctx(), "authority"); err != nil {
		t.Errorf("the next rotation: %v", err)
	}
}

func TestARotatedEnrollmentKeyIsKeptUntilItsLastTokenExpired(t *testing.T) {
	y := newYard(t)
	_, before := y.request()
	subject, _, err := y.manager.store.EnrollmentSubject(t.Context(), before)
	y.must(err)
	token, old := y.manager.Enrollment.TokenOf(subject.Operation), y.manager.Enrollment.KeyID()
	fresh, err := y.manager.RotateKey(y.ctx(), "enrollment")
	y.must(err)
	if again := y.manager.Enrollment.TokenOf(subject.Operation); again != token {
		t.Error("the stored request would go out with another token")
	}
	y.conflict(y.manager.DeleteKey(y.ctx(), old), "was made with it and is good until")
	y.boot(before, filepath.Join(t.TempDir(), "a"))
	y.shows(before, "the host enrolls with its token", func(r fleet.Runner) bool { return r.Beats > 0 })
	_, after := y.request()
	y.boot(after, filepath.Join(t.TempDir(), "b"))
	y.shows(after, "a host of the new key enrolls", func(r fleet.Runner) bool { return r.Beats > 0 })

	y.ahead.Add(int64(29 * time.Minute))
	y.must(y.manager.DeleteIdle(t.Context()))
	if k, there := y.key(old); !there || len(k.Needed) == 0 {
		t.Fatalf("before the token's end the old key is %+v, %v", k, there)
	}
	y.ahead.Add(int64(32 * time.Minute))
	y.must(y.manager.DeleteIdle(t.Context()))
	if k, there := y.key(old); there {
		t.Fatalf("the last token expired, and the old key is kept: %+v", k)
	}
	if k, there := y.key(fresh.ID); !there || !k.Retired.IsZero() {
		t.Errorf("the key in use is %+v, %v", k, there)
	}
}

func TestARotationThatWasKilledIsFinishedByTheNext(t *testing.T) {
	y := newYard(t)
	before := y.manager.Authorities.Signing().KeyID()
	// Killed after the file was made and before the store knew of it.
	left, err := pki.LoadAuthorityFile(filepath.Join(y.options.Place.State, "keys", "authority-2.pem"), "demo", y.now())
	y.must(err)
	y.stop()
	y.start()
	if got := y.manager.Authorities.Signing().KeyID(); got != before {
		t.Fatalf("a key that no one counts on signs: %s", got)
	}
	fresh, err := y.manager.RotateKey(y.ctx(), "ca")
	y.must(err)
	if fresh.ID != left.KeyID() {
		t.Errorf("the rotation made %s beside the %s that was left", fresh.ID, left.KeyID())
	}
}

func TestADroppedKeyWhoseFileIsLeftIsNotTakenForANewOne(t *testing.T) {
	y := newYard(t)
	first := filepath.Join(y.options.Place.State, "keys", pki.EnrollmentKeyFile)
	content, err := os.ReadFile(first)
	y.must(err)
	old := y.manager.Enrollment.KeyID()
	_, err = y.manager.RotateKey(y.ctx(), "enrollment")
	y.must(err)
	y.ahead.Add(int64(2 * time.Hour))
	y.must(y.manager.DeleteKey(y.ctx(), old))
	// Killed after the store knew and before the file was removed.
	y.must(os.WriteFile(first, content, 0o600))
	y.stop()
	y.start()
	if _, err := os.Stat(first); !os.IsNotExist(err) {
		t.Errorf("the dropped key's file: %v", err)
	}
	if got := y.manager.Enrollment.KeyID(); got == old {
		t.Error("the dropped key is in use")
	}
}

func TestAStrangeKeyFileRefusesTheStartByNameAndWithARemedy(t *testing.T) {
	for _, file := range []string{pki.AuthorityFile, pki.EnrollmentKeyFile, "authority-2.pem", "enrollment-2.key"} {
		for _, c := range []struct {
			name, says string
			spoil      func(path string) error
		}{
			{"missing", "restore it from a backup", os.Remove},
			{"open to others", "chmod 600", func(path string) error { return os.Chmod(path, 0o644) }},
			{"cut short", "restore it from a backup", func(path string) error { return os.Truncate(path, 40) }},
			{"another key", "restore the keys folder that belongs to this store", func(path string) error {
				if err := os.Remove(path); err != nil {
					return err
				}
				if strings.HasPrefix(file, "authority") {
					_, err := pki.LoadAuthorityFile(path, "demo", time.Now())
					return err
				}
				_, err := pki.LoadTokenKey(path)
				return err
			}},
		} {
			t.Run(file+" is "+c.name, func(t *testing.T) {
				o := workspacetest.Options(t)
				m := open(t, o)
				for _, kind := range []string{"authority", "enrollment"} {
					if _, err := m.RotateKey(access.WithCaller(t.Context(), access.LocalUser("ada")), kind); err != nil {
						t.Fatal(err)
					}
				}
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(o.Place.State, "keys", file)
				if err := c.spoil(path); err != nil {
					t.Fatal(err)
				}
				for range 2 { // a refusal that left another key behind would be believed the next time
					if _, err := Open(
						t.Context(),
						o,
					); err == nil || !strings.Contains(err.Error(), path) ||
						!strings.Contains(err.Error(), c.says) {
						t.Fatalf("the error is %v; it should name %s and say %q", err, path, c.says)
					}
				}
			})
		}
	}
}

func TestKeysAreForWhomMayManageTheWholeInstallation(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	for _, caller := range []access.Caller{{Name: "reader", Permissions: []access.Permission{access.ReadFleets}},
		{Name: "limited", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.demo"}}} {
		ctx := access.WithCaller(t.Context(), caller)
		_, list := m.Keys(ctx)
		_, rotate := m.RotateKey(ctx, "ca")
		if drop := m.DeleteKey(ctx, "x"); list == nil || rotate == nil || drop == nil {
			t.Errorf("%s: list %v, rotate %v, drop %v", caller.Name, list, rotate, drop)
		}
	}
	ctx := access.WithCaller(t.Context(), access.LocalUser("ada"))
	var invalid *access.InvalidError
	if _, err := m.RotateKey(
		ctx,
		"house",
	); !errors.As(err, &invalid) ||
		!strings.Contains(err.Error(), "authority, enrollment") {
		t.Errorf("an unknown kind: %v", err)
	}
	if err := m.DeleteKey(ctx, m.Enrollment.KeyID()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("dropping the key in use: %v", err)
	}
	var missing *access.NotFoundError
	if err := m.DeleteKey(ctx, "0123"); !errors.As(err, &missing) {
		t.Errorf("dropping an unknown key: %v", err)
	}
}
