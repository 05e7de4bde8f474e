//go:build unix

package isolation

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

func ownerOf(info os.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

func ownedByAgent(info os.FileInfo) bool { return ownerOf(info) == os.Geteuid() }

// lookUpUser finds a user of this host. Only files are read for it: the agent is
// a static program.
func lookUpUser(name string) (*User, error) {
	account, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("runner.user: this host has no user %q: %w", name, err)
	}
	u := &User{Name: name}
	u.UID, err = strconv.Atoi(account.Uid)
	if err == nil {
		u.GID, err = strconv.Atoi(account.Gid)
	}
	if err != nil {
		return nil, fmt.Errorf("read the ids of the user %s: %w", name, err)
	}
	groups, err := account.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("find the groups of the user %s: %w", name, err)
	}
	for _, group := range groups {
		if id, err := strconv.Atoi(group); err == nil && id != u.GID {
			u.Groups = append(u.Groups, id)
		}
	}
	return u, nil
}

// loginUser is a user as it is everywhere on the host, with its groups and
// whatever it may do with sudo. That isn't isolation. nil: the agent's own.
func loginUser(name string) (*User, error) {
	if name == "" {
		return nil, nil
	}
	u, err := lookUpUser(name)
	switch {
	case err != nil:
		return nil, err
	case u.UID == os.Geteuid():
		return nil, nil
	case os.Geteuid() != 0:
		return nil, errors.New("runner.user is not the agent's user, which requires an agent that runs as root")
	}
	return u, nil
}

// become makes the command a process of the user, in a session of its own.
func (u *User) become(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Credential: &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)},
	}
	for _, group := range u.Groups {
		cmd.SysProcAttr.Credential.Groups = append(cmd.SysProcAttr.Credential.Groups, uint32(group))
	}
}
