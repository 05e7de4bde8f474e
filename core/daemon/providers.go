package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/forgeyard/forgeyard-fleet/core/executor"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// providers keeps one plugin process alive for each provider block of the
// current definition.
type providers struct {
	daemon *Daemon
	ctx    context.Context
	send   func(context.Context, loop.Event)

	mu  sync.Mutex
	own map[fleet.ProviderAddress]*supervised
}

// supervised is one provider block's plugin.
type supervised struct {
	supervisor *pluginhost.Supervisor
	// made is what it was started from: a difference restarts it.
	made   pluginSetup
	cancel context.CancelFunc
	ended  chan struct{}
}

// pluginSetup is everything that a change of needs another process.
type pluginSetup struct {
	digest string
	env    []string
	config string
}

func newProviders(d *Daemon) *providers {
	return &providers{daemon: d, own: map[fleet.ProviderAddress]*supervised{}}
}

// start says where events go until ctx ends.
func (p *providers) start(ctx context.Context, send func(context.Context, loop.Event)) {
	p.ctx, p.send = ctx, send
}

// update starts, restarts and stops plugins so that they are those of the
// definition. One that waits for a person is tried again: who applies may
// have mended what isn't in the definition. If a plugin can't be set up, nothing
// is changed.
func (p *providers) update(d fleet.Definition) error {
	lock, err := workspace.LockOf(d.Lock)
	if err != nil {
		return fmt.Errorf("read the plugin lock: %w", err)
	}
	plugins, err := pluginstore.Open(p.daemon.options.Place.Plugins)
	if err != nil {
		return err
	}
	bundle := workspace.Bundle{Lock: lock, Plugins: plugins}
	setups := map[fleet.ProviderAddress]pluginhost.Supervision{}
	made := map[fleet.ProviderAddress]pluginSetup{}
	for _, block := range d.Providers {
		s, err := p.supervision(block, d, bundle)
		if err != nil {
			return fmt.Errorf("start provider.%s: %w", block.Address, err)
		}
		setups[block.Address] = s
		made[block.Address] = pluginSetup{digest: s.Launch.Digest, env: s.Launch.Env, config: string(block.Config)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for address, running := range p.own {
		if setup, wanted := made[address]; !wanted || !reflect.DeepEqual(setup, running.made) {
			running.stop()
			delete(p.own, address)
		}
	}
	for address, s := range setups {
		if running := p.own[address]; running == nil {
			p.own[address] = p.run(s, made[address])
		} else {
			running.supervisor.RetryStopped()
		}
	}
	return nil
}

// supervision is how a provider block's plugin is started and watched.
func (p *providers) supervision(
	block fleet.Provider,
	d fleet.Definition,
	bundle workspace.Bundle,
) (pluginhost.Supervision, error) {
	launch, err := bundle.Launch(block.Address, d.Plugins, p.daemon.options.Place.Run, p.daemon.options.Log)
	if err != nil {
		return pluginhost.Supervision{}, err
	}
	info, err := bundle.Info(block.Address.Plugin())
	if err != nil {
		return pluginhost.Supervision{}, err
	}
	state := filepath.Join(p.daemon.options.Place.State, "plugins", string(block.Address))
	if err := os.MkdirAll(state, 0o700); err != nil {
		return pluginhost.Supervision{}, fmt.Errorf("make its cache: %w", err)
	}
	var noticed func(context.Context, pluginhost.Notice)
	if info.Events() {
		noticed = func(ctx context.Context, n pluginhost.Notice) {
			p.send(ctx, loop.Noticed{Provider: block.Address, Instance: n.Instance, Notice: n.Notice})
		}
	}
	failed := "" // how the last process ended, while the next one is being started
	return pluginhost.Supervision{
		Noticed: noticed,
		Launch:  launch,
		Configuration: pluginhost.Configuration{
			Provider:     secret.Resolved{Body: block.Config},
			Installation: d.Installation,
			StateDir:     state,
		},
		Resolve: func(ctx context.Context, body json.RawMessage) (secret.Resolved, error) {
			return p.daemon.options.Secrets().Resolve(ctx, body)
		},
		StopGrace: workspace.StopGrace,
		Changed:   func(s pluginhost.SupervisorStatus) { failed = p.changed(s, info, failed) },
	}, nil
}

func (p *providers) run(s pluginhost.Supervision, made pluginSetup) *supervised {
	// Supervisors outlive the wait for answers: a plugin is the last to stop.
	life, cancel := context.WithCancel(context.WithoutCancel(p.ctx))
	r := &supervised{supervisor: pluginhost.NewSupervisor(s), made: made, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.supervisor.Run(life)
	}()
	return r
}

func (r *supervised) stop() {
	r.cancel()
	<-r.ended
}

// changed tells the loop about a plugin's condition. failed is why its last process
// ended: while the next one is being started, that is still what is amiss. It returns
// the same for the next condition.
func (p *providers) changed(s pluginhost.SupervisorStatus, info pluginhost.Info, failed string) string {
	switch s.State {
	case pluginhost.SupervisorReady:
		p.daemon.options.Log.Info("provider is ready", "provider", s.Provider, "account", s.Account)
		p.send(p.ctx, loop.ProviderReady{Provider: s.Provider, Facts: info.Facts(s.Account)})
		return ""
	case pluginhost.SupervisorStarting, pluginhost.SupervisorStopped:
		down := loop.ProviderDown{Provider: s.Provider, Reason: reasonOf(s), Starting: true}
		if failed != "" && s.State == pluginhost.SupervisorStarting {
			down.Reason, down.Starting = failed, false
		}
		p.send(p.ctx, down)
		return failed
	}
	p.daemon.options.Log.Warn("provider is down", "provider", s.Provider, "state", s.State, "error", s.Err)
	down := loop.ProviderDown{
		Provider:    s.Provider,
		Reason:      reasonOf(s),
		NeedsPerson: s.State == pluginhost.SupervisorHeld || s.State == pluginhost.SupervisorBroken,
	}
	if s.Err != nil {
		down.Detail = s.Err.Error()
	}
	p.send(p.ctx, down)
	return down.Reason
}

// reasonOf is a plugin's condition in one sentence.
func reasonOf(s pluginhost.SupervisorStatus) string {
	if s.Err == nil {
		return string(s.State)
	}
	return pluginlog.Headline(s.Err)
}

// current is the process that serves a provider block.
func (p *providers) current(a fleet.ProviderAddress) (executor.Provider, error) {
	process, err := p.process(a)
	if err != nil {
		return nil, err // and no typed nil
	}
	return process, nil
}

// verifyIdentity asks a provider block's plugin about a host's evidence.
func (p *providers) verifyIdentity(
	ctx context.Context,
	a fleet.ProviderAddress,
	q fleet.IdentityQuestion,
) (fleet.VerifiedIdentity, error) {
	process, err := p.process(a)
	if err != nil {
		return fleet.VerifiedIdentity{}, err
	}
	return process.VerifyIdentity(ctx, q)
}

func (p *providers) process(a fleet.ProviderAddress) (*pluginhost.Process, error) {
	p.mu.Lock()
	s := p.own[a]
	p.mu.Unlock()
	if s == nil {
		return nil, fmt.Errorf("provider.%s is not in the applied definition", a)
	}
	process, _, err := s.supervisor.Current()
	if err != nil {
		return nil, err
	}
	return process, nil
}

// restart ends a process that answers nothing any more.
func (p *providers) restart(a fleet.ProviderAddress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.own[a]; s != nil {
		s.supervisor.Restart("it let two inspections in a row pass their deadline")
	}
}

// drain asks every plugin to begin nothing new and to finish what it does.
func (p *providers) drain(ctx context.Context) {
	var asked sync.WaitGroup
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.own {
		if process, _, err := s.supervisor.Current(); err == nil {
			// A plugin that can't be asked is stopped soon anyway.
			asked.Go(func() { _, _ = process.Drain(ctx, answerGrace) })
		}
	}
	asked.Wait()
}

// stop ends all plugins.
func (p *providers) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ending sync.WaitGroup
	for _, s := range p.own {
		ending.Go(s.stop)
	}
	ending.Wait()
	clear(p.own)
}
