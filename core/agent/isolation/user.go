package isolation

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/forgeyard/forgeyard-fleet/core/agent/lockfile"
)

// User is the OS user that jobs run as where it isn't the agent's own.
type User struct {
	Name     string // in the fleet file; empty: the agent's choice
	UID, GID int
	Groups   []int // besides gid
	// isolated: only this agent uses the user, whose processes gain no rights in
	// any way and don't reach the metadata addresses.
	isolated bool
	held     *lockfile.Lock // while the agent may use an isolated user; else nil
}

func (u *User) String() string {
	switch {
	case u == nil:
		return "the agent's own user"
	case u.Name == "":
		return fmt.Sprintf("user %d, which nothing else uses", u.UID)
	}
	return fmt.Sprintf("the user %s (%d)", u.Name, u.UID)
}

// Release lets other agents on this host use the user.
func (u *User) Release() {
	if u != nil && u.held != nil {
		u.held.Release()
		u.held = nil
	}
}

// IsolatedUID is the uid whose processes are all a job's; 0: no such.
func (u *User) IsolatedUID() int {
	if u == nil || !u.isolated {
		return 0
	}
	return u.UID
}

// HoldUID makes this agent the only one on the host that runs jobs as the uid.
// *lockfile.HeldError: another one does. Users are the host's, so the locks are in
// one place, wherever the agent's jobs have their folders.
func HoldUID(uid int) (*lockfile.Lock, error) {
	if err := openJobsDir(DefaultJobsDir); err != nil {
		return nil, err
	}
	return lockfile.Take(filepath.Join(DefaultJobsDir, strconv.Itoa(uid)+".lock"))
}
