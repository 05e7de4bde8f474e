package control

import (
	"path/filepath"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/config"
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
