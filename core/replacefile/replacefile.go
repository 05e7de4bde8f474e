package replacefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Write replaces the file, or makes it, with the mode whatever the umask. The temporary
// file lies beside it.
func Write(path string, content []byte, mode fs.FileMode) error {
	staged, err := Stage(path, filepath.Dir(path), bytes.NewReader(content), mode)
	if err != nil {
		return err
	}
	return errors.Join(staged.Replace(), staged.Discard())
}

// Staged is content that is on disk under a temporary name.
type Staged struct {
	path, temporary string
}

// Stage writes the content for path under a temporary name in a folder of the same
// file system: the name of path with a dot before it and ".new-" and a number after it.
func Stage(path, folder string, content io.Reader, mode fs.FileMode) (*Staged, error) {
	name := strings.TrimPrefix(filepath.Base(path), ".")
	file, err := os.CreateTemp(folder, "."+name+".new-*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	staged := &Staged{path: path, temporary: file.Name()}
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), staged.Discard())
	}
	return staged, nil
}

// Replace gives the content its name, in place of what had it.
func (s *Staged) Replace() error {
	if err := os.Rename(s.temporary, s.path); err != nil {
		return fmt.Errorf("replace %s: %w", s.path, err)
	}
	return SyncFolder(filepath.Dir(s.path))
}

// Create gives the content its name only if nothing has that name; else the error is
// fs.ErrExist. The temporary name stays until Discard.
func (s *Staged) Create() error {
	if err := os.Link(s.temporary, s.path); err != nil {
		return fmt.Errorf("create %s: %w", s.path, err)
	}
	return SyncFolder(filepath.Dir(s.path))
}

// Discard removes the temporary name, if it is still there.
func (s *Staged) Discard() error {
	if err := os.Remove(s.temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", s.temporary, err)
	}
	return nil
}

// SyncFolder makes new names in the folder survive a power cut. Windows can't sync
// folders; NTFS journals names.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", path, err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("sync folder %s: %w", path, err)
	}
	return nil
}
