package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/hashicorp/go-version"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

// StopGrace is what a plugin process gets to end by itself.
const StopGrace = 5 * time.Second

// Bundle is fleet files with their plugin lock and the store that has the
// plugins: from a directory, or from a submission.
type Bundle struct {
	Sources      []config.Source
	Requirements config.Requirements
	Lock         pluginstore.Lock
	Plugins      *pluginstore.Store
}

// Platform is this machine's platform in the words of the lock.
var Platform = runtime.GOOS + "_" + runtime.GOARCH

// readBundle reads the files as far as no plugin is needed. Mistakes in them
// come back as config.Diagnostics.
func readBundle(
	sources []config.Source,
	lock pluginstore.Lock,
	plugins *pluginstore.Store,
	program string,
) (Bundle, error) {
	b := Bundle{Sources: sources, Lock: lock, Plugins: plugins}
	var found config.Diagnostics
	if b.Requirements, found = config.LoadRequirements(sources); found.HasErrors() {
		return b, found
	}
	if found = b.Requirements.CheckVersion(program); found.HasErrors() {
		return b, found
	}
	return b, nil
}

// CheckLock refuses a lock file that doesn't fit the files, as a plan does.
func (b Bundle) CheckLock() error { return b.checkLocked() }

// checkLocked refuses a lock whose plugins don't fit what the files ask for.
func (b Bundle) checkLocked() error {
	for _, r := range b.Requirements.Plugins {
		locked, there := b.Lock.Plugin(r.Name)
		if !there {
			continue
		}
		if err := checkOrigin(r, locked); err != nil {
			return err
		}
		if r.Version == "" {
			continue
		}
		constraint, err := version.NewConstraint(r.Version)
		if err != nil {
			return fmt.Errorf("read the version that plugin %q is required in: %w", r.Name, err)
		}
		if have, err := version.NewVersion(locked.Version); err != nil || !constraint.Check(have) {
			return fmt.Errorf(
				"plugin %q is locked in version %s, and the files require %q; install one that fits: forgeyard-fleet "+
					"plugin install",
				r.Name,
				locked.Version,
				r.Version,
			)
		}
	}
	return nil
}

// checkOrigin refuses a plugin from elsewhere than the files say, or an
// unsigned one where they don't allow that. A developer's own build is from
// nowhere: anyone who may change the lock can have it, and the plan warns of it.
func checkOrigin(r fleet.PluginRequirement, locked pluginstore.LockedPlugin) error {
	switch {
	case locked.Source == pluginstore.SourceDev:
		return nil
	case locked.Source != r.Source:
		return fmt.Errorf(
			"plugin %q is locked from %s, and the files name %q; run: forgeyard-fleet plugin install",
			r.Name,
			locked.Source,
			r.Source,
		)
	case locked.Signer == "" && !r.AllowUnsigned:
		return fmt.Errorf(
			"plugin %q is locked without a signature, and the files don't allow that; install a signed version with: "+
				"forgeyard-fleet plugin update %s, or write allow_unsigned = true in required_plugins",
			r.Name,
			r.Name,
		)
	}
	return nil
}

// Load reads the whole definition. Only an error among the diagnostics makes
// the definition unusable.
func (b Bundle) Load(variables config.Variables) (*config.Loaded, config.Diagnostics) {
	return config.Load(b.Sources, variables, b)
}

// Schemas describes an installed plugin without starting it.
func (b Bundle) Schemas(plugin string) (fleet.PluginSchemas, error) {
	if _, locked := b.Lock.Plugin(plugin); !locked {
		return fleet.PluginSchemas{}, config.ErrNotInstalled
	}
	info, err := b.Info(plugin)
	return info.Schemas, err
}

// Info is what an installed plugin says of itself.
func (b Bundle) Info(plugin string) (pluginhost.Info, error) {
	_, digest, err := b.binary(plugin)
	if err != nil {
		return pluginhost.Info{}, err
	}
	raw, err := b.Plugins.Info(digest)
	if err != nil {
		return pluginhost.Info{}, err
	}
	info, err := pluginhost.DecodeInfo(raw)
	if err != nil {
		return pluginhost.Info{}, fmt.Errorf(
			"read the description of plugin %q: %w; run: forgeyard-fleet plugin install",
			plugin,
			err,
		)
	}
	return info, nil
}

// binary is the executable of a plugin for this machine, as the lock names it.
func (b Bundle) binary(plugin string) (path, digest string, err error) {
	locked, ok := b.Lock.Plugin(plugin)
	if !ok {
		return "", "", fmt.Errorf(
			"plugin %q is not in %s; run where the fleet files are: forgeyard-fleet plugin install, with --from FOLDER for "+
				"plugins that you built yourself (make build puts them into bin/plugins)",
			plugin,
			pluginstore.LockFileName,
		)
	}
	return b.Plugins.Binary(locked, Platform)
}

// Launch is how a provider block's plugin is started.
func (b Bundle) Launch(
	provider fleet.ProviderAddress,
	requirements []fleet.PluginRequirement,
	run string,
	log *slog.Logger,
) (pluginhost.Launch, error) {
	path, digest, err := b.binary(provider.Plugin())
	if err != nil {
		return pluginhost.Launch{}, err
	}
	l := pluginhost.Launch{
		Plugin:   provider.Plugin(),
		Provider: provider,
		Path:     path,
		Digest:   digest,
		RunDir:   run,
		Logger:   log,
	}
	for _, r := range requirements {
		if r.Name == provider.Plugin() {
			l.Env = r.Env
		}
	}
	return l, nil
}

// ValidateWithPlugins lets the plugins check the bodies that are theirs, with
// the secrets of this process's environment. Complaints, of missing secrets too,
// come back on the line that they are about.
func (b Bundle) ValidateWithPlugins(
	ctx context.Context,
	loaded *config.Loaded,
	run string,
	log *slog.Logger,
) (config.Diagnostics, error) {
	o := Options{Place: Place{Run: run}, Log: log}
	if missing := missingSecrets(ctx, loaded, o); missing.HasErrors() {
		return missing, nil
	}
	return b.validateWithPlugins(ctx, loaded, o)
}

func (b Bundle) validateWithPlugins(ctx context.Context, loaded *config.Loaded, o Options) (config.Diagnostics, error) {
	var all config.Diagnostics
	for _, provider := range loaded.Definition.Providers {
		found, err := b.validateProvider(ctx, loaded, provider, o)
		if err != nil {
			return all, fmt.Errorf("let plugin %q check provider.%s: %w", provider.Address.Plugin(), provider.Address, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func (b Bundle) validateProvider(
	ctx context.Context,
	loaded *config.Loaded,
	provider fleet.Provider,
	o Options,
) (config.Diagnostics, error) {
	var validation pluginhost.Validation
	var unattestable map[string][]pluginhost.Unattestable
	info, err := b.Info(provider.Address.Plugin())
	if err != nil {
		return nil, err
	}
	err = b.askOffline(
		ctx,
		loaded,
		provider,
		o,
		func(process *pluginhost.Process, body secret.Resolved, instances map[string][]byte) (err error) {
			if validation, err = process.Validate(ctx, body, instances); err != nil || !info.Schemas.AttestableByBlock {
				return err
			}
			if slices.ContainsFunc(validation.Provider, func(d fleet.PluginDiagnostic) bool { return !d.Warning }) {
				return nil // of a bad block nothing is said
			}
			unattestable, err = process.Attestable(ctx, body, instances)
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	found := loaded.ProviderDiagnostics(provider.Address, validation.Provider)
	for _, f := range loaded.Definition.Fleets {
		if f.Provider == provider.Address {
			complaints := validation.Instances[string(f.Address)]
			for _, missing := range unattestable[string(f.Address)] {
				complaints = append(complaints, loaded.Unattestable(f, missing.Attestation, missing.Reason, missing.Path)...)
			}
			found = append(found, loaded.InstanceDiagnostics(f.Address, complaints)...)
		}
	}
	return found, nil
}

// askOffline starts a provider's plugin without configuring it, and asks it about its
// block and the instance blocks of its fleets.
func (b Bundle) askOffline(ctx context.Context, loaded *config.Loaded, provider fleet.Provider, o Options,
	ask func(process *pluginhost.Process, body secret.Resolved, instances map[string][]byte) error) (err error) {
	launch, err := b.Launch(provider.Address, loaded.Definition.Plugins, o.Place.Run, o.Log)
	if err != nil {
		return err
	}
	process, err := pluginhost.Start(ctx, launch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.Stop(StopGrace)) }()
	instances := map[string][]byte{}
	for _, f := range loaded.Definition.Fleets {
		if f.Provider == provider.Address {
			instances[string(f.Address)] = f.Instance
		}
	}
	body, err := o.Secrets().Resolve(ctx, provider.Config)
	if err != nil {
		return err
	}
	return ask(process, body, instances)
}

func describePlugin(
	ctx context.Context,
	launch pluginhost.Launch,
) (raw []byte, version string, protocol int, err error) {
	process, err := pluginhost.Start(ctx, launch)
	if err != nil {
		return nil, "", 0, err
	}
	defer func() { err = errors.Join(err, process.Stop(StopGrace)) }()
	info, err := process.Info(ctx)
	if err != nil {
		return nil, "", 0, err
	}
	return info.Raw, info.Schemas.Version, pluginhost.Protocol, nil
}

// LockOf reads a lock's text; no text is a lock without plugins.
func LockOf(text string) (pluginstore.Lock, error) {
	if text == "" {
		return pluginstore.Lock{}, nil
	}
	return pluginstore.ParseLock([]byte(text))
}
