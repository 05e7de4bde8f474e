package control

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/enroll"
	"github.com/forgeyard/forgeyard-fleet/core/executor"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reconcile"
)

// The times of an ordered stop, and of the agents' facts.
const (
	// stopGrace is what a plugin process gets to end by itself.
	stopGrace = 5 * time.Second
	// answerGrace is how long the last answers are waited for.
	answerGrace = 2 * time.Minute
	// closeGrace is what agents' calls under way get.
	closeGrace = 5 * time.Second
	// flushFacts is how soon what agents report reaches the loop.
	flushFacts = 250 * time.Millisecond
)

// Running is what a manager runs with.
type Running struct {
	Workspace Workspace
	// Listener takes the agents' calls; Run closes it.
	Listener net.Listener
	// Observe gets the result of every step.
	Observe func(reconcile.Result)
	// Hurry ends the wait for the last answers; nil: never.
	Hurry <-chan struct{}
}

// Run reconciles until ctx ends, then stops in order: no more planning, the
// answers under way committed, plugins stopped, the rest marked unknown,
// listener closed. The error is nil after an ordered stop.
func (m *Manager) Run(ctx context.Context, r Running) error {
	// A wait that is over already is an ordered stop like any other.
	applied, found, err := m.store.Definition(context.WithoutCancel(ctx))
	if err != nil || !found {
		return errors.Join(err, r.Listener.Close())
	}
	drained, stopWaiting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWaiting()

	binaries := enroll.NewAgentBinaries(agentFolder(applied.Definition.Manager))
	issuer := &issuer{m: m, url: advertised(applied.Definition.Manager, r.Listener), binaries: binaries}
	loop := reconcile.New(m.store, issuer, reconcile.Settings{
		Installation: m.options.Installation, AgentVersion: m.options.Version, NewID: newID, Started: m.options.Clock(),
	})
	fleets := newProviders(m, r.Workspace, applied.Definition)
	exec := executor.New(executor.Settings{
		Loop: loop, Provider: fleets.current, Clock: m.options.Clock, Log: m.options.Log, Observe: r.Observe,
		Token: func(op fleet.Operation) string { return m.tokens.Token(op.ID, op.Nonce) },
	})
	server, err := m.serveAgents(r.Listener, binaries, exec.Wake)
	if err != nil {
		return errors.Join(err, r.Listener.Close())
	}
	if err := fleets.start(drained, exec.Send); err != nil {
		return errors.Join(err, server.close(), fleets.stop())
	}

	go func() { // the beginning of the end
		select {
		case <-ctx.Done():
		case <-drained.Done():
			return
		}
		fleets.drain(drained)
		select {
		case <-time.After(answerGrace):
		case <-r.Hurry:
		case <-drained.Done():
		}
		stopWaiting()
	}()
	err = exec.Run(ctx, drained)
	stopWaiting()
	return errors.Join(err, fleets.stop(), server.close())
}

// agentFolder is where agent binaries are: by default beside this program.
func agentFolder(s fleet.ManagerSettings) string {
	if s.Agents != "" {
		return s.Agents
	}
	own, err := os.Executable()
	if err != nil {
		return "."
	}
	return filepath.Dir(own)
}

// advertised is the URL that bootstraps carry.
func advertised(s fleet.ManagerSettings, l net.Listener) string {
	if s.Advertise != "" {
		return strings.TrimSuffix(s.Advertise, "/")
	}
	return "https://" + l.Addr().String()
}

// agentServer answers agents until it is closed.
type agentServer struct {
	server *enroll.Server
	served chan error
}

func (m *Manager) serveAgents(l net.Listener, binaries *enroll.AgentBinaries, wake func()) (*agentServer, error) {
	server, err := enroll.NewServer(enroll.Config{
		Authority: m.authority, Tokens: m.tokens, Store: m.store, Binaries: binaries, Now: m.options.Clock,
		Random: rand.Reader, Jitter: mathrand.Float64, Wake: wake, Logger: m.options.Log, FlushInterval: flushFacts,
	})
	if err != nil {
		return nil, err
	}
	a := &agentServer{server: server, served: make(chan error, 1)}
	go func() { a.served <- server.Serve(l) }()
	return a, nil
}

func (a *agentServer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	return errors.Join(a.server.Close(ctx), <-a.served)
}

// issuer lets new hosts in.
type issuer struct {
	m        *Manager
	url      string
	binaries *enroll.AgentBinaries
}

func (i *issuer) Issue(op fleet.OperationID) (nonce []byte, hash string, err error) {
	if nonce, err = i.m.tokens.NewNonce(rand.Reader); err != nil {
		return nil, "", err
	}
	return nonce, i.m.tokens.Hash(i.m.tokens.Token(op, nonce)), nil
}

func (i *issuer) Bootstrap(kind string, p fleet.Platform) (fleet.BootstrapIntent, error) {
	sum, err := i.binaries.SHA256(p.Target())
	if err != nil {
		return fleet.BootstrapIntent{}, err
	}
	return fleet.BootstrapIntent{
		Kind: kind, ManagerURL: i.url, CAFingerprint: i.m.authority.Fingerprint(), ServerName: enroll.ServerName(i.m.options.Installation),
		AgentURL: i.url + "/v1/runner/download?target=" + p.Target(), AgentSHA256: sum,
	}, nil
}
