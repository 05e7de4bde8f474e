package process

import (
	"os/exec"
	"sync"
)

// children are the processes that this program starts and waits for itself.
// Whatever else turns up as its child was left behind by a job.
//
// It is one value for the whole process, since parenthood is.
var children = childRegistry{known: map[int]bool{}}

type childRegistry struct {
	// mu is held while a process is started and while processes are listed, so
	// that no list has a child that isn't known yet.
	mu    sync.Mutex
	known map[int]bool
}

// Start starts the command as a child that this program waits for by Wait. Other
// children are taken for a job's.
func Start(cmd *exec.Cmd) error {
	children.mu.Lock()
	defer children.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	children.known[cmd.Process.Pid] = true
	return nil
}

// Wait waits for a command that Start started.
func Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	children.mu.Lock()
	defer children.mu.Unlock()
	delete(children.known, cmd.Process.Pid)
	return err
}
