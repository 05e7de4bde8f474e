package api

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUser is the uid of the process that connected, as of its connecting.
func peerUser(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		var credentials *unix.Ucred
		if credentials, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); failed == nil {
			uid = int(credentials.Uid)
		}
	})
	if err == nil {
		err = failed
	}
	return uid, err
}
