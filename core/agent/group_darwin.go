package agent

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is the process group of a job. macOS has no sub-reaper: a process that
// leaves the group is not seen.
type group struct {
	leader int
}

func adoptOrphans() error { return nil }

// inNewGroup makes the command the leader of a process group of its own.
func inNewGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killWithGroup ends the command and whatever is still in its process group.
func killWithGroup(cmd *exec.Cmd) error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }

func newGroup(_ Config, cmd *exec.Cmd, _ string, _ *jobUser) (*group, error) {
	return &group{leader: cmd.Process.Pid}, nil
}

// members is the group's id while a process is in it.
func (g *group) members() ([]int, error) {
	if unix.Kill(-g.leader, 0) != nil {
		return nil, nil
	}
	return []int{g.leader}, nil
}

// signal asks (or, hard, forces) every process of the group to end.
func (g *group) signal(hard bool) error {
	s := unix.SIGTERM
	if hard {
		s = unix.SIGKILL
	}
	// EPERM is what macOS says of a group of zombies.
	if err := unix.Kill(-g.leader, s); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("signal process group %d: %w", g.leader, err)
	}
	return nil
}

func (g *group) close() {}

// endLeftover ends the process group of a job whose agent was killed. None
// left: true.
func endLeftover(r jobRecord) (bool, error) {
	started, _ := identify(r.PID)
	if r.PID == 0 || started != "" && started != r.Started {
		return true, nil
	}
	g := &group{leader: r.PID}
	if alive, _ := g.members(); len(alive) == 0 {
		return true, nil
	}
	return false, g.signal(true)
}

// identify tells the process from a later one with the same pid.
func identify(pid int) (started, boot string) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", ""
	}
	t := info.Proc.P_starttime
	return strconv.FormatInt(t.Sec, 10) + "." + strconv.FormatInt(int64(t.Usec), 10), ""
}
