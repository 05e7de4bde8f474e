package executor_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/executor"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// crowd is a manager's loop, executor, store and agents' endpoint, a queue in which
// so many jobs wait, and a provider whose machines live in this process and call the
// endpoint without a socket: what is left is what a manager has to do for many.
type crowd struct {
	t    testing.TB
	size int
	// boot is how long a machine takes, call what the provider does before it
	// answers a request, and inspect before it answers a listing.
	boot          time.Duration
	call, inspect func(context.Context) error
	// beats is the time between two beats of an agent, if the manager asks for less.
	beats time.Duration
	// handOver ends the agents once all hosts are Healthy; others continue with their
	// certificates.
	handOver bool

	books  *ledger
	exec   *executor.Executor
	agents *agentserver.Server
	// key is the one that all machines share, and csr its request.
	key   *ecdsa.PrivateKey
	csr   string
	life  context.Context
	calls atomic.Int64
	// atOnce bounds the calls in work.
	atOnce chan struct{}

	mu       sync.Mutex
	machines map[fleet.OperationID]*fleet.Resource
	admitted []fleet.CapacityInstanceID
	// certificates are the agents', as PEM.
	certificates []string
	alive        sync.WaitGroup
	// healthy is closed once all are.
	healthy chan struct{}
	once    sync.Once
}

// Inspect, Provision, Terminate and Offers are a provider's.
func (c *crowd) Inspect(ctx context.Context, _ []fleet.OperationID) (fleet.Inspection, error) {
	if err := c.inspect(ctx); err != nil {
		return fleet.Inspection{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := fleet.Inspection{Complete: true, Resources: make([]fleet.Resource, 0, len(c.machines))}
	for _, m := range c.machines {
		out.Resources = append(out.Resources, *m)
	}
	return out, nil
}

func (c *crowd) Provision(
	ctx context.Context,
	request pluginhost.ProvisionRequest,
	answer func(pluginhost.ProvisionAnswer),
) error {
	if err := c.call(ctx); err != nil {
		return err
	}
	for _, item := range request.Items {
		m := fleet.Resource{
			ID:    fleet.ProviderInstanceRef("vm-" + item.Key),
			Key:   item.Key,
			Tags:  item.Tags,
			State: fleet.ResourceRunning,
		}
		c.mu.Lock()
		if c.machines[item.Key] == nil {
			c.machines[item.Key] = &m
			c.alive.Go(func() { c.agent(item.Bootstrap) })
		}
		c.mu.Unlock()
		answer(pluginhost.ProvisionAnswer{Key: item.Key, Outcome: fleet.ProvisionCreated, Resource: &m, CallOver: true})
	}
	return nil
}

func (c *crowd) Terminate(context.Context, []pluginhost.TerminateRef, bool, func(pluginhost.TerminateAnswer)) error {
	return errors.New("nothing was to be terminated")
}

func (c *crowd) Offers(context.Context, json.RawMessage) (fleet.OfferList, error) {
	return fleet.OfferList{}, errors.ErrUnsupported
}

// Demand, Admit, Stop and Runners are a scheduler's.
func (c *crowd) Demand(context.Context) (fleet.CapacityDemandSnapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fleet.CapacityDemandSnapshot{Revision: int64(len(c.admitted)), Queued: []fleet.QueuedDemand{{
		Requirement: fleet.SchedulingRequirementSet{OS: "linux", Arch: "x86_64", Trust: "standard"},
		Count:       c.size, Admissible: c.size,
	}}}, nil
}

func (c *crowd) Admit(_ context.Context, r scheduler.Runner) (scheduler.Admitted, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admitted = append(c.admitted, r.Name)
	return scheduler.Admitted{Ref: fleet.SchedulerRunnerRef(r.Name), Revision: int64(len(c.admitted))}, nil
}

func (c *crowd) Stop(context.Context, scheduler.Known, scheduler.StopOrder) (scheduler.Acknowledgement, error) {
	return scheduler.Acknowledgement{}, errors.New("no runner was to be stopped")
}

func (c *crowd) Runners(context.Context) (scheduler.Listing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := scheduler.Listing{Revision: int64(len(c.admitted))}
	for _, name := range c.admitted {
		out.Runners = append(out.Runners, fleet.RunningCapacityUsage{Runner: fleet.SchedulerRunnerRef(name)})
	}
	return out, nil
}

// agent enrolls and beats until the crowd ends.
func (c *crowd) agent(b pluginhost.Bootstrap) {
	pause(c.life, c.boot)
	if c.life.Err() != nil {
		return
	}
	onOne := agentserver.ConnContext(context.Background(), nil)
	var enrolled agentapi.EnrollResponse
	err := c.send(onOne, agentapi.EnrollPath, nil, agentapi.EnrollRequest{
		Token: b.Token, CSR: c.csr, Clock: time.Now(), AgentVersion: agentVersion, OS: "linux", Arch: "amd64"}, &enrolled)
	if err != nil {
		c.t.Errorf("enroll: %v", err)
		return
	}
	c.mu.Lock()
	c.certificates = append(c.certificates, enrolled.PEM)
	c.mu.Unlock()
	block, _ := pem.Decode([]byte(enrolled.PEM))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		c.t.Error(err)
		return
	}
	beat := idleBeat()
	for c.life.Err() == nil && !c.handedOver() {
		beat.Clock = time.Now()
		var answer agentapi.HeartbeatResponse
		if err := c.send(onOne, agentapi.HeartbeatPath, leaf, beat, &answer); err != nil {
			c.t.Errorf("beat: %v", err)
			return
		}
		beat.Heard, beat.Order = answer.Directive.Want, answer.Directive.Order
		pause(c.life, max(c.beats, time.Duration(answer.NextMillis)*time.Millisecond))
	}
}

// handedOver says whether the agents' part is over.
func (c *crowd) handedOver() bool {
	select {
	case <-c.healthy:
		return c.handOver
	default:
		return false
	}
}

// send calls the endpoint as the owner of the certificate, on the connection of the
// context.
func (c *crowd) send(ctx context.Context, path string, leaf *x509.Certificate, body, answer any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	n := c.calls.Add(1) // unauthenticated calls from one address are limited
	request.RemoteAddr, request.TLS = fmt.Sprintf(
		"127.%d.%d.%d:1",
		byte(n>>16),
		byte(n>>8),
		byte(n),
	), &tls.ConnectionState{}
	if leaf != nil {
		request.TLS.PeerCertificates = []*x509.Certificate{leaf}
	}
	c.atOnce <- struct{}{} // of more the endpoint would ask to try again
	defer func() { <-c.atOnce }()
	written := &answerOf{header: http.Header{}}
	c.agents.ServeHTTP(written, request)
	if written.status != http.StatusOK {
		return fmt.Errorf("%d: %s", written.status, written.body.Bytes())
	}
	return json.Unmarshal(written.body.Bytes(), answer)
}

type answerOf struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answerOf) Header() http.Header         { return a.header }
func (a *answerOf) WriteHeader(status int)      { a.status = status }
func (a *answerOf) Write(p []byte) (int, error) { return a.body.Write(p) }

// observe sees how far the loop is.
func (c *crowd) observe(res loop.Result) {
	healthy := 0
	for _, i := range res.Instances {
		if i.State == fleet.Healthy {
			healthy++
		}
	}
	if len(res.Instances) > c.size {
		c.t.Errorf("%d instances for %d jobs", len(res.Instances), c.size)
	}
	if healthy == c.size {
		c.once.Do(func() { close(c.healthy) })
	}
}

// crowdedFleet may have as many hosts as the crowd has jobs.
func crowdedFleet(size int) fleet.ManagedFleet {
	f := racingFleet()
	f.Scaling.Max, f.Scaling.ScaleDown = size, fleet.ScaleDownPolicy{IdleGrace: time.Hour}
	return f
}

// gather starts everything; the loop begins with the call of the function that it
// returns. The crowd ends with the test.
func gather(t testing.TB, c *crowd, callLimit int) (begin func()) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.atOnce = make(chan struct{}, 256)
	c.t, c.life, c.machines, c.healthy = t, ctx, map[fleet.OperationID]*fleet.Resource{}, make(chan struct{})
	folder := t.TempDir()
	books, err := store.Open(ctx, filepath.Join(folder, "state.db"))
	must(err)
	c.books = &ledger{Store: books}
	_, err = c.books.Claim(ctx, "test", time.Now())
	must(err)
	_, err = c.books.ApplyDefinition(
		ctx,
		store.Apply{
			Definition: fleet.Definition{Installation: "lab"},
			At:         time.Now(),
			By:         "ada",
			Fleets:     []fleet.ManagedFleet{crowdedFleet(c.size)},
		},
	)
	must(err)

	c.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, c.key)
	must(err)
	c.csr = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr}))
	authority, err := pki.LoadAuthority(folder, "lab", time.Now())
	must(err)
	tokens, err := pki.LoadTokens(folder)
	must(err)
	ring, err := ownership.NewKeyring(make([]byte, ownership.KeyBytes))
	must(err)
	intent := fleet.BootstrapIntent{
		ManagerURL:    "https://127.0.0.1",
		CAFingerprint: authority.Fingerprint(),
		ServerName:    authority.ServerName(),
	}
	steps := loop.New(c.books, door{tokens, intent}, loop.Settings{
		Installation: "lab",
		AgentVersion: agentVersion,
		CallLimit:    callLimit,
		Started:      time.Now(),
		Ownership:    func() ownership.Keyring { return ring },
		NewID:        func(now time.Time) (string, error) { return fleet.NewULID(now, rand.Reader) },
	})
	c.exec = executor.New(executor.Settings{
		Loop:      steps,
		Provider:  func(fleet.ProviderAddress) (executor.Provider, error) { return c, nil },
		Scheduler: func(fleet.SchedulerAddress) (scheduler.Scheduler, error) { return c, nil },
		Connected: func(fleet.CapacityInstanceID, scheduler.Admitted) {},
		Token:     tokens.TokenOf,
		Clock:     time.Now,
		Log:       slog.New(slog.DiscardHandler),
		Observe:   c.observe,
	})
	c.agents, err = agentserver.NewServer(agentserver.Config{
		Authorities: pki.NewAuthoritySet(authority), Tokens: tokens, Store: c.books, Now: time.Now, Random: rand.Reader,
		Wake: c.exec.Wake, Logger: slog.New(slog.DiscardHandler), CertificateLife: 24 * time.Hour,
	})
	must(err)
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		c.alive.Wait()
		must(c.agents.Close(context.Background()))
		running.Wait()
		must(c.books.Close())
	})
	return func() {
		running.Go(func() {
			if err := c.exec.Run(ctx, ctx); err != nil {
				t.Error(err)
			}
		})
		c.exec.Send(
			ctx,
			loop.ProviderReady{
				Provider: lab,
				Facts: fleet.ProviderFacts{
					Plugin:      "lab",
					Account:     "1",
					Idempotency: fleet.IdempotencyNative,
					Ownership:   fleet.OwnershipSigned,
				},
			},
		)
	}
}

func atOnce(context.Context) error { return nil }
