package process

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ExecutableError says that a plugin's file was refused before anything of it
// ran. Starting it again can't help; a person has to act.
type ExecutableError struct {
	Path   string
	Reason string
	Advice string
}

func (e *ExecutableError) Error() string {
	return fmt.Sprintf("executable %s %s; %s", e.Path, e.Reason, e.Advice)
}

const installAdvice = "run: forgeyard-fleet plugin install"

// OpenExecutable opens a plugin's file and compares its content with the locked
// digest. The file that comes back is the one to execute: what happens to the
// path afterwards doesn't matter where the system can execute an open file.
func OpenExecutable(path, digest string) (*os.File, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ExecutableError{path, "is missing", installAdvice}
	}
	if err != nil {
		return nil, &ExecutableError{
			path,
			fmt.Sprintf("can't be read (%v)", err),
			"let the manager's user read it, or " + installAdvice,
		}
	}
	if err := verifyExecutable(file, path, digest); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func verifyExecutable(file *os.File, path, digest string) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("stat executable %s: %w", path, err)
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return &ExecutableError{path, "is not a regular file", installAdvice}
	case mode.Perm()&0o022 != 0:
		return &ExecutableError{
			path,
			fmt.Sprintf("may be changed by other users (mode %04o)", mode.Perm()),
			"run: chmod 0555 " + path,
		}
	case mode.Perm()&0o111 == 0:
		return &ExecutableError{path, fmt.Sprintf("is not executable (mode %04o)", mode.Perm()), "run: chmod 0555 " + path}
	}
	if err := checkDirectory(path); err != nil {
		return err
	}
	hash := sha256.New()
	var start bytes.Buffer
	if _, err := io.CopyN(io.MultiWriter(hash, &start), file, 2); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read executable %s: %w", path, err)
	}
	if _, err := io.Copy(hash, file); err != nil {
		return fmt.Errorf("read executable %s: %w", path, err)
	}
	if found := "sha256:" + hex.EncodeToString(hash.Sum(nil)); found != digest {
		return &ExecutableError{
			path,
			fmt.Sprintf("is not what the lock file names: locked %s, found %s", digest, found),
			installAdvice,
		}
	}
	if start.String() == "#!" {
		// Its interpreter would open the path a second time, unchecked.
		return &ExecutableError{path, "is a script", "a plugin must be a compiled program: ask its author for one"}
	}
	return nil
}
