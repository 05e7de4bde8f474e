package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// NetworkFileSystemError refuses a SQLite file on a network file system. SQLite
// needs locks and shared memory that all processes see; over a network two
// managers could write at once and damage the file.
type NetworkFileSystemError struct {
	// Path is the file or its folder; FileSystem is the kind, such as "NFS".
	Path, FileSystem string
}

func (e *NetworkFileSystemError) Error() string {
	return fmt.Sprintf("open the SQLite store: %s is on a network file system (%s), where SQLite loses data: "+
		"move it to a local disk", e.Path, e.FileSystem)
}

// refuseNetworkFileSystem checks the folder of the file at path, and the file
// itself when it exists, since it may be a link to elsewhere.
func refuseNetworkFileSystem(path string) error {
	for _, path := range []string{filepath.Dir(path), path} {
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the file is new, or creating it will tell
		}
		if err != nil {
			return fmt.Errorf("open the SQLite store: %w", err)
		}
		name, err := networkFileSystem(real)
		if err != nil {
			return fmt.Errorf("open the SQLite store: find the file system of %s: %w", path, err)
		}
		if name != "" {
			return &NetworkFileSystemError{Path: path, FileSystem: name}
		}
	}
	return nil
}
