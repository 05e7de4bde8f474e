//go:build linux || darwin

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// condition is what the directory says of its agent.
type condition struct {
	state provider.State
	// pid is the agent's where it holds the lock; else 0.
	pid int
	// begun: an agent was started here, so none is started again.
	begun bool
}

// condition looks at the lock, at the process that was started, and at the mark
// of a removal.
//
// The lock is probed only once a pid is written in it. A probe holds the lock
// for a moment, and an agent that came for it just then would take itself for a
// second one and end. An agent that has written its pid has the lock already.
func (d directory) condition() (condition, error) {
	pid, err := d.lockPID()
	if err != nil {
		return condition{}, err
	}
	process, recorded, err := d.started()
	if err != nil {
		return condition{}, err
	}
	seen := condition{state: provider.Pending, begun: recorded || pid != 0}
	switch {
	case pid != 0:
		held, err := d.lockHeld()
		if err != nil {
			return condition{}, err
		}
		seen.state = provider.Stopped
		if held {
			seen.state, seen.pid = provider.Running, pid
		}
	case recorded && !process.alive():
		seen.state = provider.Stopped // it ended before it had the lock
	}
	if d.isTerminating() {
		seen.state = provider.Stopping
	}
	return seen, nil
}

// lockHeld says whether an agent holds the lock.
func (d directory) lockHeld() (bool, error) {
	file, err := os.Open(d.path(lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close() // which gives the lock back
	switch err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case err == nil:
		return false, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	default:
		return false, fmt.Errorf("look at the lock %s: %w", file.Name(), err)
	}
}
