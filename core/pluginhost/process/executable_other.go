//go:build unix && !linux

package process

import (
	"fmt"
	"os"
	"path/filepath"
)

// checkDirectory refuses a directory that others may write to: here the path is
// executed, so that a swapped file would run.
func checkDirectory(path string) error {
	directory := filepath.Dir(path)
	info, err := os.Stat(directory)
	if err != nil {
		return fmt.Errorf("stat the directory of executable %s: %w", path, err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return &ExecutableError{
			path,
			fmt.Sprintf("is in a directory that other users may change (mode %04o)", info.Mode().Perm()),
			"run: chmod 0755 " + directory,
		}
	}
	return nil
}

// prepareExec has only the path to offer: these systems can't execute an open
// file.
func prepareExec(file, lock *os.File) (path string, executable, sameLock *os.File, err error) {
	return file.Name(), nil, lock, nil
}
