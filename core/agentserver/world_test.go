package agentserver_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/logbuffer"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

const installation = "acme"

// world is a manager's side of enrollment over real sockets, with a store in
// memory and a clock that tests move.
type world struct {
	t         testing.TB
	store     *memoryStore
	authority *pki.Authority // of new hosts' documents
	ring      *pki.AuthoritySet
	tokens    *pki.Tokens
	ahead     atomic.Int64 // how far the manager's clock is ahead
	wakes     atomic.Int64
	log       *logbuffer.Buffer
	life      time.Duration
	// verifier stands for the plugins that verify identities.
	verifier   agentserver.Verifier
	verifyTime time.Duration

	address string
	cutter  *cutter
	server  *agentserver.Server
	served  chan error
}

func newWorld(t testing.TB) *world {
	t.Helper()
	keys := t.TempDir()
	w := &world{t: t, store: newMemoryStore(), log: &logbuffer.Buffer{}, address: "127.0.0.1:0", life: time.Hour}
	var err error
	if w.authority, err = pki.LoadAuthority(keys, installation, w.now()); err != nil {
		t.Fatal(err)
	}
	w.ring = pki.NewAuthoritySet(w.authority)
	if w.tokens, err = pki.LoadTokens(keys); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.stopManager() })
	return w
}

// startWorld is a world whose manager runs.
func startWorld(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.startManager()
	return w
}

// startWorldWithCaller is a world whose manager runs, with a host that is due to enroll
// and a caller with a key of its own.
func startWorldWithCaller(t testing.TB) (*world, host, *caller) {
	t.Helper()
	w := startWorld(t)
	return w, w.provision(fleet.RunnerPolicy{}), w.newCaller(newKey(t))
}

func (w *world) now() time.Time             { return time.Now().Add(time.Duration(w.ahead.Load())) }
func (w *world) moveClock(by time.Duration) { w.ahead.Add(int64(by)) }
func (w *world) managerURL() string         { return "https://" + w.address }
func (w *world) change(f func(s *memoryStore)) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	f(w.store)
}
func (w *world) setState(id fleet.CapacityInstanceID, state fleet.CapacityInstanceState, why string) {
	w.change(func(s *memoryStore) {
		i := s.instances[id]
		i.State, i.Reason, i.Since = state, reason.Plain(why), w.now()
		s.instances[id] = i
	})
}

func (w *world) startManager() {
	w.t.Helper()
	server, err := agentserver.NewServer(agentserver.Config{
		Authorities: w.ring, Tokens: w.tokens, Store: w.store, Now: w.now, Random: rand.Reader,
		Wake: func() { w.wakes.Add(1) }, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		Verifier: w.verify, VerifyTime: w.verifyTime,
		CertificateLife: w.life, FlushInterval: 20 * time.Millisecond,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.address = listener.Addr().String()
	w.cutter = &cutter{Listener: listener}
	w.server, w.served = server, make(chan error, 1)
	go func() { w.served <- server.Serve(w.cutter) }()
}

func (w *world) stopManager() {
	if w.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.server.Close(ctx); err != nil {
		w.t.Errorf("close the server: %v", err)
	}
	if err := <-w.served; err != nil {
		w.t.Error(err)
	}
	w.server = nil
}

// cutter is a listener whose connections can be cut, as a broken network does.
type cutter struct {
	net.Listener
	mu          sync.Mutex
	connections []net.Conn
}

func (c *cutter) Accept() (net.Conn, error) {
	connection, err := c.Listener.Accept()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connections = append(c.connections, connection)
	return connection, err
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, connection := range c.connections {
		_ = connection.Close()
	}
}

// host is one provisioned instance and the token that its agent gets.
type host struct {
	instance  fleet.CapacityInstanceID
	operation fleet.OperationID
	token     string
}

// provision stores an instance as if its request had just gone out.
func (w *world) provision(policy fleet.RunnerPolicy, capabilities ...string) host {
	w.t.Helper()
	nonce, err := w.tokens.NewNonce(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	h := host{instance: fleet.CapacityInstanceID(w.ulid()), operation: fleet.OperationID(w.ulid())}
	h.token = w.tokens.Token(h.operation, nonce)
	timeouts := fleet.DefaultTimeouts()
	timeouts.Heartbeat = time.Second // beats every quarter of a second
	w.change(func(s *memoryStore) {
		f := fleet.ManagedFleet{ID: fleet.RunnerFleetID("fleet-of-" + h.instance)}
		f.Runner, f.Timeouts, f.Class.Capabilities = policy, timeouts, capabilities
		f.Admission.JobIsolation = fleet.JobIsolationNone
		s.fleets[f.ID] = f
		s.instances[h.instance] = fleet.CapacityInstance{
			ID:    h.instance,
			Fleet: f.ID,
			Key:   h.operation,
			State: fleet.Bootstrapping,
			Since: w.now(),
		}
		s.operations[h.operation] = fleet.Operation{
			ID:           h.operation,
			Kind:         fleet.ProvisionOperation,
			Instance:     h.instance,
			Fleet:        f.ID,
			Nonce:        nonce,
			TokenHash:    w.tokens.Hash(h.token),
			TokenExpires: w.now().Add(time.Hour),
		}
	})
	return h
}

func (w *world) ulid() string {
	id, err := fleet.NewULID(w.now(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// runner is the stored row of the host's runner.
func (w *world) runner(h host) (fleet.Runner, bool) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	id, ok := w.store.spent[h.operation]
	return w.store.runners[id], ok
}

// document is the host's bootstrap document.
func (w *world) document(h host) bootstrap.Document {
	return bootstrap.Document{ManagerURL: w.managerURL(), ServerName: w.authority.ServerName(),
		CAFingerprint: w.authority.Fingerprint(), Token: h.token}
}

// trust is how forgeyard-runner trusts the manager of a document.
func trust(d bootstrap.Document) func(agentapi.Trust, bool) *tls.Config {
	return func(t agentapi.Trust, checkTime bool) *tls.Config {
		d := d
		if t != (agentapi.Trust{}) {
			d.CAFingerprint, d.ServerName = t.CAFingerprint, t.ServerName
		}
		return bootstrap.TLSConfig(d, checkTime)
	}
}

func (w *world) agentConfig(h host) agent.Config {
	return agent.Config{
		ManagerURL: w.managerURL(), TLS: trust(w.document(h)),
		Token: h.token, StateDir: filepath.Join(w.t.TempDir(), "agent"), Version: "1.2.3",
		Retry:   agent.Backoff{First: 10 * time.Millisecond, Most: 50 * time.Millisecond},
		Restart: agent.Backoff{First: 10 * time.Millisecond, Most: 50 * time.Millisecond},
		Grace:   200 * time.Millisecond,
		Logger:  slog.New(slog.NewTextHandler(w.log, nil)),
	}
}

// runningAgent is an agent in this process.
type runningAgent struct {
	cancel context.CancelFunc
	ended  chan error
}

func (w *world) startAgent(c agent.Config) *runningAgent {
	ctx, cancel := context.WithCancel(context.Background())
	a := &runningAgent{cancel: cancel, ended: make(chan error, 1)}
	done := make(chan struct{})
	go func() { defer close(done); a.ended <- agent.Run(ctx, c) }()
	w.t.Cleanup(func() { cancel(); <-done })
	return a
}

// wait gives the agent's end.
func (a *runningAgent) wait(t testing.TB) error {
	t.Helper()
	select {
	case err := <-a.ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the agent didn't end")
		return nil
	}
}

// eventually waits until the condition is true.
func (w *world) eventually(what string, condition func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			w.t.Fatalf("it never came true that %s; the log:\n%s", what, w.log.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// shows waits until the stored runner of the host is as wanted.
func (w *world) shows(h host, what string, condition func(fleet.Runner) bool) fleet.Runner {
	w.t.Helper()
	var last fleet.Runner
	w.eventually(what, func() bool {
		r, ok := w.runner(h)
		last = r
		return ok && condition(r)
	})
	return last
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// memoryStore is the store's part that enrollment needs.
type memoryStore struct {
	mu         sync.Mutex
	operations map[fleet.OperationID]fleet.Operation
	instances  map[fleet.CapacityInstanceID]fleet.CapacityInstance
	fleets     map[fleet.RunnerFleetID]fleet.ManagedFleet
	runners    map[fleet.RunnerID]fleet.Runner
	spent      map[fleet.OperationID]fleet.RunnerID
	batches    int
	failure    error  // of every write
	enrolled   func() // called after Enroll stored
	renewed    func() // called after a subject was read
}

func newMemoryStore() *memoryStore {
	return &memoryStore{
		operations: map[fleet.OperationID]fleet.Operation{},
		instances:  map[fleet.CapacityInstanceID]fleet.CapacityInstance{},
		fleets:     map[fleet.RunnerFleetID]fleet.ManagedFleet{},
		runners:    map[fleet.RunnerID]fleet.Runner{},
		spent:      map[fleet.OperationID]fleet.RunnerID{},
	}
}

func (s *memoryStore) TokenSubjects(
	_ context.Context,
	key fleet.OperationID,
) (members []fleet.EnrollmentSubject, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.renewed != nil {
		defer s.renewed()
	}
	if one, found, _ := s.subject(key); found {
		return []fleet.EnrollmentSubject{one}, nil
	}
	for id, o := range s.operations {
		if o.Batch.Key == key {
			one, _, _ := s.subject(id)
			members = append(members, one)
		}
	}
	slices.SortFunc(members, func(a, b fleet.EnrollmentSubject) int {
		return cmp.Compare(a.Operation.Batch.Number, b.Operation.Batch.Number)
	})
	return members, nil
}

func (s *memoryStore) subject(id fleet.OperationID) (fleet.EnrollmentSubject, bool, error) {
	o, ok := s.operations[id]
	if !ok {
		return fleet.EnrollmentSubject{}, false, nil
	}
	subject := fleet.EnrollmentSubject{Operation: o, Instance: s.instances[o.Instance], Fleet: s.fleets[o.Fleet]}
	subject.JoinToken = subject.Instance.Asset != ""
	if r, ok := s.runners[s.spent[id]]; ok {
		r.Report.Probes = maps.Clone(r.Report.Probes)
		subject.Runner = &r
	}
	return subject, true, nil
}

func (s *memoryStore) Enroll(_ context.Context, r fleet.Runner, tokenHash string) error {
	s.mu.Lock()
	if s.failure != nil {
		defer s.mu.Unlock()
		return s.failure
	}
	if id, ok := s.spent[r.Operation]; ok {
		defer s.mu.Unlock()
		return &fleet.AlreadyEnrolledError{Existing: s.runners[id]}
	}
	if s.operations[r.Operation].TokenHash != tokenHash {
		defer s.mu.Unlock()
		return &fleet.VoidTokenError{Operation: r.Operation}
	}
	for _, other := range s.runners {
		if r.Identity.Resource != "" && other.Identity.Resource == r.Identity.Resource && s.instances[other.Instance].Live() {
			defer s.mu.Unlock()
			return &fleet.IdentityTakenError{Resource: r.Identity.Resource, Other: other.Instance}
		}
	}
	s.runners[r.ID], s.spent[r.Operation] = r, r.ID
	enrolled := s.enrolled
	s.mu.Unlock()
	if enrolled != nil {
		enrolled()
	}
	return nil
}

func (s *memoryStore) RunnerSubject(_ context.Context, id fleet.RunnerID) (fleet.EnrollmentSubject, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.runners[id]
	if !ok {
		return fleet.EnrollmentSubject{}, false, nil
	}
	return s.subject(r.Operation)
}

func (s *memoryStore) RecordRunners(_ context.Context, runners []fleet.Runner) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil {
		return s.failure
	}
	s.batches++
	for _, r := range runners {
		r.Revoked = s.runners[r.ID].Revoked
		s.runners[r.ID] = r
	}
	return nil
}
