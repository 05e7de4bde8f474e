package lockfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// HeldError says that another agent holds the lock file. It is the normal end of a
// second start.
type HeldError struct {
	LockFile string
	PID      string // as the other one wrote it; may be empty
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("an agent (pid %s) is already running here and holds %s", e.PID, e.LockFile)
}

// errHeld says that another process has the lock.
var errHeld = errors.New("the lock is held")

// Lock is held until the process ends, however it ends.
type Lock struct {
	file *os.File
}

// Take locks the file and writes the pid into it. The lock means that the agent runs;
// the content is for people. *HeldError: another process has the lock.
func Take(path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the lock file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock file: %w", err)
	}
	if err := lockFile(f); err != nil {
		defer f.Close()
		if errors.Is(err, errHeld) {
			content, _ := os.ReadFile(path)
			return nil, &HeldError{LockFile: path, PID: strings.TrimSpace(string(content))}
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the pid into %s: %w", path, err), f.Close())
	}
	return &Lock{f}, nil
}

// Release leaves the file: removing it would let two agents lock two files of
// the same name.
func (l *Lock) Release() { _ = l.file.Close() }

// Holder says whether a process holds the lock file, and which.
func Holder(path string) (pid string, held bool) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if !errors.Is(lockFile(f), errHeld) {
		return "", false
	}
	content, _ := os.ReadFile(path) // the pid is for people
	return strings.TrimSpace(string(content)), true
}
