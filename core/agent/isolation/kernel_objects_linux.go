package isolation

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetKept removes what the kernel keeps for a user whose processes are all
// gone: the keys in its keyrings, and its memory, semaphores and queues of
// System V. The next job of the user would find them. This process is the user's.
func forgetKept(uid int) error {
	return errors.Join(forgetKeys(uid), forgetIPC(uid))
}

// forgetKeys empties the keyrings that a user has without a process. A job may
// have taken its own right to them away, which it could give back, and so can this.
func forgetKeys(uid int) error {
	rings := []int{unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING}
	// The persistent one is reached by a link in the session's, which ends with this.
	if id, err := unix.KeyctlInt(unix.KEYCTL_GET_PERSISTENT, uid, unix.KEY_SPEC_SESSION_KEYRING, 0, 0); err == nil {
		rings = append(rings, id)
	}
	const ownersAndPossessors = 0x3f3f0000 // everything
	var all error
	for _, ring := range rings {
		_ = unix.KeyctlSetperm(ring, ownersAndPossessors) // whether it can be cleared is what counts
		_, err := unix.KeyctlInt(unix.KEYCTL_CLEAR, ring, 0, 0, 0)
		switch {
		case err == nil, errors.Is(err, unix.ENOKEY), errors.Is(err, unix.EKEYREVOKED), errors.Is(err, unix.EKEYEXPIRED):
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			// No keyrings here, or a container that keeps them from everybody: from jobs, too.
		default:
			all = errors.Join(all, fmt.Errorf("empty the keyring %d: %w", ring, err))
		}
	}
	return all
}

// forgetIPC removes what /proc/sysvipc lists as owned or made by the user.
func forgetIPC(uid int) error {
	var all error
	for _, kind := range []struct {
		file   string
		remove func(id uintptr) unix.Errno
	}{
		{"shm", func(id uintptr) unix.Errno { return ipcCall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0) }},
		{"sem", func(id uintptr) unix.Errno { return ipcCall(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID) }},
		{"msg", func(id uintptr) unix.Errno { return ipcCall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0) }},
	} {
		text, err := os.ReadFile("/proc/sysvipc/" + kind.file)
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without it
		}
		all = errors.Join(all, err)
		for _, id := range ipcOf(string(text), uid) {
			if no := kind.remove(uintptr(id)); no != 0 && no != unix.EINVAL && no != unix.EIDRM { // those: it is gone
				all = errors.Join(all, fmt.Errorf("remove the %s %d: %w", kind.file, id, no))
			}
		}
	}
	return all
}

func ipcCall(call, id, second, third uintptr) unix.Errno {
	_, _, no := unix.Syscall6(call, id, second, third, 0, 0, 0)
	return no
}

// ipcOf are the ids of what the user owns or has made in a list of /proc/sysvipc,
// whose first line names its columns. Who made a thing may have given it away.
func ipcOf(list string, uid int) (ids []int) {
	lines := strings.Split(list, "\n")
	columns := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		fields := strings.Fields(line)
		if len(fields) != len(columns) {
			continue
		}
		id, own := -1, false
		for n, column := range columns {
			value, err := strconv.Atoi(fields[n])
			switch {
			case err != nil:
			case column == "shmid" || column == "semid" || column == "msqid":
				id = value
			case column == "uid" || column == "cuid":
				own = own || value == uid
			}
		}
		if own && id >= 0 {
			ids = append(ids, id)
		}
	}
	return ids
}
