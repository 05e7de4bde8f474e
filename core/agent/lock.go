package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// AlreadyRunningError says that another agent holds the lock file. It is the
// normal end of a second start.
type AlreadyRunningError struct {
	LockFile string
	PID      string // as the other one wrote it; may be empty
}

func (e *AlreadyRunningError) Error() string {
	return fmt.Sprintf("an agent (pid %s) already runs here: it holds %s", e.PID, e.LockFile)
}

// errHeld says that somebody else has the lock.
var errHeld = errors.New("the lock is held")

// lock is held until the process ends, however it ends.
type lock struct {
	file *os.File
}

// takeLock locks the file and writes the pid into it. Held means running: the
// content is for people.
func takeLock(path string) (*lock, error) {
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
			return nil, &AlreadyRunningError{LockFile: path, PID: strings.TrimSpace(string(content))}
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
	return &lock{f}, nil
}

// release leaves the file: removing it would let two agents lock two files of
// the same name.
func (l *lock) release() { _ = l.file.Close() }
