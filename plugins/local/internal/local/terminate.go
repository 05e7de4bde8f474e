//go:build linux || darwin

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/local/internal/failpoint"
)

// Terminate stops the agent with all that it started and removes the directory.
// The mark comes first and is on the disk before anything is ended, so that a
// removal which a crash or a power cut stops is never followed by a start.
func (m *machine) Terminate(ctx context.Context, ref provider.Ref) (provider.TerminateState, error) {
	key := cmp.Or(ref.ID, ref.Key)
	if ref.Key != "" && ref.Key != key {
		return refused("the instance %q isn't the one of the key %q", ref.ID, ref.Key)
	}
	if key != filepath.Base(key) || strings.HasPrefix(key, ".") {
		return refused("%q can't be an instance", key)
	}
	if err := m.here(); err != nil {
		return provider.TerminateUnknown, err
	}
	d := m.directory(key)
	content, err := d.record()
	if errors.Is(err, fs.ErrNotExist) {
		return m.terminateUnrecorded(d)
	}
	if err != nil {
		return provider.TerminateUnknown, err
	}
	if content.Key != key || content.Installation != m.installation {
		return refused("%s belongs to the key %q of the installation %q", d, content.Key, content.Installation)
	}
	failpoint.TerminateBegun.Hit()
	if err := d.markTerminating(); err != nil {
		return provider.TerminateUnknown, fmt.Errorf("mark %s: %w", d, err)
	}
	failpoint.RemovalMarked.Hit()
	ended, err := m.stop(ctx, d, ref.Force)
	if err != nil {
		return provider.TerminateUnknown, fmt.Errorf("stop the agent of %s: %w", key, err)
	}
	if !ended {
		return provider.TerminateAccepted, nil // killed, and the kernel isn't done with it
	}
	failpoint.AgentStopped.Hit()
	if err := m.erase(d); err != nil {
		return provider.TerminateUnknown, fmt.Errorf("remove %s: %w", d, err)
	}
	failpoint.DirectoryErased.Hit()
	return provider.Gone, nil
}

// terminateUnrecorded is for a directory without record: nothing at all, or
// something that isn't ours.
func (m *machine) terminateUnrecorded(d directory) (provider.TerminateState, error) {
	if _, err := os.Lstat(string(d)); !errors.Is(err, fs.ErrNotExist) {
		return refused("%s has no %s and isn't known to be an instance", d, recordFile)
	}
	if err := m.here(); err != nil {
		return provider.TerminateUnknown, err // it went out of sight with the root
	}
	m.discard(filepath.Join(m.root, ".gone-"+filepath.Base(string(d))))
	return provider.Gone, nil
}

func refused(format string, arguments ...any) (provider.TerminateState, error) {
	return provider.Refused, &provider.Error{Class: provider.Conflict, Err: fmt.Errorf(format, arguments...)}
}

// erase makes the directory disappear by one rename; deleting what is in it may
// take its time, and is finished by the next start where it fails.
func (m *machine) erase(d directory) error {
	gone := filepath.Join(m.root, ".gone-"+filepath.Base(string(d)))
	m.discard(gone)
	if err := os.Rename(string(d), gone); err != nil {
		return err
	}
	failpoint.DirectoryRenamed.Hit()
	if err := syncFolder(m.root); err != nil {
		return err
	}
	m.discard(gone)
	return nil
}

// The names of what this plugin leaves half done in the root: directories that
// are deleted or made, and marks of the root that are made. The manager's keys are
// ULIDs. Whatever else is there is somebody's own.
var (
	goneName   = regexp.MustCompile(`^\.gone-[0-9a-z]{26}$`)
	makingName = regexp.MustCompile(
		`^(\.tmp-[0-9a-z]{26}-[0-9]+|\.?` + regexp.QuoteMeta(markFile) + `-[0-9a-f]+(-[0-9]+)?)$`)
)

// sweep finishes what a crash left half done. Something in the making that is
// young may be another plugin's at work.
func (m *machine) sweep() {
	entries, err := os.ReadDir(m.root)
	if err != nil {
		return // the next inspection reports it
	}
	for _, entry := range entries {
		path := filepath.Join(m.root, entry.Name())
		abandoned := goneName.MatchString(entry.Name())
		if makingName.MatchString(entry.Name()) {
			info, err := entry.Info()
			abandoned = err == nil && m.now().Sub(info.ModTime()) > makingTime
		}
		if abandoned {
			m.discard(path)
		}
	}
}

// makingTime is far longer than the making of a directory takes.
const makingTime = time.Hour

// discard deletes a tree. Jobs leave folders without write permission behind,
// such as Go's module cache; these are opened first.
func (m *machine) discard(tree string) {
	if err := os.RemoveAll(tree); err == nil {
		return
	}
	_ = filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(tree); err != nil {
		m.logger.Warn("files of a removed instance are left; delete them by hand", "path", tree, "error", err)
	}
}
