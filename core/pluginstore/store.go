package pluginstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Store is the folder of plugin binaries that all projects of a machine share:
//
//	blobs/sha256/HEX       the executable, named by its digest, mode 0555
//	info/sha256/HEX.json   what the plugin says of itself
//	locks/HEX.lock         held while one digest is put into place
//	tmp/                   files on their way; on the same file system
//
// A blob is never changed once it has its name, so any number of processes may
// read the store while others install.
type Store struct {
	dir string
	// backoff is the wait before a transfer that brought nothing is tried again.
	backoff func(attempt int) time.Duration
}

// Open uses dir as the store and makes what is missing. It does not need to be
// writable if it is complete.
func Open(dir string) (*Store, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the plugin store %s: %w", dir, err)
	}
	for _, part := range []string{"blobs/sha256", "info/sha256", "locks", "tmp"} {
		if err := os.MkdirAll(filepath.Join(absolute, filepath.FromSlash(part)), 0o755); err != nil {
			return nil, fmt.Errorf("open the plugin store %s: %w; choose another folder with FLEET_PLUGIN_DIR", dir, err)
		}
	}
	return &Store{dir: absolute, backoff: func(attempt int) time.Duration { return time.Second << (attempt - 1) }}, nil
}

// HostPlatform is this machine in the words of a lock: "linux_amd64".
func HostPlatform() string { return runtime.GOOS + "_" + runtime.GOARCH }

// installAgain is the command that brings a locked plugin.
func installAgain(source string) string {
	if source == SourceDev {
		return installCommand + " --dev FOLDER"
	}
	return installCommand
}

// NotInstalledError says that the lock names a binary that the store lacks.
type NotInstalledError struct {
	Plugin, Version, Source, Platform, Digest, Store string
}

func (e *NotInstalledError) Error() string {
	command := installAgain(e.Source)
	return fmt.Sprintf("plugin %q is not installed: %s wants %s %s for %s (%s), and it is not in %s; run: %s",
		e.Plugin, LockFileName, e.Source, e.Version, e.Platform, e.Digest, e.Store, command)
}

// DamagedError says that a stored binary isn't what its name says.
type DamagedError struct {
	Plugin, Source, Path, Locked, Found string
}

func (e *DamagedError) Error() string {
	command := installAgain(e.Source)
	return fmt.Sprintf(
		"the file for plugin %q is not the one that was locked: %s should be %s and is %s; it was damaged or "+
			"replaced; run: %s",
		e.Plugin,
		e.Path,
		e.Locked,
		e.Found,
		command,
	)
}

// Binary is where the locked executable for a platform lies, and its digest,
// which the caller compares when it starts it. A plugin that isn't there is
// a *NotInstalledError.
func (s *Store) Binary(locked LockedPlugin, platform string) (path, digest string, err error) {
	digest, ok := locked.Binaries[platform]
	if !ok {
		if locked.Source == SourceDev {
			return "", "", fmt.Errorf("plugin %q %s is a build of another machine, for %s; build it here and run: %s",
				locked.Name, locked.Version, strings.Join(slices.Sorted(maps.Keys(locked.Binaries)), ", "), installAgain(SourceDev))
		}
		return "", "", &NoBuildError{
			Plugin:   locked.Name,
			Version:  locked.Version,
			Platform: platform,
			Builds:   slices.Sorted(maps.Keys(locked.Binaries)),
		}
	}
	path, err = s.blobPath(digest)
	if err != nil {
		return "", "", fmt.Errorf("find plugin %q: %w", locked.Name, err)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", &NotInstalledError{
			Plugin: locked.Name, Version: locked.Version, Source: locked.Source,
			Platform: platform, Digest: digest, Store: s.dir,
		}
	case err != nil:
		return "", "", fmt.Errorf("find plugin %q: %w", locked.Name, err)
	case !info.Mode().IsRegular():
		return "", "", &DamagedError{
			Plugin: locked.Name,
			Source: locked.Source,
			Path:   path,
			Locked: digest,
			Found:  "no regular file",
		}
	}
	return path, digest, nil
}

// has says whether the binary for a platform and its description are here whole.
func (s *Store) has(locked LockedPlugin, platform string) bool {
	path, digest, err := s.Binary(locked, platform)
	if err != nil {
		return false
	}
	found, err := digestOfFile(path)
	if err != nil || found != digest {
		return false
	}
	_, err = s.Info(digest)
	return err == nil
}

// Verify hashes every binary of a locked plugin that the store has, and asks
// for the one of this machine.
func (s *Store) Verify(locked LockedPlugin) error {
	var problems []error
	if _, _, err := s.Binary(locked, HostPlatform()); err != nil {
		problems = append(problems, err)
	}
	for _, platform := range slices.Sorted(maps.Keys(locked.Binaries)) {
		path, digest, err := s.Binary(locked, platform)
		if err != nil {
			continue // other platforms need not be here; this one is reported above
		}
		found, err := digestOfFile(path)
		if err != nil {
			problems = append(problems, fmt.Errorf("verify plugin %q: %w", locked.Name, err))
		} else if found != digest {
			problems = append(
				problems,
				&DamagedError{Plugin: locked.Name, Source: locked.Source, Path: path, Locked: digest, Found: found},
			)
		}
	}
	return errors.Join(problems...)
}

// Info is what the plugin with that digest says of itself. An error that is
// fs.ErrNotExist says that it wasn't asked yet.
func (s *Store) Info(digest string) ([]byte, error) {
	path, err := s.infoPath(digest)
	if err != nil {
		return nil, err
	}
	info, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf(
			"read the description of plugin binary %s: %w; run: forgeyard-fleet plugin install",
			digest,
			err,
		)
	}
	return info, nil
}

// SaveInfo stores what the plugin with that digest says of itself, as JSON.
func (s *Store) SaveInfo(digest string, info []byte) error {
	path, err := s.infoPath(digest)
	if err != nil {
		return err
	}
	if !json.Valid(info) {
		return fmt.Errorf("store the description of plugin binary %s: it is not valid JSON", digest)
	}
	unlock, err := s.lock(context.Background(), "tmp")
	if err != nil {
		return err
	}
	defer unlock()
	if err := ReplaceFile(path, filepath.Join(s.dir, "tmp"), info, 0o644); err != nil {
		return fmt.Errorf("store the description of plugin binary %s: %w", digest, err)
	}
	return nil
}

// blobPath trusts no digest: it becomes part of a path.
func (s *Store) blobPath(digest string) (string, error) {
	if !digestForm.MatchString(digest) {
		return "", fmt.Errorf("invalid digest %q", digest)
	}
	name := strings.TrimPrefix(digest, "sha256:")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(s.dir, "blobs", "sha256", name), nil
}

func (s *Store) infoPath(digest string) (string, error) {
	if !digestForm.MatchString(digest) {
		return "", fmt.Errorf("invalid digest %q", digest)
	}
	return filepath.Join(s.dir, "info", "sha256", strings.TrimPrefix(digest, "sha256:")+".json"), nil
}

func digestOfFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return digestOf(file)
}

func digestOf(in io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, in); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}
