//go:build !linux

package isolation

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"runtime"
)

var errNotSupported = errors.New("not supported on " + runtime.GOOS)

// IsolatedUser is for Linux.
func IsolatedUser(Host, string) (*User, error) { return nil, errNotSupported }

// Prove is for Linux.
func (u *User) Prove(context.Context, Host) (string, error) { return "", errNotSupported }

const helperRun = ""

func (u *User) helper(_ Host, _ string, argv ...string) *exec.Cmd {
	return exec.Command(argv[0], argv[1:]...)
}

// EndAll is for Linux.
func (u *User) EndAll(Host) error { return errNotSupported }

func sweepKernel(Host, int) error { return errNotSupported }

// AsJob is how an isolated job starts, where that is supported.
func AsJob(_ []string, _ io.Reader, _, errs io.Writer) int {
	_, _ = io.WriteString(errs, errNotSupported.Error()+"\n")
	return 1
}
