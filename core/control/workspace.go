package control

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

// Workspace is a directory with fleet files and their plugin lock.
type Workspace struct {
	Dir string
	Bundle
}

// ReadWorkspace reads the files of a directory as far as no plugin is needed.
// Mistakes in the files come back as config.Diagnostics.
func ReadWorkspace(dir, pluginDirectory, version string) (Workspace, error) {
	w := Workspace{Dir: dir}
	sources, err := config.ReadDir(dir)
	if err != nil {
		return w, err
	}
	lock, err := pluginstore.ReadLock(w.lockPath())
	if err != nil {
		return w, err
	}
	plugins, err := pluginstore.Open(pluginDirectory)
	if err != nil {
		return w, err
	}
	w.Bundle, err = readBundle(sources, lock, plugins, version)
	return w, err
}

func (w Workspace) lockPath() string { return filepath.Join(w.Dir, pluginstore.LockFileName) }

// Submission is the workspace as it is sent to a manager. Of the environment
// only what sets variables goes along.
func (w Workspace) Submission(variables config.Variables, prune bool) Submission {
	var own []string
	for _, line := range variables.Environment {
		if strings.HasPrefix(line, config.VariablePrefix) {
			own = append(own, line)
		}
	}
	variables.Environment = own
	return Submission{Sources: w.Sources, Lock: string(w.Lock.Bytes()), Variables: variables, Prune: prune}
}

// InstallFrom installs every required plugin from a directory of built plugins
// and writes the lock.
func (w Workspace) InstallFrom(ctx context.Context, dir, run string, log *slog.Logger) ([]pluginstore.LockedPlugin, error) {
	describe := func(ctx context.Context, path string) ([]byte, string, int, error) {
		return describePlugin(ctx, pluginhost.Launch{Plugin: "plugin", Path: path, Digest: blobDigest(path), RunDir: run, Logger: log})
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
