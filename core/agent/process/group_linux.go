package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Group is the processes of a job: its first process, everything below it, and
// every orphan that this program inherited as their sub-reaper. A process can
// leave its process group and its session, but not its ancestry. Of an isolated
// job it is also every process of its user, whatever started it.
type Group struct {
	leader int
	job    Job
}

// AdoptOrphans makes this program the parent of processes whose own parent ends.
func AdoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// InNewGroup makes the command the leader of a process group of its own.
func InNewGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// KillGroup ends the command and whatever is still in its process group.
func KillGroup(cmd *exec.Cmd) error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }

// NewGroup is the group of a command that was started as the first process of a job.
func NewGroup(cmd *exec.Cmd, job Job) (*Group, error) {
	return &Group{leader: cmd.Process.Pid, job: job}, nil
}

// Members lists the job's processes. It reaps those that ended and are ours.
func (g *Group) Members() ([]int, error) {
	alive, err := g.list()
	pids := make([]int, len(alive))
	for i, p := range alive {
		pids[i] = p.PID
	}
	return pids, err
}

func (g *Group) list() ([]Process, error) {
	children.mu.Lock()
	defer children.mu.Unlock()
	all, err := List()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	var roots []Process
	for _, p := range all {
		switch {
		case p.PID == g.leader && p.parent == self:
			roots = append(roots, p)
		case g.job.UID != 0 && !p.Zombie && !children.known[p.PID] && p.HasUID(g.job.UID):
			roots = append(roots, p)
		case p.parent != self || children.known[p.PID]:
		case p.Zombie:
			_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil)
		case !g.ofAnotherJob(p):
			roots = append(roots, p)
		}
	}
	var alive []Process
	for _, p := range withDescendants(all, roots) {
		if !p.Zombie {
			alive = append(alive, p)
		}
	}
	return alive, nil
}

// ofAnotherJob is for programs that run more than one agent: an orphan that
// carries another job's mark isn't ours.
func (g *Group) ofAnotherJob(p Process) bool {
	mark, has := p.mark()
	return has && mark != g.job.Mark
}

// Signal asks (or, force, forces) every process of the job to end.
func (g *Group) Signal(force bool) error {
	alive, err := g.list()
	if force && g.job.UID != 0 && len(alive) > 0 {
		err = errors.Join(err, g.job.EndAll())
	}
	for _, p := range alive {
		err = errors.Join(err, p.signal(signalFor(force)))
	}
	return err
}

func signalFor(force bool) unix.Signal {
	if force {
		return unix.SIGKILL
	}
	return unix.SIGTERM
}

// Close releases what the system holds for the group; here nothing.
func (g *Group) Close() {}

// EndJobProcesses ends what a job left behind when its agent was killed: processes
// that carry the job's mark, those of its process group, those of an isolated
// job's user, and all below them. None left: true.
func EndJobProcesses(r JobProcesses, hold HoldUser) (bool, error) {
	if r.Boot != "" && r.Boot != bootID() {
		return true, nil // the host was restarted since
	}
	all, err := List()
	if err != nil {
		return false, err
	}
	ownsUID := false
	if r.UID != 0 {
		release, held, err := hold(r.UID)
		if err != nil {
			return false, err
		}
		if ownsUID = held; held {
			defer release()
		}
	}
	leaderIsOurs := true // also when it has ended: its group keeps its id taken
	for _, p := range all {
		if p.PID == r.PID {
			leaderIsOurs = p.started == r.Started
		}
	}
	var roots []Process
	for _, p := range all {
		mark, _ := p.mark()
		if p.PID != os.Getpid() &&
			(mark == r.Mark || r.PID != 0 && p.group == r.PID && leaderIsOurs || ownsUID && p.HasUID(r.UID)) {
			roots = append(roots, p)
		}
	}
	left := false
	for _, p := range withDescendants(all, roots) {
		if p.Zombie {
			continue
		}
		left = true
		err = errors.Join(err, p.signal(unix.SIGKILL))
	}
	return !left, err
}

// Identify tells the process from a later one with the same pid.
func Identify(pid int) (started, boot string) {
	p, err := readProcess(pid)
	if err != nil {
		return "", ""
	}
	return p.started, bootID()
}

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// signal sends to this very process, even if its pid is somebody else's by now.
func (p Process) signal(s unix.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ENOSYS) {
		err = unix.Kill(p.PID, s)
	} else if err == nil {
		defer unix.Close(fd)
		if again, gone := readProcess(p.PID); gone != nil || again.started != p.started {
			return nil
		}
		err = unix.PidfdSendSignal(fd, s, nil, 0)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal process %d: %w", p.PID, err)
	}
	return nil
}
