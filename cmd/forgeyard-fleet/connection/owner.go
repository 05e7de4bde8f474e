package connection

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
)

// ofAnotherUser explains that a state directory can't be opened because it belongs to
// another user. Other errors stay as they are.
func ofAnotherUser(state string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	owner, found := stateOwner(state)
	if !found || owner == fmt.Sprint(os.Getuid()) {
		return err
	}
	name := owner
	if u, unknown := user.LookupId(owner); unknown == nil {
		name = u.Username
	}
	return fmt.Errorf(
		"the state directory %s belongs to user %s: %w. Run the command as that user with sudo -u %[2]s, or name the "+
			"running manager with --server",
		state,
		name,
		err,
	)
}

// stateOwner is the numeric id of the user who owns the directory, or the nearest parent
// that may be looked at.
func stateOwner(dir string) (uid string, found bool) {
	for {
		info, err := os.Stat(dir)
		if err == nil {
			return ownerOf(info)
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrPermission) || parent == dir {
			return "", false
		}
		dir = parent
	}
}
