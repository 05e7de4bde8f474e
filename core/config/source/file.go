package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is one *.hcl file. Name is what diagnostics show.
type File struct {
	Name  string `json:"name"`
	Bytes []byte `json:"bytes"`
}

// LockFileName is the plugin lock, which lies beside the fleet files and is no
// part of the definition.
const LockFileName = "fleet.lock.hcl"

// MaxSourceBytes bounds all files of one definition together: a build artefact
// that ends in .hcl should give a sentence and not a machine without memory.
const MaxSourceBytes = 10 << 20

// ErrNoSources says that a directory holds no fleet file.
var ErrNoSources = errors.New("no fleet files")

// ReadDir reads every *.hcl file of dir but the plugin lock, sorted by name.
// All files of a directory are one definition. Names are joined to dir as the
// user wrote it, so that a terminal can open them.
func ReadDir(dir string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the fleet files of %s: %w", dir, err)
	}
	var sources []File
	left := int64(MaxSourceBytes)
	for _, entry := range entries {
		name := entry.Name()
		if filepath.Ext(name) != ".hcl" || name == LockFileName || strings.HasPrefix(name, ".") {
			continue
		}
		path := filepath.Join(dir, name)
		content, err := readAtMost(path, left)
		if err != nil {
			return nil, err
		}
		if content == nil {
			continue
		}
		left -= int64(len(content))
		sources = append(sources, File{Name: path, Bytes: content})
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("%w: %s has no *.hcl file; write one with: forgeyard-fleet init", ErrNoSources, dir)
	}
	slices.SortFunc(sources, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return sources, nil
}

// ReadFile reads one file of variables, for --var-file.
func ReadFile(path string) (File, error) {
	content, err := readAtMost(path, MaxSourceBytes)
	if err != nil {
		return File{}, err
	}
	if content == nil {
		return File{}, fmt.Errorf("read %s: not a regular file", path)
	}
	return File{Name: path, Bytes: content}, nil
}

// readAtMost reads a regular file. Nil bytes without an error: it is none (a
// folder, or a pipe that would block for ever).
func readAtMost(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf(
			"read %s: the fleet files are larger than %d MiB together; is one of them not a fleet file? Move it to another "+
				"folder or give it another ending",
			path,
			MaxSourceBytes>>20,
		)
	}
	if content == nil {
		content = []byte{}
	}
	return content, nil
}
