//go:build unix

package process

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// outputPipe reads what a plugin writes. When the read deadline has passed, what is in
// the pipe by then is still read: a busy host may come to it only afterwards, and these
// lines are the plugin's last.
type outputPipe struct{ file *os.File }

func (p outputPipe) Read(into []byte) (int, error) {
	n, err := p.file.Read(into)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	connection, failed := p.file.SyscallConn()
	if failed != nil {
		return 0, err
	}
	// Control is the one access that the deadline doesn't end. The pipe doesn't block.
	failed = connection.Control(func(descriptor uintptr) {
		if got, problem := syscall.Read(int(descriptor), into); problem == nil {
			n, err = got, nil
		}
	})
	if failed == nil && err == nil && n == 0 {
		return 0, io.EOF
	}
	return max(n, 0), err
}

func (p outputPipe) Close() error { return p.file.Close() }
