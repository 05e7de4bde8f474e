package isolation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// DefaultJobsDir is where jobs of another user than the agent's have their
// folders, on unix only.
const DefaultJobsDir = "/var/lib/forgeyard-jobs"

// JobFolder is where the job of such a user has its files. The agent's state
// folder is closed to other users, so theirs is elsewhere, under a name that only
// this agent has.
func JobFolder(h Host, u *User) string {
	if u == nil {
		return filepath.Join(h.StateDir, "work")
	}
	return OtherUserFolder(h)
}

func OtherUserFolder(h Host) string {
	sum := sha256.Sum256([]byte(h.StateDir))
	return filepath.Join(h.JobsDir, hex.EncodeToString(sum[:6]))
}

// MakeJobFolder makes the folder again with an empty tmp in it, both for the job's
// eyes only.
func MakeJobFolder(h Host, u *User) (folder string, err error) {
	folder = JobFolder(h, u)
	if err := RemoveFolder(folder); err != nil {
		return "", fmt.Errorf("remove the files of the previous job: %w", err)
	}
	if u != nil {
		if err := openJobsDir(h.JobsDir); err != nil {
			return "", err
		}
	}
	for _, path := range []string{folder, filepath.Join(folder, "tmp")} {
		err := os.MkdirAll(path, 0o700)
		if err == nil && u != nil {
			err = os.Chown(path, u.UID, u.GID)
		}
		if err != nil {
			return "", fmt.Errorf("make the job's folder: %w", err)
		}
	}
	return folder, nil
}

// openJobsDir makes the folder of the folders. Others may go through it, and not
// look around nor write.
func openJobsDir(path string) error {
	if err := os.MkdirAll(path, 0o711); err != nil {
		return fmt.Errorf("make the folder of jobs: %w", err)
	}
	info, err := os.Lstat(path)
	if err == nil && (!info.IsDir() || !ownedByAgent(info)) {
		return fmt.Errorf("the jobs folder %s is not a folder owned by the agent's user; remove it", path)
	}
	if err == nil {
		err = os.Chmod(path, 0o711)
	}
	if err != nil {
		return fmt.Errorf("make the folder of jobs: %w", err)
	}
	return nil
}

// sharedFolders are where everybody may leave files; queues of messages are files
// in the last one.
var sharedFolders = []string{"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue"}

// SweepUser removes what an isolated user left anywhere but in the job's folder.
// None of its processes may be left.
func SweepUser(h Host, uid int) error {
	return errors.Join(sweepShared(sharedFolders, uid), sweepKernel(h, uid))
}

// sweepShared removes what an isolated user left in folders that are everybody's.
func sweepShared(folders []string, uid int) error {
	var all error
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil && ownerOf(info) == uid {
				all = errors.Join(all, RemoveFolder(filepath.Join(folder, entry.Name())))
			}
		}
	}
	return all
}

// RemoveFolder removes a folder even where a job took away its own right to
// write in it, as module caches do.
func RemoveFolder(path string) error {
	if err := os.RemoveAll(path); err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
