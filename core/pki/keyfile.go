package pki

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/replacefile"
)

// KeyFileError says why a key file can't be used and what to do about it.
type KeyFileError struct {
	Path    string
	Problem string
}

func (e *KeyFileError) Error() string { return fmt.Sprintf("key file %s %s", e.Path, e.Problem) }

// readOrCreateKeyFile returns the PEM blocks of the file, in the order of types.
// A file that doesn't exist is made from create's blocks; one that exists is
// never written again, since agents and stored tokens depend on it.
func readOrCreateKeyFile(path string, types []string, create func() ([]*pem.Block, error)) ([]*pem.Block, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of key file %s: %w", path, err)
	}
	blocks, err := readKeyFile(path, types)
	if !errors.Is(err, fs.ErrNotExist) {
		return blocks, err
	}
	fresh, err := create()
	if err != nil {
		return nil, fmt.Errorf("make the key for %s: %w", path, err)
	}
	var content []byte
	for _, b := range fresh {
		content = append(content, pem.EncodeToMemory(b)...)
	}
	if err := createKeyFile(path, content); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create key file %s: %w", path, err)
	}
	// Read back even what was just written: the first writer wins, and a disk
	// that lost the bytes is found now.
	return readKeyFile(path, types)
}

func readKeyFile(path string, types []string) ([]*pem.Block, error) {
	content, err := readPrivately(path)
	if err != nil {
		return nil, err
	}
	damaged := &KeyFileError{
		path,
		"is truncated or damaged; restore it from a backup, since agents and tokens made with it depend on it",
	}
	var blocks []*pem.Block
	for range types {
		var b *pem.Block
		if b, content = pem.Decode(content); b == nil || b.Type != types[len(blocks)] {
			return nil, damaged
		}
		blocks = append(blocks, b)
	}
	if len(content) > 0 {
		return nil, damaged
	}
	return blocks, nil
}

// readPrivately reads a file that only its owner may read.
func readPrivately(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("look at key file %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, &KeyFileError{path, "is not a regular file; move it away or restore it from a backup"}
	}
	// Windows has no such bits: there the folder's access list protects the file.
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, &KeyFileError{
			path,
			fmt.Sprintf(
				"can be read by other users (mode %04o); run `chmod 600` on it, and if others may have read it, replace the "+
					"installation's keys",
				mode,
			),
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read key file %s: %w", path, err)
	}
	return content, nil
}

// createKeyFile makes the file with all of its content or not at all. The error is
// fs.ErrExist if another process made it meanwhile.
func createKeyFile(path string, content []byte) error {
	staged, err := replacefile.Stage(path, filepath.Dir(path), bytes.NewReader(content), 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = staged.Discard() }() // after Create it is only a second name
	failpoint.KeyFileUnnamed.Hit()
	if err := staged.Create(); err != nil {
		return err
	}
	failpoint.KeyFileNamed.Hit()
	return nil
}

// unfinished comes after a key file's name in the temporary name of one that is being
// made by replacefile.
const unfinished = ".new-"

// RemoveUnfinishedKeys removes what a process left in the folder that died while
// it made a key: an unused key, or a second name of one that is in use.
// Only the holder of the writer's lock may call it, before it loads its keys.
func RemoveUnfinishedKeys(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for unfinished keys: %w", err)
	}
	for _, entry := range entries {
		if !strings.Contains(entry.Name(), ".pem"+unfinished) && !strings.Contains(entry.Name(), ".key"+unfinished) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
			return fmt.Errorf("remove an unfinished key: %w", err)
		}
	}
	return nil
}

// KeyMismatchError says that the store was written with another key than the one
// in the state folder.
type KeyMismatchError struct {
	Name, Stored, Have string
}

func (e *KeyMismatchError) Error() string {
	return fmt.Sprintf(
		"the %s in the state folder is %s, but the store was written with %s: restore the keys folder that belongs to this "+
			"store, or use another state folder",
		e.Name,
		e.Have,
		e.Stored,
	)
}

// CheckKeyID compares a key's id with the one that the store holds; an empty
// stored id is a new store. The manager must not start on an error: its agents
// would be refused, and tokens in stored requests would not be the same again.
func CheckKeyID(name, stored, have string) error {
	if stored != "" && stored != have {
		return &KeyMismatchError{Name: name, Stored: stored, Have: have}
	}
	return nil
}
