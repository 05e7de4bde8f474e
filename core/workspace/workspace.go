package workspace

import (
	"path/filepath"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

// Workspace is a directory with fleet files and their plugin lock.
type Workspace struct {
	Dir string
	Bundle
}

// Read reads the files of a directory as far as no plugin is needed.
// Mistakes in the files come back as config.Diagnostics.
func Read(dir, pluginDirectory, version string) (Workspace, error) {
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
