//go:build linux || darwin

package local

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/local/internal/failpoint"
)

// A root that isn't mounted, or was emptied, looks just like one whose instances
// are all gone. So each root has a mark with an id of its own, which is part of
// the account: from another root the host concludes nothing. And a root that has
// lost its mark, or has another one, says nothing at all.
const (
	// markFile is in the root, and its name begins with a dot so that it is no
	// instance.
	markFile = ".forgeyard-local"
	// memoryFile is in the plugin's cache and remembers the root of last time.
	memoryFile = "root.json"
)

// rootMark is the mark: whose plugin made it, and which root it is.
type rootMark struct {
	Installation string `json:"installation"`
	ID           string `json:"id"`
}

// rootMemory is the root of last time. It is lost with the cache, and then a
// root that was emptied is still another account.
type rootMemory struct {
	Root string `json:"root"`
	ID   string `json:"id"`
}

// openRoot gives the id of the root, which it makes and marks the first time.
func openRoot(root, installation, cache string) (id string, err error) {
	known, err := recallRoot(cache, root)
	if err != nil {
		return "", err
	}
	if known != "" {
		return known, checkRoot(root, known, cache)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", provider.Diagnostic{Summary: fmt.Sprintf("Can't create the instance folder %s", root),
			Detail: err.Error(), Path: provider.At("root")}
	}
	found, err := readRootMark(root)
	if errors.Is(err, fs.ErrNotExist) {
		found, err = markRoot(root, installation)
	}
	if err != nil {
		return "", fmt.Errorf("mark the folder of the instances: %w", err)
	}
	failpoint.RootMarked.Hit()
	return found.ID, rememberRoot(cache, root, found.ID)
}

// checkRoot says whether the root is still the one with the id.
func checkRoot(root, id, cache string) error {
	found, err := readRootMark(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look at the mark of the folder of the instances: %w", err)
	}
	if err == nil && found.ID == id {
		return nil
	}
	seen := "has no " + markFile
	if err == nil {
		seen = "is marked as " + short(found.ID)
	}
	advice := "mount or restore it, or set another root"
	if cache != "" {
		advice += "; if its instances are gone for good, delete " + filepath.Join(cache, memoryFile)
		if err != nil {
			advice += " and begin with a new folder"
		}
	}
	return &provider.Error{Class: provider.Invalid, Err: fmt.Errorf(
		"%s %s and should be marked as %s: it isn't the folder that the instances were made in, as when a disk isn't "+
			"mounted; %s", root, seen, short(id), advice)}
}

func readRootMark(root string) (rootMark, error) {
	var mark rootMark
	if err := readJSON(filepath.Join(root, markFile), &mark); err != nil {
		return rootMark{}, err
	}
	if len(mark.ID) < shortID {
		return rootMark{},
			fmt.Errorf("%s holds no id; restore it from a backup, or begin with a new folder", filepath.Join(root, markFile))
	}
	return mark, nil
}

// markRoot puts the mark, which is complete or isn't there. Of two plugins that
// do so at once one wins, and both take its mark.
func markRoot(root, installation string) (rootMark, error) {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return rootMark{}, err
	}
	made := filepath.Join(root, markFile+"-"+hex.EncodeToString(random))
	if err := writeJSON(made, rootMark{Installation: installation, ID: hex.EncodeToString(random)}); err != nil {
		return rootMark{}, err
	}
	failpoint.RootUnmarked.Hit()
	err := os.Link(made, filepath.Join(root, markFile))
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err := errors.Join(err, os.Remove(made), syncFolder(root)); err != nil {
		return rootMark{}, err
	}
	return readRootMark(root)
}

func recallRoot(cache, root string) (id string, err error) {
	if cache == "" {
		return "", nil
	}
	var memory rootMemory
	err = readJSON(filepath.Join(cache, memoryFile), &memory)
	if errors.Is(err, fs.ErrNotExist) || memory.Root != root {
		return "", nil
	}
	return memory.ID, err
}

func rememberRoot(cache, root, id string) error {
	if cache == "" {
		return nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return fmt.Errorf("remember the folder of the instances: %w", err)
	}
	return writeJSON(filepath.Join(cache, memoryFile), rootMemory{Root: root, ID: id})
}

// shortID is how much of an id is shown.
const shortID = 8

func short(id string) string { return id[:min(shortID, len(id))] }

// account is what the host remembers of where its instances were made.
func account(root, id string) string {
	return fmt.Sprintf("this machine, in %s (%s)", root, short(id))
}

// here says whether the root is still there: without it, that something isn't
// seen means nothing.
func (m *machine) here() error { return checkRoot(m.root, m.rootID, m.stateDir) }
