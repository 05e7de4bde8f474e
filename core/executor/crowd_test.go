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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/executor"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/machinefake"
)

// crowd is a manager's loop, executor, store and agents' endpoint, a queue in which
// so many jobs wait, and a provider whose machines live in this process and call the
// endpoint without a socket: what is left is what a manager has to do for many.
type crowd struct {
	t    testing.TB
	size int
	// boot is how long a machine takes, call what the provider does before it
	// answers a request, and inspect before it answers a listing; nil: nothing.
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

	provider *machinefake.Provider
	mu       sync.Mutex
	admitted []fleet.CapacityInstanceID
	// certificates are the agents', as PEM.
	certificates []string
	// healthy is closed once all are.
	healthy chan struct{}
	once    sync.Once
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
	c.t, c.life, c.healthy = t, ctx, make(chan struct{})
	c.provider = machinefake.New(ctx, machinefake.Behavior{
		Inspecting:   c.inspect,
		Provisioning: c.call,
		NewMachine: func(item pluginhost.ProvisionItem) func(context.Context) {
			return func(context.Context) { c.agent(item.Bootstrap) }
		},
	})
	c.books = &ledger{Store: openBooks(t, time.Now(), crowdedFleet(c.size))}
	var err error
	c.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, c.key)
	must(err)
	c.csr = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr}))
	keys := newInstallationKeys(t, time.Now())
	c.exec = executor.New(executor.Settings{
		Loop:      keys.newLoop(c.books, "https://127.0.0.1", time.Now(), callLimit),
		Provider:  func(fleet.ProviderAddress) (executor.Provider, error) { return c.provider, nil },
		Scheduler: func(fleet.SchedulerAddress) (scheduler.Scheduler, error) { return c, nil },
		Connected: func(fleet.CapacityInstanceID, scheduler.Admitted) {},
		Token:     keys.tokens.TokenOf,
		Clock:     time.Now,
		Log:       slog.New(slog.DiscardHandler),
		Observe:   c.observe,
	})
	c.agents, err = agentserver.NewServer(agentserver.Config{
		Authorities: pki.NewAuthoritySet(keys.authority), Tokens: keys.tokens, Store: c.books,
		Now: time.Now, Random: rand.Reader,
		Wake: c.exec.Wake, Logger: slog.New(slog.DiscardHandler), CertificateLife: 24 * time.Hour,
	})
	must(err)
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		c.provider.Wait()
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
		c.exec.Send(ctx, labReady())
	}
}
