package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
)

// listInventories asks the plugins whose hosts a person joins for what they have,
// and makes it part of the definition: plan, status and the loop then speak of the
// same hosts, with or without a plugin that runs. Such plugins need nothing but
// their block for it.
func (b Bundle) listInventories(ctx context.Context, loaded *config.Loaded, o Options) error {
	for n, provider := range loaded.Definition.Providers {
		info, err := b.Info(provider.Address.Plugin())
		if err != nil {
			return err
		}
		if !info.Schemas.Joined {
			continue
		}
		assets, err := b.inventory(ctx, loaded.Definition, provider, o)
		if err != nil {
			return fmt.Errorf("list the hosts of provider.%s: %w", provider.Address, err)
		}
		loaded.Definition.Providers[n].Assets = assets
	}
	return nil
}

func (b Bundle) inventory(
	ctx context.Context,
	d fleet.Definition,
	provider fleet.Provider,
	o Options,
) (assets []fleet.Asset, err error) {
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
	_, found, err := process.Configure(
		ctx,
		pluginhost.Configuration{Provider: resolved, Installation: d.Installation, StateDir: cache},
	)
	if err != nil {
		return nil, err
	}
	for _, complaint := range found {
		if !complaint.Warning {
			return nil, access.Invalid(
				"the plugin refuses the block of provider.%s: %s: %s",
				provider.Address,
				complaint.Summary,
				complaint.Detail,
			)
		}
	}
	seen, err := process.Inspect(ctx, nil)
	if err != nil {
		return nil, err
	}
	return fleet.AssetsOf(seen.Resources), nil
}
