package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// checkDirectory checks nothing on Linux: the open file is what gets executed, even
// if others may change the directory.
func checkDirectory(string) error { return nil }

// prepareExec returns the path that executes the open file itself and the lock
// file moved to a higher descriptor than it. Between fork and exec the child
// renumbers descriptors from the highest passed one upwards; the executable's
// must lie below that and above those that the plugin is given.
func prepareExec(file, lock *os.File) (path string, executable, higherLock *os.File, err error) {
	executable, err = duplicate(file, LockFD+1)
	if err != nil {
		return "", nil, nil, err
	}
	higherLock, err = duplicate(lock, int(executable.Fd())+1)
	if err != nil {
		executable.Close()
		return "", nil, nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d", executable.Fd()), executable, higherLock, nil
}

func duplicate(file *os.File, atLeast int) (*os.File, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, atLeast)
	if err != nil {
		return nil, fmt.Errorf("duplicate the descriptor of %s: %w", file.Name(), err)
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}
