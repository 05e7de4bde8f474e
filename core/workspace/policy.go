package workspace

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Policy is what the credentials of one provider block must be allowed to do for the
// fleets that it has, in the words of its plugin. The block is named by its address
// ("aws.main"), or by its plugin where that has one.
func (b Bundle) Policy(ctx context.Context, loaded *config.Loaded, name, run string, log *slog.Logger) (string, error) {
	provider, err := oneBlock(loaded.Definition.Providers, name)
	if err != nil {
		return "", err
	}
	plugin := provider.Address.Plugin()
	info, err := b.Info(plugin)
	if err != nil {
		return "", err
	}
	if !info.Serves(providerpb.PermissionsService) {
		return "", fmt.Errorf("the plugin %q doesn't say what its credentials must be allowed; see its documentation", plugin)
	}
	var document string
	o := Options{Place: Place{Run: run}, Log: log}
	err = b.askOffline(
		ctx,
		loaded,
		provider,
		o,
		func(process *pluginhost.Process, body secret.Resolved, instances map[string][]byte) (err error) {
			document, err = process.Policy(ctx, loaded.Definition.Installation, body, instances)
			return err
		},
	)
	return document, err
}

// oneBlock is the provider block of an address, or the only one of a plugin.
func oneBlock(blocks []fleet.Provider, name string) (fleet.Provider, error) {
	var found []fleet.Provider
	var names []string
	for _, one := range blocks {
		if string(one.Address) == name || one.Address.Plugin() == name {
			found, names = append(found, one), append(names, "provider."+string(one.Address))
		}
	}
	switch len(found) {
	case 0:
		return fleet.Provider{}, fmt.Errorf(
			"the fleet files have no block provider %q: what must be allowed depends on what it says",
			name,
		)
	case 1:
		return found[0], nil
	}
	return fleet.Provider{}, fmt.Errorf(
		"%s are all of the plugin %q: say which, as %q",
		strings.Join(names, " and "),
		name,
		found[0].Address,
	)
}
