//go:build linux || darwin

package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	"github.com/forgeyard/forgeyard-fleet/plugins/local/internal/failpoint"
)

// record is resource.json: what the directory is for.
type record struct {
	Key            string            `json:"key"`
	Installation   string            `json:"installation"`
	Fleet          string            `json:"fleet"`
	Name           string            `json:"name,omitempty"`
	Label          string            `json:"label,omitempty"`
	Image          string            `json:"image,omitempty"`
	InstanceDigest string            `json:"instance_digest,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	Created        time.Time         `json:"created"`
}

// started names one process for all time: a pid comes back, with its start time
// and the boot it doesn't.
type started struct {
	PID   int    `json:"pid"`
	Begun string `json:"begun"`
	Boot  string `json:"boot"`
}

// directory is root/KEY.
type directory string

func (m *machine) directory(key string) directory { return directory(filepath.Join(m.root, key)) }

func (d directory) path(name string) string { return filepath.Join(string(d), name) }

const (
	recordFile      = "resource.json"
	bootstrapFile   = "bootstrap.json"
	startedFile     = "started"
	lockFile        = "lock"
	terminatingFile = "terminating"
	agentFolder     = "agent"
	agentLog        = "agent.log"
)

// create makes the directory appear, complete and on disk, by one rename. It
// fails with fs.ErrExist where the key has one already.
//
// What an earlier attempt for the key left in the making goes: it was never an
// instance, it holds a token, and no other attempt is at work, since a key has
// one call at a time and an earlier plugin's end is waited for.
func (m *machine) create(content record, document bootstrap.Document) (err error) {
	if err := m.discardUnfinished(content.Key); err != nil {
		return err
	}
	making, err := os.MkdirTemp(m.root, unfinished(content.Key))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(making))
		}
	}()
	if err := writeJSON(filepath.Join(making, recordFile), content); err != nil {
		return err
	}
	if err := document.Write(filepath.Join(making, bootstrapFile)); err != nil {
		return err
	}
	failpoint.DirectoryUnnamed.Hit()
	// A directory that isn't empty is never replaced by a rename.
	return os.Rename(making, string(m.directory(content.Key)))
}

// unfinished is how the name of a directory in the making begins; digits follow.
func unfinished(key string) string { return ".tmp-" + key + "-" }

func (m *machine) discardUnfinished(key string) error {
	entries, err := os.ReadDir(m.root)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		rest, begins := strings.CutPrefix(entry.Name(), unfinished(key))
		if begins && strings.Trim(rest, "0123456789") == "" { // and not of a longer key
			m.discard(filepath.Join(m.root, entry.Name()))
		}
	}
	return nil
}

// record reads whose the directory is. fs.ErrNotExist: it isn't an instance.
func (d directory) record() (record, error) {
	var content record
	err := readJSON(d.path(recordFile), &content)
	return content, err
}

// started reads which process was started; ok is false where none was recorded.
func (d directory) started() (process started, ok bool, err error) {
	err = readJSON(d.path(startedFile), &process)
	if errors.Is(err, fs.ErrNotExist) {
		return started{}, false, nil
	}
	return process, err == nil, err
}

// lockPID is the pid that the agent wrote when it had the lock; 0: not yet.
func (d directory) lockPID() (int, error) {
	content, err := os.ReadFile(d.path(lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	line, complete := strings.CutSuffix(string(content), "\n")
	if !complete {
		return 0, nil // it is being written
	}
	pid, err := strconv.Atoi(line)
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("%s holds no pid", d.path(lockFile))
	}
	return pid, nil
}

func (d directory) isTerminating() bool {
	_, err := os.Lstat(d.path(terminatingFile))
	return err == nil
}

func (d directory) markTerminating() error {
	return writeJSON(d.path(terminatingFile), struct{}{})
}

// writeJSON puts the file there complete, and both it and its name on the disk.
func writeJSON(path string, content any) error {
	encoded, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = file.Write(append(encoded, '\n'))
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

func readJSON(path string, into any) error {
	// Looked at first, since to open a pipe would be to wait for its other end.
	if info, err := os.Lstat(path); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file but %s", path, info.Mode().Type())
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// syncFolder makes renames within the folder survive a power cut. It is a
// variable so that a test can see that it is called: nothing else shows it.
var syncFolder = func(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
