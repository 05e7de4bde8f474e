package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/executor"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// The times of an ordered stop, of the agents' facts and of what is kept.
const (
	// answerGrace is how long the last answers are waited for.
	answerGrace = 2 * time.Minute
	// closeGrace is what agents' calls under way get.
	closeGrace = 5 * time.Second
	// flushFacts is how soon what agents report reaches the loop.
	flushFacts = 250 * time.Millisecond
	// certificateLife is how long an agent can go without a renewal.
	certificateLife = time.Hour
	// retention is how long ended instances and old decisions are kept.
	retention = 30 * 24 * time.Hour
)

// running is a loop with everything around it.
type running struct {
	definition atomic.Pointer[fleet.Definition]
	exec       *executor.Executor
	issuer     *issuer
	providers  *providers
	schedulers *schedulers
	agents     *agentServer
	// orders hands people's orders to the loop.
	orders *orders.Loop
	// stopPlanning ends the planning, stopWaiting the wait for the last answers.
	stopPlanning, stopWaiting context.CancelFunc
	drained                   context.Context
	// ended is closed when the loop has ended, with err.
	ended chan struct{}
	err   error
}

// Start begins to reconcile what was applied last, and answers agents on the
// listener, which Stop closes. It runs until Stop, or until Failed says that
// it can't.
func (d *Daemon) Start(ctx context.Context, listener net.Listener) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running != nil {
		return errors.Join(errors.New("the manager runs already"), listener.Close())
	}
	applied, _, err := d.store.Definition(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	r := &running{ended: make(chan struct{})}
	r.definition.Store(&applied.Definition)
	life := context.WithoutCancel(ctx)
	var planning context.Context
	planning, r.stopPlanning = context.WithCancel(life)
	r.drained, r.stopWaiting = context.WithCancel(life)

	// Agents are beside this program unless the definition says otherwise.
	binaries := agentserver.NewAgentBinaries(workspace.AgentFolder(applied.Definition.Manager))
	started := d.options.Clock()
	r.issuer = &issuer{daemon: d, running: r, listener: listener, binaries: binaries}
	loop := loop.New(d.store, r.issuer, loop.Settings{
		Installation: d.options.Installation, AgentVersion: d.options.Version, NewID: newID, Started: started,
		Ownership: d.Ownership, Random: mathrand.Float64, Needed: d.store.Needed,
	})
	r.providers = newProviders(d)
	r.schedulers = newSchedulers(d.options.Secrets(), d.options.Clock)
	r.schedulers.update(applied.Definition)
	r.orders = &orders.Loop{Ended: r.ended}
	r.exec = executor.New(d.executing(r, loop))
	r.orders.Send, r.orders.Wake = r.exec.Send, r.exec.Wake
	if r.agents, err = d.serveAgents(listener, agentserver.Config{
		Binaries: binaries, Wake: r.exec.Wake, Connection: r.schedulers.connection, Verifier: r.providers.verifyIdentity,
	}); err != nil {
		return errors.Join(err, listener.Close())
	}
	r.providers.start(r.drained, r.exec.Send)
	if err := r.providers.update(applied.Definition); err != nil {
		r.providers.stop()
		return errors.Join(err, r.agents.close())
	}
	d.listens.Store(&plans.Listening{Wanted: applied.Definition.Manager.Listen, At: listener.Addr().String()})
	d.hub.Begin(started)
	go func() {
		defer close(r.ended)
		r.err = r.exec.Run(planning, r.drained)
	}()
	d.running = r
	return nil
}

// executing is what carries out the loop's effects, and tells others of its steps.
func (d *Daemon) executing(r *running, steps *loop.Loop) executor.Settings {
	return executor.Settings{
		Loop:      steps,
		Provider:  r.providers.current,
		Scheduler: r.schedulers.client,
		Connected: r.schedulers.connected,
		Clock:     d.options.Clock,
		Log:       d.options.Log,
		Token:     func(op fleet.Operation) string { return d.Enrollment.TokenOf(op) },
		Observe: func(res loop.Result) {
			r.schedulers.forget(res.Instances)
			d.hub.Publish(progress.Of(d.options.Clock(), res), res.Observations)
			r.orders.Answer(res.Orders)
		},
		Hung: r.providers.restart,
		Prune: func(ctx context.Context, now time.Time) error {
			_, err := d.store.Prune(ctx, now.Add(-retention))
			_, needed := d.store.PruneNeeded(ctx, now)
			return errors.Join(err, needed, d.DeleteIdle(ctx))
		},
	}
}

// Failed is closed when a started manager can't go on: another writer took the
// store, or agents can't be listened to any more. Stop tells the reason.
func (d *Daemon) Failed() <-chan struct{} {
	failed := make(chan struct{})
	d.mu.Lock()
	r := d.running
	d.mu.Unlock()
	if r == nil {
		return failed
	}
	go func() {
		select {
		case <-r.ended:
		case <-r.agents.ended:
		}
		close(failed)
	}()
	return failed
}

// Stop ends a started manager in order: no more planning, the answers under way
// committed, the rest marked unknown, plugins stopped, listener closed. hurry
// ends the wait for answers; nil: never.
func (d *Daemon) Stop(hurry <-chan struct{}) error {
	d.mu.Lock()
	r := d.running
	d.running = nil
	d.listens.Store(nil)
	d.mu.Unlock()
	if r == nil {
		return nil
	}
	r.stopPlanning()
	failpoint.PlanningStopped.Hit()
	// Plugins begin nothing new and finish what they do, all at once.
	go r.providers.drain(r.drained)
	select {
	case <-r.ended:
	case <-time.After(answerGrace):
	case <-hurry:
	}
	r.stopWaiting()
	<-r.ended
	failpoint.AnswersStored.Hit()
	d.hub.End()
	r.providers.stop()
	r.schedulers.close()
	failpoint.PluginsStopped.Hit()
	closed := r.agents.close()
	failpoint.EndpointClosed.Hit()
	return errors.Join(r.err, closed)
}

// agentServer answers agents until it is closed.
type agentServer struct {
	server *agentserver.Server
	// ended is closed when the listener has ended, with err.
	ended chan struct{}
	err   error
}

// serveAgents answers agents with what c has beside the manager's own.
func (d *Daemon) serveAgents(l net.Listener, c agentserver.Config) (*agentServer, error) {
	c.Authorities, c.Tokens, c.Store, c.Now, c.Logger = &d.Authorities, &d.Enrollment, d.store, d.options.Clock,
		d.options.Log
	c.Random, c.Jitter, c.FlushInterval = rand.Reader, mathrand.Float64, flushFacts
	c.CertificateLife = failpoint.CertificateLife(certificateLife)
	server, err := agentserver.NewServer(c)
	if err != nil {
		return nil, err
	}
	a := &agentServer{server: server, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			a.err = fmt.Errorf("listen for agents on %s: %w", l.Addr(), err)
		}
	}()
	return a, nil
}

func (a *agentServer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	err := a.server.Close(ctx)
	<-a.ended
	return errors.Join(err, a.err)
}

// issuer lets new hosts in, by the definition that is current when they are made.
type issuer struct {
	daemon   *Daemon
	running  *running
	listener net.Listener
	binaries *agentserver.AgentBinaries
}

func (i *issuer) Issue(op fleet.OperationID) (nonce []byte, hash string, err error) {
	if nonce, err = i.daemon.Enrollment.NewNonce(rand.Reader); err != nil {
		return nil, "", err
	}
	return nonce, i.daemon.Enrollment.Hash(i.daemon.Enrollment.Token(op, nonce)), nil
}

func (i *issuer) Bootstrap(
	provider fleet.ProviderAddress,
	kind string,
	p fleet.Platform,
) (fleet.BootstrapIntent, error) {
	sum, err := i.binaries.SHA256(p.Target())
	if err != nil {
		return fleet.BootstrapIntent{}, err
	}
	return i.daemon.bootstrap(kind, advertised(*i.running.definition.Load(), provider, i.listener), p, sum), nil
}

// bootstrap is the first-boot document of a host that reaches the manager at url.
func (d *Daemon) bootstrap(kind, url string, p fleet.Platform, agentSHA256 string) fleet.BootstrapIntent {
	authority := d.Authorities.Signing()
	return fleet.BootstrapIntent{
		Kind: kind, ManagerURL: url, CAFingerprint: authority.Fingerprint(), ServerName: authority.ServerName(),
		AgentURL: url + "/v1/runner/download?target=" + p.Target(), AgentSHA256: agentSHA256,
	}
}

// advertised is the URL that bootstraps of a provider's hosts carry.
func advertised(d fleet.Definition, provider fleet.ProviderAddress, l net.Listener) string {
	if url := d.AdvertiseFor(provider); url != "" {
		return strings.TrimSuffix(url, "/")
	}
	return "https://" + l.Addr().String()
}
