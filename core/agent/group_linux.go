package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is the processes of a job: its first process, everything below it, and
// every orphan that this program inherited as their sub-reaper. A process can
// leave its process group and its session, but not its ancestry. Of an isolated
// job it is also every process of its user, whoever started it.
type group struct {
	leader int
	mark   string
	uid    int          // the isolated job's; 0: none
	endAll func() error // ends every process of uid
}

// adoptOrphans makes this program the parent of processes whose own parent ends.
func adoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// inNewGroup makes the command the leader of a process group of its own.
func inNewGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killWithGroup ends the command and whatever is still in its process group.
func killWithGroup(cmd *exec.Cmd) error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }

func newGroup(c Config, cmd *exec.Cmd, mark string, u *jobUser) (*group, error) {
	return &group{leader: cmd.Process.Pid, mark: mark, uid: u.isolatedUID(), endAll: func() error { return u.endAll(c) }}, nil
}

// members lists the job's processes. It reaps those that ended and are ours.
func (g *group) members() ([]int, error) {
	alive, err := g.list()
	pids := make([]int, len(alive))
	for i, p := range alive {
		pids[i] = p.pid
	}
	return pids, err
}

func (g *group) list() ([]process, error) {
	children.mu.Lock()
	defer children.mu.Unlock()
	all, err := processes()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	var roots []process
	for _, p := range all {
		switch {
		case p.pid == g.leader && p.parent == self:
			roots = append(roots, p)
		case g.uid != 0 && !p.zombie && !children.known[p.pid] && p.hasUID(g.uid):
			roots = append(roots, p)
		case p.parent != self || children.known[p.pid]:
		case p.zombie:
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		case !g.ofAnotherJob(p):
			roots = append(roots, p)
		}
	}
	var alive []process
	for _, p := range withDescendants(all, roots) {
		if !p.zombie {
			alive = append(alive, p)
		}
	}
	return alive, nil
}

// ofAnotherJob is for programs that run more than one agent: an orphan that
// carries another job's mark isn't ours.
func (g *group) ofAnotherJob(p process) bool {
	mark, has := p.mark()
	return has && mark != g.mark
}

// signal asks (or, hard, forces) every process of the job to end.
func (g *group) signal(hard bool) error {
	alive, err := g.list()
	if hard && g.uid != 0 && len(alive) > 0 {
		err = errors.Join(err, g.endAll())
	}
	for _, p := range alive {
		err = errors.Join(err, p.signal(signalFor(hard)))
	}
	return err
}

func signalFor(hard bool) unix.Signal {
	if hard {
		return unix.SIGKILL
	}
	return unix.SIGTERM
}

func (g *group) close() {}

// endLeftover ends what a job left behind when its agent was killed: processes
// that carry the job's mark, those of its process group, those of an isolated
// job's user, and all below them. None left: true.
func endLeftover(r jobRecord) (bool, error) {
	if r.Boot != "" && r.Boot != bootID() {
		return true, nil // the host was started anew since
	}
	all, err := processes()
	if err != nil {
		return false, err
	}
	ownsUID := false
	if r.UID != 0 {
		held, err := holdUID(r.UID)
		if err == nil {
			ownsUID = true
			defer held.release()
		} else if !errors.As(err, new(*AlreadyRunningError)) { // else the user is another agent's by now
			return false, err
		}
	}
	leaderIsOurs := true // also when it has ended: its group keeps its id taken
	for _, p := range all {
		if p.pid == r.PID {
			leaderIsOurs = p.started == r.Started
		}
	}
	var roots []process
	for _, p := range all {
		mark, _ := p.mark()
		if p.pid != os.Getpid() && (mark == r.Mark || r.PID != 0 && p.group == r.PID && leaderIsOurs || ownsUID && p.hasUID(r.UID)) {
			roots = append(roots, p)
		}
	}
	left := false
	for _, p := range withDescendants(all, roots) {
		if p.zombie {
			continue
		}
		left = true
		err = errors.Join(err, p.signal(unix.SIGKILL))
	}
	return !left, err
}

// identify tells the process from a later one with the same pid.
func identify(pid int) (started, boot string) {
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
func (p process) signal(s unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) {
		err = unix.Kill(p.pid, s)
	} else if err == nil {
		defer unix.Close(fd)
		if again, gone := readProcess(p.pid); gone != nil || again.started != p.started {
			return nil
		}
		err = unix.PidfdSendSignal(fd, s, nil, 0)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal process %d: %w", p.pid, err)
	}
	return nil
}
