//go:build unix

package worker

import (
	"os/exec"
	"syscall"
)

// How a job's group is signalled.
const (
	ask  = syscall.SIGTERM
	kill = syscall.SIGKILL
)

// sharedHomeVariables is how many of the variables for a job's folders this
// system has.
const sharedHomeVariables = 2

func inNewGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signal signals every process of the job's group; one that is gone already is no
// error.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.pid(), s) }

// signalCheckpoint tells only the job's first process: a shell's children, which
// don't handle the signal, would be ended by it.
func (p *process) signalCheckpoint() error { return p.cmd.Process.Signal(syscall.SIGUSR1) }

// wasAsked says that SIGTERM ended the job.
func (p *process) wasAsked() bool {
	status, known := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return known && status.Signaled() && status.Signal() == syscall.SIGTERM
}
