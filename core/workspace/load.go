package workspace

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

// Loaded is a definition with the warnings about it.
type Loaded struct {
	*config.Loaded
	// Warnings are what is odd about it.
	Warnings config.Diagnostics
}

// Load reads a definition whole, the plugins' own checks included. lock is the text
// of the plugin lock. What readable refuses is left before any secret is looked at;
// nil refuses nothing.
func Load(
	ctx context.Context,
	sources []config.Source,
	lock string,
	variables config.Variables,
	o Options,
	readable func(fleet.Definition) error,
) (*Loaded, Bundle, error) {
	locked, err := LockOf(lock)
	if err != nil {
		return nil, Bundle{}, access.Invalid("read %s: %v", pluginstore.LockFileName, err)
	}
	plugins, err := pluginstore.Open(o.Place.Plugins)
	if err != nil {
		return nil, Bundle{}, err
	}
	bundle, err := readBundle(sources, locked, plugins, o.Version)
	if err != nil {
		return nil, Bundle{}, err
	}
	if own := bundle.Requirements.Installation; own != o.Installation {
		return nil, Bundle{}, access.Invalid(
			"the files are of installation %q, this manager is of %q; send them to their own manager", own, o.Installation)
	}
	if err := bundle.checkLocked(); err != nil {
		return nil, Bundle{}, &access.InvalidError{Reason: err.Error()}
	}
	loaded, found := bundle.Load(variables)
	if found.HasErrors() {
		return nil, Bundle{}, found
	}
	if readable != nil {
		if err := readable(loaded.Definition); err != nil {
			return nil, Bundle{}, err
		}
	}
	if missing := missingSecrets(ctx, loaded, o); missing.HasErrors() {
		return nil, Bundle{}, missing
	}
	found = append(found, loaded.NoEffectYet()...)
	found = append(found, warnNoIsolation(loaded.Definition)...)
	found = append(found, warnUnusedForecast(loaded.Definition)...)
	found = append(found, warnDevBuilds(loaded.Definition, locked)...)
	complaints, err := bundle.validateWithPlugins(ctx, loaded, o)
	if err != nil {
		return nil, Bundle{}, err
	}
	found = append(found, complaints...)
	if found.HasErrors() {
		return nil, Bundle{}, found
	}
	complaints, err = bundle.askOnline(ctx, loaded, o)
	if err != nil {
		return nil, Bundle{}, err
	}
	if found = append(found, complaints...); found.HasErrors() {
		return nil, Bundle{}, found
	}
	return &Loaded{Loaded: loaded, Warnings: found}, bundle, nil
}

// missingSecrets complains about references that lead nowhere, on their lines.
// Only that there is a value is looked at.
func missingSecrets(ctx context.Context, loaded *config.Loaded, o Options) config.Diagnostics {
	var found config.Diagnostics
	for _, p := range loaded.Definition.Providers {
		if err := o.Secrets().Check(ctx, p.Config); err != nil {
			found = append(found, loaded.ProviderDiagnostics(p.Address, secret.Diagnostics(err))...)
		}
	}
	for _, s := range loaded.Definition.Schedulers {
		for _, one := range []struct {
			name      string
			reference fleet.SecretReference
		}{{"token", s.Token}, {"metrics_token", s.MetricsToken}} {
			if one.reference == "" {
				continue
			}
			if _, err := o.Secrets().Value(ctx, one.reference); err != nil {
				found = append(found, loaded.SchedulerDiagnostics(s.Address, secret.DiagnosticsAt(err, one.name))...)
			}
		}
	}
	return found
}
