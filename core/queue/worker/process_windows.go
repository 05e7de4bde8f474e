package worker

import (
	"errors"
	"os/exec"
	"syscall"
)

// signalKind is how a job is signalled.
type signalKind int

const (
	ask signalKind = iota
	kill
)

// sharedHomeVariables is how many of the variables for a job's folders this
// system has.
const sharedHomeVariables = 5

// inNewGroup keeps the console events that are meant for the worker from its
// jobs.
func inNewGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// signal ends the job's first process by force: there is no polite way that all
// programs understand. What that one started ends with the worker, by the agent's
// job object.
func (p *process) signal(s signalKind) {
	if s == kill {
		_ = p.cmd.Process.Kill()
	}
}

func (p *process) signalCheckpoint() error {
	return errors.New("Windows has no such signal; the notice is only in the file")
}

func (p *process) wasAsked() bool { return false }
