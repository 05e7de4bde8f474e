package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// askOnline asks configured plugins for inventories, then for what is wrong with blocks.
func (b Bundle) askOnline(ctx context.Context, loaded *config.Loaded, o Options) (config.Diagnostics, error) {
	found, err := b.listInventories(ctx, loaded, o)
	if err != nil || found.HasErrors() {
		return found, err
	}
	checked, err := b.checkOnline(ctx, loaded, o)
	return append(found, checked...), err
}

// checkLimit is how long one provider may take to check the blocks of its fleets.
const checkLimit = 30 * time.Second

// checkOnline lets the plugins that can do so ask their infrastructures whether they have
// what the instance blocks name. That an infrastructure can't be asked now is a warning:
// a plan is made without a network, too.
func (b Bundle) checkOnline(ctx context.Context, loaded *config.Loaded, o Options) (config.Diagnostics, error) {
	var all config.Diagnostics
	for _, provider := range loaded.Definition.Providers {
		info, err := b.Info(provider.Address.Plugin())
		if err != nil {
			return nil, err
		}
		if !info.Serves(providerpb.CheckService) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, checkLimit)
		found, err := b.checkProvider(limited, loaded, provider, o)
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			found = append(found, loaded.ProviderDiagnostics(provider.Address, []fleet.PluginDiagnostic{{
				Warning: true,
				Summary: "The instance blocks can't be checked now",
				Detail:  err.Error(),
			}})...)
		}
		all = append(all, found...)
	}
	return all, nil
}

func (b Bundle) checkProvider(
	ctx context.Context, loaded *config.Loaded, provider fleet.Provider, o Options,
) (all config.Diagnostics, err error) {
	complaints, err := b.configured(ctx, loaded.Definition, provider, o, func(process *pluginhost.Process) error {
		for _, f := range loaded.Definition.Fleets {
			if f.Provider != provider.Address {
				continue
			}
			found, err := process.Check(ctx, pluginhost.CheckRequest{
				Instance: f.Instance, Image: f.Image.Ref, Platform: f.Class.Platform,
			})
			if err != nil {
				return err
			}
			all = append(all, loaded.InstanceDiagnostics(f.Address, found)...)
		}
		return nil
	})
	return append(loaded.ProviderDiagnostics(provider.Address, complaints), all...), err
}

// configured starts a provider's plugin, configures it and asks it something. Where the
// plugin refuses its block it isn't asked: complaints say why.
func (b Bundle) configured(
	ctx context.Context, d fleet.Definition, provider fleet.Provider, o Options, ask func(*pluginhost.Process) error,
) (complaints []fleet.PluginDiagnostic, err error) {
	launch, err := b.Launch(provider.Address, d.Plugins, o.Place.Run, o.Log)
	if err != nil {
		return nil, err
	}
	process, err := pluginhost.Start(ctx, launch)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, process.Stop(StopGrace)) }()
	resolved, err := o.Secrets().Resolve(ctx, provider.Config)
	if err != nil {
		return nil, err
	}
	cache, err := os.MkdirTemp("", "forgeyard-fleet-plan-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(cache)
	_, complaints, err = process.Configure(ctx,
		pluginhost.Configuration{Provider: resolved, Installation: d.Installation, StateDir: cache})
	if err != nil {
		return nil, fmt.Errorf("configure the plugin of provider.%s: %w", provider.Address, err)
	}
	for _, complaint := range complaints {
		if !complaint.Warning {
			return complaints, nil
		}
	}
	return complaints, ask(process)
}
