//go:build unix

package process

import (
	"errors"
	"os"
	"syscall"
)

// Terminate asks one process to end; one that has ended isn't an error.
func Terminate(p *os.Process) error {
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
