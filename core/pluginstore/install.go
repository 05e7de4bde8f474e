package pluginstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
)

// Describe asks a binary what it is: its description as JSON, its version and
// the major version of the contract that it speaks.
type Describe func(ctx context.Context, path string) (info []byte, version string, protocol int, err error)

// InstallFromDir takes forgeyard-plugin-NAME out of a directory, puts it into
// the store and describes the stored copy, so that nothing runs that isn't
// exactly what the lock will name. A version outside the constraint is refused;
// its blob stays, since it harms nobody.
func (s *Store) InstallFromDir(ctx context.Context, dir, name, constraint string, describe Describe) (LockedPlugin, error) {
	fail := func(err error) (LockedPlugin, error) {
		return LockedPlugin{}, fmt.Errorf("install plugin %q from %s: %w", name, dir, err)
	}
	source, err := findPlugin(dir, name)
	if err != nil {
		return fail(err)
	}
	if err := s.removeAbandoned(ctx); err != nil {
		return fail(err)
	}
	digest, err := s.add(ctx, source)
	if err != nil {
		return fail(err)
	}
	path, err := s.blobPath(digest)
	if err != nil {
		return fail(err)
	}
	info, described, protocol, err := describe(ctx, path)
	if err != nil {
		return fail(fmt.Errorf("ask it what it is: %w", err))
	}
	if err := checkVersion(described, constraint); err != nil {
		return fail(err)
	}
	if err := s.SaveInfo(digest, info); err != nil {
		return fail(err)
	}
	locked := LockedPlugin{
		Name: name, Source: SourceDir, Version: described, Constraint: constraint, Protocol: protocol,
		Binaries: map[string]string{HostPlatform(): digest},
	}
	if err := locked.Validate(); err != nil {
		return fail(err)
	}
	return locked, nil
}

// add copies a file into the store and gives its digest.
func (s *Store) add(ctx context.Context, source string) (digest string, err error) {
	copied, err := s.copyIn(ctx, source)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, copied.discard()) }()
	s.copied()

	hexadecimal := strings.TrimPrefix(copied.digest, "sha256:")
	unlock, err := s.lock(ctx, hexadecimal)
	if err != nil {
		return "", err
	}
	defer unlock()
	blob, err := s.blobPath(copied.digest)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(blob); err == nil {
		if found, err := digestOfFile(blob); err == nil && found == copied.digest {
			return copied.digest, nil
		}
		// Damaged: it goes, with what it may have said of itself.
		if err := s.forget(copied.digest, blob); err != nil {
			return "", err
		}
	}
	failpoint.BinaryUnnamed.Hit()
	if err := os.Rename(copied.path, blob); err != nil {
		return "", fmt.Errorf("put the binary into the store: %w", err)
	}
	failpoint.BinaryNamed.Hit()
	copied.named = true
	if err := syncDir(filepath.Dir(blob)); err != nil {
		return "", err
	}
	return copied.digest, nil
}

func (s *Store) forget(digest, blob string) error {
	info, err := s.infoPath(digest)
	if err != nil {
		return err
	}
	if err := os.Remove(info); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove what a damaged binary said of itself: %w", err)
	}
	if err := os.RemoveAll(blob); err != nil {
		return fmt.Errorf("remove a damaged binary: %w", err)
	}
	return nil
}

// temporary is a complete copy without a name. It is locked until it is
// discarded, so that nobody takes it for abandoned.
type temporary struct {
	path   string
	digest string
	held   *flock.Flock
	named  bool
}

// discard removes the copy unless it has its name by now.
func (t *temporary) discard() error {
	var err error
	if !t.named {
		err = os.Remove(t.path)
	}
	return errors.Join(err, t.held.Close())
}

func (s *Store) copyIn(ctx context.Context, source string) (*temporary, error) {
	in, err := os.Open(source)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, held, err := s.newTemporary(ctx)
	if err != nil {
		return nil, err
	}
	copied := &temporary{path: out.Name(), held: held}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, hash), &reader{ctx: ctx, in: in})
	if err == nil {
		err = out.Chmod(0o555)
	}
	if err == nil {
		err = out.Sync()
	}
	// Closed before it gets its name: a file open for writing can't be executed.
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy %s into the store: %w", source, err), copied.discard())
	}
	copied.digest = "sha256:" + hex.EncodeToString(hash.Sum(nil))
	return copied, nil
}

// newTemporary makes a locked file in tmp. Making and locking are one step for
// removeAbandoned, which holds the same lock.
func (s *Store) newTemporary(ctx context.Context) (*os.File, *flock.Flock, error) {
	unlock, err := s.lock(ctx, "tmp")
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	file, err := os.CreateTemp(filepath.Join(s.dir, "tmp"), "blob-*")
	if err != nil {
		return nil, nil, fmt.Errorf("make a file in the store: %w", err)
	}
	held := flock.New(file.Name())
	if _, err := held.TryLock(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("lock a file in the store: %w", err), file.Close(), os.Remove(file.Name()))
	}
	return file, held, nil
}

// removeAbandoned removes the copies of processes that were killed. A copy that
// somebody is working on is locked and stays.
func (s *Store) removeAbandoned(ctx context.Context) error {
	unlock, err := s.lock(ctx, "tmp")
	if err != nil {
		return err
	}
	defer unlock()
	tmp := filepath.Join(s.dir, "tmp")
	descriptions, err := filepath.Glob(filepath.Join(tmp, ".*.new-*"))
	if err != nil {
		return err
	}
	for _, path := range descriptions {
		_ = os.Remove(path) // written under the lock that is held here: abandoned
	}
	files, err := filepath.Glob(filepath.Join(tmp, "blob-*"))
	if err != nil {
		return err
	}
	for _, path := range files {
		held := flock.New(path, flock.SetFlag(os.O_RDONLY))
		ours, err := held.TryLock()
		if err == nil && ours {
			err = os.Remove(path)
		}
		err = errors.Join(err, held.Close())
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			continue // done by another, or another user's
		}
		if err != nil {
			return fmt.Errorf("clean the store's tmp folder: %w", err)
		}
	}
	return nil
}

// lock takes locks/NAME.lock, waiting for other processes and goroutines.
func (s *Store) lock(ctx context.Context, name string) (unlock func(), err error) {
	held := flock.New(filepath.Join(s.dir, "locks", name+".lock"))
	if _, err := held.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("wait for the store's lock %s: %w", held.Path(), errors.Join(err, held.Close()))
	}
	return func() { _ = held.Close() }, nil
}

// reader ends a long copy when its context does.
type reader struct {
	ctx context.Context
	in  io.Reader
}

func (r *reader) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(into)
}
