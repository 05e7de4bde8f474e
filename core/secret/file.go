package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFileBytes bounds a secret: a file that is larger is another file.
const maxFileBytes = 64 << 10

// ReadFile reads the file of a reference. It refuses what its group or others
// can read, write or replace, looking at the file that is open and not at its
// name: a name can lead elsewhere a moment later. On Windows, where modes say
// nothing, only the folder's own protection counts.
func ReadFile(path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("the path isn't absolute")
	}
	// A pipe or device would block, so the kind is looked at before it is opened.
	if info, err := os.Stat(path); err != nil {
		return nil, reasonOf(err)
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, reasonOf(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, reasonOf(err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case modesCount && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf(
			"others than its owner may use the file (mode %04o); run: chmod 600 %s",
			info.Mode().Perm(),
			path,
		)
	case info.Size() > maxFileBytes:
		return nil, fmt.Errorf("the file is larger than %d KiB; is it the right one?", maxFileBytes>>10)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, reasonOf(err)
	}
	if len(content) > maxFileBytes {
		return nil, fmt.Errorf("the file is larger than %d KiB; is it the right one?", maxFileBytes>>10)
	}
	return content, nil
}

// reasonOf leaves the path out, which the reference names already.
func reasonOf(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("the manager's user may not read the file")
	}
	var inner *fs.PathError
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}
