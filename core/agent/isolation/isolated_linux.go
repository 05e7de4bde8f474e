package isolation

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

	"github.com/forgeyard/forgeyard-fleet/core/agent/lockfile"
	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
)

// The uids that the agent chooses from where the fleet names no user. Neither
// Debian nor systemd gives these to anybody, and a host whose ids end at 65535, as
// in many containers, has them too.
const (
	FirstUID = 60600
	LastUID  = 61183
)

// IsolatedUser finds a user for isolated jobs and holds it: the named one, or one
// that no user of this host has.
func IsolatedUser(h Host, name string) (*User, error) {
	switch {
	case os.Geteuid() != 0:
		return nil, errors.New("the agent does not run as root, so it can't run jobs as another user")
	case len(h.Helper) == 0:
		return nil, errors.New("no helper to start jobs is configured")
	}
	if name != "" {
		u, err := lookUpUser(name)
		switch {
		case err != nil:
			return nil, err
		case u.UID == 0 || u.GID == 0:
			return nil, fmt.Errorf("runner.user %s has the rights of root; use another user", name)
		}
		u.Groups = nil // docker's, for one, is as good as root
		return u, u.hold()
	}
	for uid := FirstUID; uid <= LastUID; uid++ {
		if taken(uid) {
			continue
		}
		u := &User{UID: uid, GID: uid}
		if err := u.hold(); err == nil {
			return u, nil
		} else if !errors.As(err, new(*userInUseError)) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("every uid from %d to %d is in use on this host; set runner.user", FirstUID, LastUID)
}

// taken says that the host knows a user or a group by the id.
func taken(id int) bool {
	_, noUser := user.LookupId(strconv.Itoa(id))
	_, noGroup := user.LookupGroupId(strconv.Itoa(id))
	return noUser == nil || noGroup == nil
}

// userInUseError says that something else uses a user, too.
type userInUseError struct{ text string }

func (e *userInUseError) Error() string { return e.text }

// hold gives the user to this agent only: after a job every process of it is
// ended, so none may be there before the first.
func (u *User) hold() error {
	held, err := HoldUID(u.UID)
	if errors.As(err, new(*lockfile.HeldError)) {
		return &userInUseError{fmt.Sprintf("another agent on this host runs jobs as %v", u)}
	}
	if err != nil {
		return err
	}
	all, err := process.List()
	if err == nil {
		for _, p := range all {
			if p.HasUID(u.UID) {
				err = &userInUseError{
					fmt.Sprintf("process %d of %v was not started by a job; jobs need a user of their own", p.PID, u),
				}
				break
			}
		}
	}
	if err == nil && u.Name == "" {
		err = clearUID(u.UID)
	}
	if err != nil {
		held.Release()
		return err
	}
	u.isolated, u.held = true, held
	return nil
}

// clearUID removes what jobs of a dead agent left under a number that no user has:
// the next user of it must not read them.
func clearUID(uid int) error {
	err := sweepShared(sharedFolders, uid)
	entries, readErr := os.ReadDir(DefaultJobsDir)
	err = errors.Join(err, readErr)
	for _, entry := range entries {
		if info, statErr := entry.Info(); statErr == nil && info.IsDir() && ownerOf(info) == uid {
			err = errors.Join(err, RemoveFolder(filepath.Join(DefaultJobsDir, entry.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("remove what earlier jobs of the user %d left: %w", uid, err)
	}
	return nil
}

// helper starts this program again as root, to become the user and do something.
func (u *User) helper(h Host, does string, argv ...string) *exec.Cmd {
	line := append([]string{}, h.Helper...)
	line = append(line, does, strconv.Itoa(u.UID), strconv.Itoa(u.GID))
	line = append(line, argv...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// EndAll ends every process of the user in one stroke: listing and ending them one
// by one would never be done with a job that forks faster.
func (u *User) EndAll(h Host) error {
	cmd := u.helper(h, helperEnd)
	cmd.Env = []string{}
	_, err := runHelper(context.Background(), cmd)
	return err
}

// sweepKernel removes what a user left in the kernel, where no folder shows it.
func sweepKernel(h Host, uid int) error {
	u := &User{UID: uid, GID: uid} // nothing there asks for the group
	cmd := u.helper(h, helperSweep)
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
	if err := process.Start(cmd); err != nil {
		return nil, fmt.Errorf("start the helper: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	if err := process.Wait(cmd); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

// Prove keeps the user from the metadata addresses and shows that it is isolated.
func (u *User) Prove(ctx context.Context, h Host) (evidence string, err error) {
	blocked := BlockMetadata(u.UID) // the probe shows whether it works
	evidence, err = u.Probe(ctx, h)
	if err != nil && blocked != nil {
		err = fmt.Errorf("%w (%w)", err, blocked)
	}
	return evidence, err
}

// Probe has a process with a job's credentials, environment and folder try what a
// job must not be able to.
func (u *User) Probe(ctx context.Context, h Host) (evidence string, err error) {
	folder, err := MakeJobFolder(h, u)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, RemoveFolder(folder)) }()
	cmd := u.helper(h, helperProbe)
	cmd.Dir, cmd.Env = folder, Environment(h.Path, folder, filepath.Join(folder, "tmp"), nil)
	request, err := json.Marshal(probeRequestFor(h))
	if err != nil {
		return "", fmt.Errorf("write the probe request: %w", err)
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
		return fmt.Sprintf(
			"isolated: jobs run as %v; %d files and %d metadata addresses were tried and are not accessible",
			u,
			found.Tried,
			found.Dialled,
		), nil
	}
	return "", fmt.Errorf("a job as %v: %s", u, strings.Join(found.Open, ", "))
}
