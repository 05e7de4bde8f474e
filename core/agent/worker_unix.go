//go:build unix

package agent

import (
	"errors"
	"os"
	"syscall"
)

// askToEnd asks one process to end; one that has ended is no error.
func askToEnd(p *os.Process) error {
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
