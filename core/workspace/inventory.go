package workspace

import (
	"context"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
)

// listInventories asks the plugins whose hosts a person joins for what they have,
// and makes it part of the definition: plan, status and the loop then speak of the
// same hosts, with or without a plugin that runs. Such plugins need nothing but
// their block for it.
func (b Bundle) listInventories(
	ctx context.Context, loaded *config.Loaded, o Options,
) (all config.Diagnostics, err error) {
	for n, provider := range loaded.Definition.Providers {
		info, err := b.Info(provider.Address.Plugin())
		if err != nil {
			return nil, err
		}
		if !info.Schemas.Joined {
			continue
		}
		assets, complaints, err := b.inventory(ctx, loaded.Definition, provider, o)
		if err != nil {
			return nil, fmt.Errorf("list the hosts of provider.%s: %w", provider.Address, err)
		}
		all = append(all, loaded.ProviderDiagnostics(provider.Address, complaints)...)
		loaded.Definition.Providers[n].Assets = assets
	}
	return all, nil
}

func (b Bundle) inventory(
	ctx context.Context, d fleet.Definition, provider fleet.Provider, o Options,
) (assets []fleet.Asset, complaints []fleet.PluginDiagnostic, err error) {
	complaints, err = b.configured(ctx, d, provider, o, func(process *pluginhost.Process) error {
		seen, err := process.Inspect(ctx, nil)
		assets = fleet.AssetsOf(seen.Resources)
		return err
	})
	return assets, complaints, err
}
