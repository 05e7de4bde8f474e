package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The uids that the agent chooses from where the fleet names no user. Neither
// Debian nor systemd gives these to anybody, and a host whose ids end at 65535, as
// in many containers, has them too.
const (
	firstJobUID = 60600
	lastJobUID  = 61183
)

// isolatedUser finds a user for isolated jobs and holds it: the named one, or one
// that nobody on this host is.
func isolatedUser(c Config, name string) (*jobUser, error) {
	switch {
	case os.Geteuid() != 0:
		return nil, errors.New("the agent doesn't run as root, and so can't run jobs as another user")
	case len(c.Helper) == 0:
		return nil, errors.New("this program has no helper that starts jobs")
	}
	if name != "" {
		u, err := lookUpUser(name)
		switch {
		case err != nil:
			return nil, err
		case u.uid == 0 || u.gid == 0:
			return nil, fmt.Errorf("runner.user %s has the rights of root; name another user", name)
		}
		u.groups = nil // docker's, for one, is as good as root
		return u, u.hold()
	}
	for uid := firstJobUID; uid <= lastJobUID; uid++ {
		if taken(uid) {
			continue
		}
		u := &jobUser{uid: uid, gid: uid}
		if err := u.hold(); err == nil {
			return u, nil
		} else if !errors.As(err, new(*userInUseError)) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("every uid from %d to %d is in use on this host; name a user by runner.user", firstJobUID, lastJobUID)
}

// taken says that the host knows a user or a group by the id.
func taken(id int) bool {
	_, noUser := user.LookupId(strconv.Itoa(id))
	_, noGroup := user.LookupGroupId(strconv.Itoa(id))
	return noUser == nil || noGroup == nil
}

// userInUseError says that a user isn't this agent's alone.
type userInUseError struct{ text string }

func (e *userInUseError) Error() string { return e.text }

// hold makes the user this agent's alone: after a job every process of it is
// ended, so none may be there before the first.
func (u *jobUser) hold() error {
	held, err := holdUID(u.uid)
	if errors.As(err, new(*AlreadyRunningError)) {
		return &userInUseError{fmt.Sprintf("another agent on this host runs jobs as %v", u)}
	}
	if err != nil {
		return err
	}
	all, err := processes()
	if err == nil {
		for _, p := range all {
			if p.hasUID(u.uid) {
				err = &userInUseError{fmt.Sprintf("process %d of %v is no job's; jobs need a user of their own", p.pid, u)}
				break
			}
		}
	}
	if err == nil && u.name == "" {
		err = clearUID(u.uid)
	}
	if err != nil {
		held.release()
		return err
	}
	u.isolated, u.held = true, held
	return nil
}

// clearUID removes what jobs of a dead agent left under a number that no user has:
// whoever runs jobs by it next must not read them.
func clearUID(uid int) error {
	err := sweepShared(sharedFolders, uid)
	entries, readErr := os.ReadDir(DefaultJobsDir)
	err = errors.Join(err, readErr)
	for _, entry := range entries {
		if info, statErr := entry.Info(); statErr == nil && info.IsDir() && ownerOf(info) == uid {
			err = errors.Join(err, removeFolder(filepath.Join(DefaultJobsDir, entry.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("remove what earlier jobs of the user %d left: %w", uid, err)
	}
	return nil
}

// command starts the program by the helper, which gives up every right on its way.
func (u *jobUser) command(c Config, argv []string) *exec.Cmd {
	return u.helper(c, helperRun, argv...)
}

func (u *jobUser) helper(c Config, does string, argv ...string) *exec.Cmd {
	line := append([]string{}, c.Helper...)
	line = append(line, does, strconv.Itoa(u.uid), strconv.Itoa(u.gid))
	line = append(line, argv...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// endAll ends every process of the user in one stroke: listing and ending them one
// by one would never be done with a job that forks faster.
func (u *jobUser) endAll(c Config) error {
	cmd := u.helper(c, helperEnd)
	cmd.Env = []string{}
	_, err := runHelper(context.Background(), cmd)
	return err
}

// sweepKernel removes what a user left in the kernel, where no folder shows it.
func sweepKernel(c Config, uid int) error {
	u := &jobUser{uid: uid, gid: uid} // nothing there asks for the group
	cmd := u.helper(c, helperSweep)
	cmd.Env = []string{}
	if _, err := runHelper(context.Background(), cmd); err != nil {
		return fmt.Errorf("remove what %v left in the kernel: %w", u, err)
	}
	return nil
}

// helperTime bounds what the helper does besides running a job.
const helperTime = 5 * time.Second

func runHelper(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	if err := children.start(cmd); err != nil {
		return nil, fmt.Errorf("start the helper: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	if err := children.wait(cmd); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

// prove keeps the user from the metadata addresses and shows that it is isolated.
func (u *jobUser) prove(ctx context.Context, c Config) (evidence string, err error) {
	blocked := blockMetadata(u.uid) // the probe shows whether it works
	evidence, err = u.probe(ctx, c)
	if err != nil && blocked != nil {
		err = fmt.Errorf("%w (%w)", err, blocked)
	}
	return evidence, err
}

// probe has a process with a job's credentials, environment and folder try what a
// job must not be able to.
func (u *jobUser) probe(ctx context.Context, c Config) (evidence string, err error) {
	folder, err := makeJobFolder(c, u)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, removeFolder(folder)) }()
	cmd := u.helper(c, helperProbe)
	cmd.Dir, cmd.Env = folder, environment(c.Path, folder, filepath.Join(folder, "tmp"), nil)
	request, err := json.Marshal(probeRequestFor(c))
	if err != nil {
		return "", fmt.Errorf("write what is to be probed: %w", err)
	}
	cmd.Stdin = bytes.NewReader(request)
	answer, err := runHelper(ctx, cmd)
	if err != nil {
		return "", fmt.Errorf("probe as %v: %w", u, err)
	}
	var found probeAnswer
	if err := json.Unmarshal(answer, &found); err != nil {
		return "", fmt.Errorf("probe as %v: read its answer: %w", u, err)
	}
	if len(found.Open) == 0 {
		return fmt.Sprintf("isolated: jobs run as %v; %d files and %d metadata addresses were tried and are closed to it", u, found.Tried, found.Dialled), nil
	}
	return "", fmt.Errorf("as %v a job %s", u, strings.Join(found.Open, ", "))
}
