//go:build !windows

package provider

import "golang.org/x/sys/unix"

// closeOnExec fails where the descriptor isn't open.
func closeOnExec(descriptor int) error {
	flags, err := unix.FcntlInt(uintptr(descriptor), unix.F_GETFD, 0)
	if err != nil {
		return err
	}
	_, err = unix.FcntlInt(uintptr(descriptor), unix.F_SETFD, flags|unix.FD_CLOEXEC)
	return err
}
