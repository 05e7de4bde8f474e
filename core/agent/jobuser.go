package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// jobUser is the OS user that jobs run as where it isn't the agent's own.
type jobUser struct {
	name     string // in the fleet file; empty: the agent's choice
	uid, gid int
	groups   []int // besides gid
	// isolated: this agent alone uses the user, whose processes gain no rights in
	// any way and don't reach the metadata addresses.
	isolated bool
	held     *lock // while the agent may use an isolated user; else nil
}

// jobDemand is what the manager says about the user of jobs.
type jobDemand struct {
	user     string // empty: the agent chooses
	isolated bool
}

func demandOf(d agentapi.Directive) jobDemand {
	return jobDemand{user: d.User, isolated: d.RequireIsolation}
}

func (u *jobUser) String() string {
	switch {
	case u == nil:
		return "the agent's own user"
	case u.name == "":
		return fmt.Sprintf("the user %d, which nothing else uses", u.uid)
	}
	return fmt.Sprintf("the user %s (%d)", u.name, u.uid)
}

// release lets other agents on this host use the user.
func (u *jobUser) release() {
	if u != nil && u.held != nil {
		u.held.release()
	}
}

// isolatedUID is the uid whose processes are all a job's; 0: no such.
func (u *jobUser) isolatedUID() int {
	if u == nil || !u.isolated {
		return 0
	}
	return u.uid
}

// jobFolder is where the job of such a user has its files. The agent's state
// folder is closed to other users, so theirs is elsewhere, under a name that only
// this agent has.
func jobFolder(c Config, u *jobUser) string {
	if u == nil {
		return filepath.Join(c.StateDir, "work")
	}
	return foreignFolder(c)
}

func foreignFolder(c Config) string {
	sum := sha256.Sum256([]byte(c.StateDir))
	return filepath.Join(c.JobsDir, hex.EncodeToString(sum[:6]))
}

// makeJobFolder makes the folder anew with an empty tmp in it, both for the job's
// eyes only.
func makeJobFolder(c Config, u *jobUser) (folder string, err error) {
	folder = jobFolder(c, u)
	if err := removeFolder(folder); err != nil {
		return "", fmt.Errorf("remove the files of the job before: %w", err)
	}
	if u != nil {
		if err := openJobsDir(c.JobsDir); err != nil {
			return "", err
		}
	}
	for _, path := range []string{folder, filepath.Join(folder, "tmp")} {
		err := os.MkdirAll(path, 0o700)
		if err == nil && u != nil {
			err = os.Chown(path, u.uid, u.gid)
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
		return fmt.Errorf("the folder of jobs %s isn't a folder of the agent's user; remove it", path)
	}
	if err == nil {
		err = os.Chmod(path, 0o711)
	}
	if err != nil {
		return fmt.Errorf("make the folder of jobs: %w", err)
	}
	return nil
}

// holdUID makes this agent the only one on the host that runs jobs as the uid.
// *AlreadyRunningError: another one does. Users are the host's, so the locks are in
// one place, wherever the agent's jobs have their folders.
func holdUID(uid int) (*lock, error) {
	if err := openJobsDir(DefaultJobsDir); err != nil {
		return nil, err
	}
	return takeLock(filepath.Join(DefaultJobsDir, strconv.Itoa(uid)+".lock"))
}

// sharedFolders are where everybody may leave files; queues of messages are files
// in the last one.
var sharedFolders = []string{"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue"}

// sweepUser removes what an isolated user left anywhere but in the job's folder.
// None of its processes may be left.
func sweepUser(c Config, uid int) error {
	return errors.Join(sweepShared(sharedFolders, uid), sweepKernel(c, uid))
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
				all = errors.Join(all, removeFolder(filepath.Join(folder, entry.Name())))
			}
		}
	}
	return all
}
