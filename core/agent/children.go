package agent

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

// start starts the command as a known child.
func (r *childRegistry) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	r.known[cmd.Process.Pid] = true
	return nil
}

// wait waits for a command that start started.
func (r *childRegistry) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, cmd.Process.Pid)
	return err
}
