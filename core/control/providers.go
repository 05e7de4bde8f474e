package control

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/forgeyard/forgeyard-fleet/core/executor"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/reconcile"
)

// providers keeps one plugin process alive for each provider block.
type providers struct {
	m           *Manager
	workspace   Workspace
	definition  fleet.Definition
	supervisors map[fleet.ProviderAddress]*pluginhost.Supervisor
	running     sync.WaitGroup
	cancel      context.CancelFunc
}

func newProviders(m *Manager, w Workspace, d fleet.Definition) *providers {
	return &providers{m: m, workspace: w, definition: d, supervisors: map[fleet.ProviderAddress]*pluginhost.Supervisor{}, cancel: func() {}}
}

// start launches all plugins and tells the loop how they fare.
func (p *providers) start(ctx context.Context, send func(context.Context, reconcile.Event)) error {
	for _, block := range p.definition.Providers {
		launch, err := p.workspace.launch(block.Address, p.definition.Plugins, p.m.options.Place.Run, p.m.options.Log)
		if err != nil {
			return fmt.Errorf("start provider.%s: %w", block.Address, err)
		}
		info, err := p.workspace.info(block.Address.Plugin())
		if err != nil {
			return fmt.Errorf("start provider.%s: %w", block.Address, err)
		}
		state := filepath.Join(p.m.options.Place.State, "plugins", string(block.Address))
		if err := os.MkdirAll(state, 0o700); err != nil {
			return fmt.Errorf("make the cache of provider.%s: %w", block.Address, err)
		}
		p.supervisors[block.Address] = pluginhost.NewSupervisor(pluginhost.Supervision{
			Launch:        launch,
			Configuration: pluginhost.Configuration{ProviderJSON: block.Config, Installation: p.definition.Installation, StateDir: state},
			StopGrace:     stopGrace,
			Changed:       func(s pluginhost.SupervisorStatus) { p.changed(ctx, s, info, send) },
		})
	}
	// Supervisors outlive ctx: a plugin is the last to stop.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	for _, s := range p.supervisors {
		p.running.Go(func() { s.Run(life) })
	}
	return nil
}

func (p *providers) changed(ctx context.Context, s pluginhost.SupervisorStatus, info pluginhost.Info, send func(context.Context, reconcile.Event)) {
	if s.State == pluginhost.SupervisorReady {
		p.m.options.Log.Info("provider is ready", "provider", s.Provider, "account", s.Account)
		send(ctx, reconcile.ProviderReady{Provider: s.Provider, Facts: info.Facts(s.Account)})
		return
	}
	reason := string(s.State)
	if s.Err != nil {
		reason = s.Err.Error()
	}
	if s.State != pluginhost.SupervisorStarting && s.State != pluginhost.SupervisorStopped {
		p.m.options.Log.Warn("provider is down", "provider", s.Provider, "state", s.State, "error", s.Err)
	}
	needsPerson := s.State == pluginhost.SupervisorHeld || s.State == pluginhost.SupervisorBroken
	send(ctx, reconcile.ProviderDown{Provider: s.Provider, Reason: reason, NeedsPerson: needsPerson})
}

// current is the process that serves a provider block.
func (p *providers) current(a fleet.ProviderAddress) (executor.Provider, error) {
	s := p.supervisors[a]
	if s == nil {
		return nil, fmt.Errorf("provider.%s is not in the applied definition", a)
	}
	process, _, err := s.Current()
	if err != nil {
		return nil, err
	}
	return process, nil
}

// drain asks every plugin to begin nothing new and to finish what it does.
func (p *providers) drain(ctx context.Context) {
	for _, s := range p.supervisors {
		if process, _, err := s.Current(); err == nil {
			// A plugin that can't be asked is stopped soon anyway.
			_, _ = process.Drain(ctx, answerGrace)
		}
	}
}

func (p *providers) stop() error {
	p.cancel()
	p.running.Wait()
	return nil
}
