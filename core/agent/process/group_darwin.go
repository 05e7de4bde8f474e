package process

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Group is the process group of a job. macOS has no sub-reaper: a process that
// leaves the group is not seen.
type Group struct {
	leader int
}

// AdoptOrphans does nothing: macOS has no sub-reaper.
func AdoptOrphans() error { return nil }

// InNewGroup makes the command the leader of a process group of its own.
func InNewGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// KillGroup ends the command and whatever is still in its process group.
func KillGroup(cmd *exec.Cmd) error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }

// NewGroup is the group of a command that was started as the first process of a job.
func NewGroup(cmd *exec.Cmd, _ Job) (*Group, error) {
	return &Group{leader: cmd.Process.Pid}, nil
}

// Members is the group's id while a process is in it.
func (g *Group) Members() ([]int, error) {
	if unix.Kill(-g.leader, 0) != nil {
		return nil, nil
	}
	return []int{g.leader}, nil
}

// Signal asks (or, force, forces) every process of the group to end.
func (g *Group) Signal(force bool) error {
	s := unix.SIGTERM
	if force {
		s = unix.SIGKILL
	}
	// EPERM is what macOS says of a group of zombies.
	if err := unix.Kill(-g.leader, s); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("signal process group %d: %w", g.leader, err)
	}
	return nil
}

// Close releases what the system holds for the group; here nothing.
func (g *Group) Close() {}

// EndJobProcesses ends the process group of a job whose agent was killed. None
// left: true.
func EndJobProcesses(r JobProcesses, _ HoldUser) (bool, error) {
	started, _ := Identify(r.PID)
	if r.PID == 0 || started != "" && started != r.Started {
		return true, nil
	}
	g := &Group{leader: r.PID}
	if alive, _ := g.Members(); len(alive) == 0 {
		return true, nil
	}
	return false, g.Signal(true)
}

// Identify tells the process from a later one with the same pid.
func Identify(pid int) (started, boot string) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", ""
	}
	t := info.Proc.P_starttime
	return strconv.FormatInt(t.Sec, 10) + "." + strconv.FormatInt(int64(t.Usec), 10), ""
}
