//go:build !linux

package agent

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"runtime"
)

var errNotSupported = errors.New("not supported on " + runtime.GOOS)

func isolatedUser(Config, string) (*jobUser, error) { return nil, errNotSupported }

func (u *jobUser) prove(context.Context, Config) (string, error) { return "", errNotSupported }

func (u *jobUser) command(_ Config, argv []string) *exec.Cmd {
	return exec.Command(argv[0], argv[1:]...)
}

func sweepKernel(Config, int) error { return errNotSupported }

// AsJob is how an isolated job starts, where that is supported.
func AsJob(_ []string, _ io.Reader, _, errs io.Writer) int {
	_, _ = io.WriteString(errs, errNotSupported.Error()+"\n")
	return 1
}
