package workspace

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

// PluginOptions is what a person says about installing plugins.
type PluginOptions struct {
	// Names are the plugins that are meant; none: all that are required.
	Names []string
	// Installer has everything but Store, Protocol and Check, which are the
	// workspace's.
	Installer pluginstore.Installer
	// Locked refuses what would change the lock.
	Locked bool
}

func (w Workspace) installer(o PluginOptions) pluginstore.Installer {
	i := o.Installer
	i.Store, i.Protocol = w.Plugins, pluginhost.Protocol
	i.Check = func(description []byte) (string, error) {
		info, err := pluginhost.DecodeInfo(description)
		return info.Schemas.Version, err
	}
	return i
}

// required are the plugins of those names, or all.
func (w Workspace) required(names []string) ([]fleet.PluginRequirement, error) {
	if len(names) == 0 {
		return w.Requirements.Plugins, nil
	}
	var chosen []fleet.PluginRequirement
	var known []string
	for _, r := range w.Requirements.Plugins {
		known = append(known, r.Name)
		if slices.Contains(names, r.Name) {
			chosen = append(chosen, r)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf(
				"the fleet files in %s require no plugin %q; they require: %s",
				w.Dir,
				name,
				strings.Join(known, ", "),
			)
		}
	}
	return chosen, nil
}

func requiredOf(r fleet.PluginRequirement) pluginstore.Required {
	return pluginstore.Required{Name: r.Name, Source: r.Source, Constraint: r.Version, AllowUnsigned: r.AllowUnsigned}
}

// InstallPlugins makes the store have what is locked, and locks what isn't.
func (w Workspace) InstallPlugins(ctx context.Context, o PluginOptions) ([]pluginstore.Installed, error) {
	i := w.installer(o)
	return w.lockEach(ctx, o, func(r pluginstore.Required) (pluginstore.Installed, error) {
		return i.Install(ctx, r, w.Lock, o.Locked)
	})
}

// UpdatePlugins locks the newest versions that the requirements take.
func (w Workspace) UpdatePlugins(ctx context.Context, o PluginOptions) ([]pluginstore.Installed, error) {
	i := w.installer(o)
	return w.lockEach(ctx, o, func(r pluginstore.Required) (pluginstore.Installed, error) {
		return i.Update(ctx, r, w.Lock)
	})
}

// InstallBuilds installs an author's own builds from a folder.
func (w Workspace) InstallBuilds(
	ctx context.Context,
	o PluginOptions,
	dir, run string,
	log *slog.Logger,
) ([]pluginstore.Installed, error) {
	return w.lockEach(ctx, o, func(r pluginstore.Required) (pluginstore.Installed, error) {
		old, _ := w.Lock.Plugin(r.Name)
		locked, err := w.Plugins.InstallBuild(
			ctx,
			dir,
			r.Name,
			r.Constraint,
			func(ctx context.Context, path, digest string) ([]byte, string, int, error) {
				return describePlugin(ctx, pluginhost.Launch{Plugin: r.Name, Path: path, Digest: digest, RunDir: run, Logger: log})
			},
		)
		return pluginstore.Installed{LockedPlugin: withOtherPlatforms(locked, old), Before: old.Version}, err
	})
}

// lockEach writes the lock when all went well. Without names, what is no longer
// required is dropped from it.
func (w Workspace) lockEach(
	ctx context.Context,
	o PluginOptions,
	one func(pluginstore.Required) (pluginstore.Installed, error),
) ([]pluginstore.Installed, error) {
	chosen, err := w.required(o.Names)
	if err != nil {
		return nil, err
	}
	var all []pluginstore.Installed
	lock := w.Lock
	for _, r := range chosen {
		installed, err := one(requiredOf(r))
		if err != nil {
			return all, err
		}
		all, lock = append(all, installed), lock.With(installed.LockedPlugin)
	}
	var names []string
	for _, r := range w.Requirements.Plugins {
		names = append(names, r.Name)
	}
	lock = lock.Only(names)
	if o.Locked {
		if string(lock.Bytes()) != string(w.Lock.Bytes()) {
			return all, &pluginstore.NotLockedError{Plugin: extra(w.Lock, names), Reason: "is locked and not required"}
		}
		return all, nil
	}
	return all, w.Plugins.ChangeLock(ctx, w.lockPath(), func(now pluginstore.Lock) (pluginstore.Lock, error) {
		return w.merged(now, all, names)
	})
}

// merged is what another command may have made of the lock meanwhile, with what
// was installed, and without what was locked at the beginning and isn't required.
func (w Workspace) merged(
	now pluginstore.Lock,
	installed []pluginstore.Installed,
	required []string,
) (pluginstore.Lock, error) {
	for _, p := range installed {
		before, _ := w.Lock.Plugin(p.Name)
		if there, _ := now.Plugin(p.Name); !there.Equal(before) && !there.Equal(p.LockedPlugin) {
			return now, fmt.Errorf(
				"another command has locked version %s of plugin %q meanwhile, and this one would lock %s; nothing was locked: "+
					"run it again",
				cmp.Or(there.Version, "none"),
				p.Name,
				p.Version,
			)
		}
		now = now.With(p.LockedPlugin)
	}
	keep := slices.Clone(required)
	for _, p := range now.Plugins {
		if _, was := w.Lock.Plugin(p.Name); !was {
			keep = append(keep, p.Name)
		}
	}
	return now.Only(keep), nil
}

// extra is the first locked plugin that isn't required.
func extra(lock pluginstore.Lock, names []string) string {
	for _, p := range lock.Plugins {
		if !slices.Contains(names, p.Name) {
			return p.Name
		}
	}
	return ""
}

// withOtherPlatforms keeps what other machines locked for the same version: each
// builds and installs its own binary.
func withOtherPlatforms(p, old pluginstore.LockedPlugin) pluginstore.LockedPlugin {
	if old.Source != p.Source || old.Version != p.Version {
		return p
	}
	binaries := maps.Clone(old.Binaries)
	maps.Copy(binaries, p.Binaries)
	p.Binaries = binaries
	return p
}

// VerifyPlugins hashes what the store has of the locked plugins, and asks where
// they came from whether their signers still vouch for them, unless offline. It
// gives the plugins that passed, and what is wrong with the others.
func (w Workspace) VerifyPlugins(
	ctx context.Context,
	o PluginOptions,
	offline bool,
) (passed []pluginstore.LockedPlugin, problems []error) {
	i := w.installer(o)
	for _, locked := range w.Lock.Plugins {
		err := w.Plugins.Verify(locked)
		if err == nil && !offline && locked.Source != pluginstore.SourceDev {
			err = i.VerifySignature(ctx, locked)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		passed = append(passed, locked)
	}
	return passed, problems
}

// MirrorPlugins copies what is locked.
func (w Workspace) MirrorPlugins(
	ctx context.Context,
	o PluginOptions,
	to pluginstore.Destination,
	platforms []string,
) ([]pluginstore.LockedPlugin, error) {
	i := w.installer(o)
	for n, locked := range w.Lock.Plugins {
		if err := i.Mirror(ctx, locked, to, platforms); err != nil {
			return w.Lock.Plugins[:n], err
		}
	}
	return w.Lock.Plugins, nil
}

// PluginState is one plugin as the files require it and the lock has it.
type PluginState struct {
	Name       string                   `json:"name"`
	Source     string                   `json:"source"`
	Constraint string                   `json:"constraint,omitempty"`
	Version    string                   `json:"version,omitempty"`
	Protocol   int                      `json:"protocol,omitempty"`
	Index      string                   `json:"index,omitempty"`
	Signer     string                   `json:"signer,omitempty"`
	Binaries   map[string]string        `json:"binaries,omitempty"`
	Present    bool                     `json:"present"`
	Path       string                   `json:"path,omitempty"`
	Problem    string                   `json:"problem,omitempty"`
	Schemas    *fleet.PluginSchemas     `json:"schemas,omitempty"`
	Locked     pluginstore.LockedPlugin `json:"-"`
}

// PluginStates lists the required plugins. Nothing is started or asked.
func (w Workspace) PluginStates(names []string) ([]PluginState, error) {
	chosen, err := w.required(names)
	if err != nil {
		return nil, err
	}
	all := []PluginState{}
	for _, r := range chosen {
		state := PluginState{Name: r.Name, Source: r.Source, Constraint: r.Version}
		locked, there := w.Lock.Plugin(r.Name)
		if !there {
			state.Problem = "not locked; run: forgeyard-fleet plugin install, with --from FOLDER for plugins that you built " +
				"yourself (make build puts them into bin/plugins)"
			all = append(all, state)
			continue
		}
		state.Locked, state.Source, state.Version, state.Protocol = locked, locked.Source, locked.Version, locked.Protocol
		state.Index, state.Signer, state.Binaries = locked.Index, locked.Signer, locked.Binaries
		path, _, err := w.Plugins.Binary(locked, Platform)
		if err != nil {
			state.Problem = err.Error()
			all = append(all, state)
			continue
		}
		state.Present, state.Path = true, path
		info, err := w.Info(r.Name)
		if err != nil {
			state.Problem = err.Error()
		} else {
			state.Schemas = &info.Schemas
		}
		all = append(all, state)
	}
	return all, nil
}
