package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

// Workspace is a directory with fleet files and their plugin lock.
type Workspace struct {
	Dir          string
	Sources      []config.Source
	Requirements config.Requirements
	Lock         pluginstore.Lock
	Plugins      *pluginstore.Store
}

// platform is this machine's platform in the words of the lock.
var platform = runtime.GOOS + "_" + runtime.GOARCH

// ReadWorkspace reads the files of a directory as far as no plugin is needed.
// Mistakes in the files come back as config.Diagnostics.
func ReadWorkspace(dir, pluginDirectory, version string) (Workspace, error) {
	w := Workspace{Dir: dir}
	var err error
	if w.Sources, err = config.ReadDir(dir); err != nil {
		return w, err
	}
	var found config.Diagnostics
	if w.Requirements, found = config.LoadRequirements(w.Sources); found.HasErrors() {
		return w, found
	}
	if found = w.Requirements.CheckVersion(version); found.HasErrors() {
		return w, found
	}
	if w.Lock, err = pluginstore.ReadLock(w.lockPath()); err != nil {
		return w, err
	}
	if w.Plugins, err = pluginstore.Open(pluginDirectory); err != nil {
		return w, err
	}
	return w, nil
}

func (w Workspace) lockPath() string { return filepath.Join(w.Dir, pluginstore.LockFileName) }

// Load reads the whole definition. Only an error among the diagnostics makes
// the definition unusable.
func (w Workspace) Load(variables config.Variables) (*config.Loaded, config.Diagnostics) {
	return config.Load(w.Sources, variables, w)
}

// Schemas describes an installed plugin without starting it.
func (w Workspace) Schemas(plugin string) (fleet.PluginSchemas, error) {
	info, err := w.info(plugin)
	return info.Schemas, err
}

func (w Workspace) info(plugin string) (pluginhost.Info, error) {
	_, digest, err := w.binary(plugin)
	if err != nil {
		return pluginhost.Info{}, err
	}
	raw, err := w.Plugins.Info(digest)
	if err != nil {
		return pluginhost.Info{}, err
	}
	info, err := pluginhost.DecodeInfo(raw)
	if err != nil {
		return pluginhost.Info{}, fmt.Errorf("read the description of plugin %q: %w; run: forgeyard-fleet plugin install --from DIR", plugin, err)
	}
	return info, nil
}

// binary is the executable of a plugin for this machine, as the lock names it.
func (w Workspace) binary(plugin string) (path, digest string, err error) {
	locked, ok := w.Lock.Plugin(plugin)
	if !ok {
		return "", "", fmt.Errorf("plugin %q is not in %s; run: forgeyard-fleet plugin install --from DIR", plugin, pluginstore.LockFileName)
	}
	return w.Plugins.Binary(locked, platform)
}

// launch is how a provider block's plugin is started.
func (w Workspace) launch(provider fleet.ProviderAddress, requirements []fleet.PluginRequirement, run string, log *slog.Logger) (pluginhost.Launch, error) {
	path, digest, err := w.binary(provider.Plugin())
	if err != nil {
		return pluginhost.Launch{}, err
	}
	l := pluginhost.Launch{Plugin: provider.Plugin(), Provider: provider, Path: path, Digest: digest, RunDir: run, Logger: log}
	for _, r := range requirements {
		if r.Name == provider.Plugin() {
			l.Env = r.Env
		}
	}
	return l, nil
}

// ValidateWithPlugins lets the plugins check the bodies that are theirs. Their
// complaints come back on the line that they are about.
func (w Workspace) ValidateWithPlugins(ctx context.Context, loaded *config.Loaded, run string, log *slog.Logger) (config.Diagnostics, error) {
	var all config.Diagnostics
	for _, provider := range loaded.Definition.Providers {
		found, err := w.validateProvider(ctx, loaded, provider, run, log)
		if err != nil {
			return all, fmt.Errorf("let plugin %q check provider.%s: %w", provider.Address.Plugin(), provider.Address, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func (w Workspace) validateProvider(ctx context.Context, loaded *config.Loaded, provider fleet.Provider, run string, log *slog.Logger) (found config.Diagnostics, err error) {
	launch, err := w.launch(provider.Address, loaded.Definition.Plugins, run, log)
	if err != nil {
		return nil, err
	}
	process, err := pluginhost.Start(ctx, launch)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, process.Stop(stopGrace)) }()
	instances := map[string][]byte{}
	for _, f := range loaded.Definition.Fleets {
		if f.Provider == provider.Address {
			instances[string(f.Address)] = f.Instance
		}
	}
	validation, err := process.Validate(ctx, provider.Config, instances)
	if err != nil {
		return nil, err
	}
	found = loaded.ProviderDiagnostics(provider.Address, validation.Provider)
	for _, f := range loaded.Definition.Fleets {
		if f.Provider == provider.Address {
			found = append(found, loaded.InstanceDiagnostics(f.Address, validation.Instances[string(f.Address)])...)
		}
	}
	return found, nil
}

// InstallFrom installs every required plugin from a directory of built plugins
// and writes the lock.
func (w Workspace) InstallFrom(ctx context.Context, dir, run string, log *slog.Logger) ([]pluginstore.LockedPlugin, error) {
	describe := func(ctx context.Context, path string) ([]byte, string, int, error) {
		// The store names a blob by its digest.
		return describePlugin(ctx, pluginhost.Launch{Plugin: "plugin", Path: path, Digest: "sha256:" + filepath.Base(path), RunDir: run, Logger: log})
	}
	var installed []pluginstore.LockedPlugin
	lock := pluginstore.Lock{}
	for _, r := range w.Requirements.Plugins {
		locked, err := w.Plugins.InstallFromDir(ctx, dir, r.Name, r.Version, describe)
		if err != nil {
			return installed, err
		}
		installed, lock = append(installed, locked), lock.With(withOtherPlatforms(locked, w.Lock))
	}
	return installed, pluginstore.WriteLock(w.lockPath(), lock)
}

// withOtherPlatforms keeps what other machines locked for the same version: each
// builds and installs its own binary.
func withOtherPlatforms(p pluginstore.LockedPlugin, before pluginstore.Lock) pluginstore.LockedPlugin {
	old, ok := before.Plugin(p.Name)
	if !ok || old.Source != p.Source || old.Version != p.Version {
		return p
	}
	binaries := maps.Clone(old.Binaries)
	maps.Copy(binaries, p.Binaries)
	p.Binaries = binaries
	return p
}

func describePlugin(ctx context.Context, launch pluginhost.Launch) (raw []byte, version string, protocol int, err error) {
	process, err := pluginhost.Start(ctx, launch)
	if err != nil {
		return nil, "", 0, err
	}
	defer func() { err = errors.Join(err, process.Stop(stopGrace)) }()
	info, err := process.Info(ctx)
	if err != nil {
		return nil, "", 0, err
	}
	return info.Raw, info.Schemas.Version, pluginhost.Protocol, nil
}
