package pluginstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/replacefile"
)

// open gives a binary's bytes from an offset on.
type open func(ctx context.Context, offset int64) (io.ReadCloser, error)

// wanted is a binary that the store should have.
type wanted struct {
	digest string
	size   int64
	open   open
	// progress is told how many bytes are here, again and again.
	progress func(done int64)
}

const (
	// putAttempts is how often in a row a transfer may break off without having
	// brought anything.
	putAttempts = 4
	// stallTime is how long a transfer may bring nothing before it is broken off.
	stallTime = time.Minute
)

// put makes the store have a binary, and says whether it had to fetch it. Who
// comes second waits for the first and finds it there. What was received stays
// when the transfer breaks off for good, or the process: the next one continues
// from there.
func (s *Store) put(ctx context.Context, w wanted) (fetched bool, err error) {
	hexadecimal := strings.TrimPrefix(w.digest, "sha256:")
	blob, err := s.blobPath(w.digest)
	if err != nil {
		return false, err
	}
	unlock, err := s.lock(ctx, hexadecimal)
	if err != nil {
		return false, err
	}
	defer unlock()
	if _, err := os.Lstat(blob); err == nil {
		if found, err := digestOfFile(blob); err == nil && found == w.digest {
			return false, nil
		}
		// Damaged: it goes, with what it may have said of itself.
		if err := s.forget(w.digest, blob); err != nil {
			return false, err
		}
	}
	part := filepath.Join(s.dir, "tmp", hexadecimal+".part")
	if err := s.receive(ctx, w, part); err != nil {
		return false, err
	}
	failpoint.BinaryUnnamed.Hit()
	if err := os.Rename(part, blob); err != nil {
		return false, fmt.Errorf("put the binary into the store: %w", err)
	}
	failpoint.BinaryNamed.Hit()
	return true, replacefile.SyncFolder(filepath.Dir(blob))
}

// receive fills the file part until it is the whole binary, checked and on disk.
func (s *Store) receive(ctx context.Context, w wanted, part string) (err error) {
	file, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrPermission) {
		// Read-only is how a part becomes a blob: one died just before its name.
		if err := os.Chmod(part, 0o600); err != nil {
			return fmt.Errorf("continue with what an earlier install left: %w", err)
		}
		file, err = os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return fmt.Errorf("make a file in the store: %w", err)
	}
	t := transfer{wanted: w, file: file, hash: sha256.New(), backoff: s.backoff}
	err = t.run(ctx)
	// Closed before it gets its name: a file open for writing can't be executed.
	err = errors.Join(err, file.Close())
	if err != nil && (t.useless || t.done == 0 || isFull(err)) {
		err = errors.Join(err, os.Remove(part))
	}
	if isFull(err) {
		return &FullError{Store: s.dir, Need: w.size, Err: err}
	}
	return err
}

// isFull: the disk, the quota or the limit of the process.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// transfer brings one binary into one file.
type transfer struct {
	wanted
	file    *os.File
	hash    hash.Hash
	done    int64
	backoff func(attempt int) time.Duration
	// useless: what is in the file is not a part of the binary.
	useless bool
}

func (t *transfer) run(ctx context.Context) error {
	before, err := io.Copy(t.hash, io.LimitReader(t.file, t.size))
	if err != nil {
		return fmt.Errorf("read what an earlier install left: %w", err)
	}
	t.done = before
	if err := t.fetch(ctx); err != nil {
		return err
	}
	if t.found() != t.digest && before > 0 {
		// What was there before may be to blame.
		if err := t.restart(); err != nil {
			return err
		}
		if err := t.fetch(ctx); err != nil {
			return err
		}
	}
	if found := t.found(); found != t.digest {
		t.useless = true
		return &TamperedError{Digest: t.digest, Found: found}
	}
	if err := t.file.Truncate(t.size); err != nil {
		return err
	}
	if err := t.file.Chmod(0o555); err != nil {
		return err
	}
	return t.file.Sync()
}

func (t *transfer) found() string { return "sha256:" + hex.EncodeToString(t.hash.Sum(nil)) }

func (t *transfer) restart() error {
	t.done = 0
	t.hash.Reset()
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return t.file.Truncate(0)
}

// fetch continues until all bytes are here. A transfer that breaks off is resumed
// where it ended, as long as that makes progress.
func (t *transfer) fetch(ctx context.Context) error {
	for attempt := 0; t.done < t.size; {
		before := t.done
		err := t.once(ctx)
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		switch {
		case t.done >= t.size:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case isFull(err) || isFinal(err):
			return err
		case t.done > before:
			attempt = 0
			continue
		}
		if attempt++; attempt >= putAttempts {
			return fmt.Errorf("the transfer broke off at %d of %d bytes: %w", t.done, t.size, err)
		}
		timer := time.NewTimer(t.backoff(attempt))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
	return nil
}

// once copies as much as one connection gives.
func (t *transfer) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(stallTime, func() { cancel(fmt.Errorf("nothing came for %s", stallTime)) })
	defer stalled.Stop()
	in, err := t.open(ctx, t.done)
	if err != nil {
		return err
	}
	defer in.Close()
	buffer := make([]byte, 64<<10)
	for t.done < t.size {
		n, err := in.Read(buffer[:min(int64(len(buffer)), t.size-t.done)])
		if n > 0 {
			stalled.Reset(stallTime)
			if err := t.take(buffer[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF // unless it was all, which the caller sees
		}
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// take writes bytes down. The hash is ahead of the file only if that fails, and
// then the transfer ends.
func (t *transfer) take(bytes []byte) error {
	if _, err := t.file.Write(bytes); err != nil {
		return err
	}
	t.hash.Write(bytes)
	t.done += int64(len(bytes))
	if t.progress != nil {
		t.progress(t.done)
	}
	return nil
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

// partLife is how long the beginning of a binary is worth keeping.
const partLife = 7 * 24 * time.Hour

// removeAbandoned removes what processes that were killed left: descriptions at
// once, the beginnings of binaries when they weren't continued for a week.
func (s *Store) removeAbandoned(ctx context.Context, now time.Time) error {
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
	parts, err := filepath.Glob(filepath.Join(tmp, "*.part"))
	if err != nil {
		return err
	}
	for _, path := range parts {
		info, err := os.Stat(path)
		if err != nil || now.Sub(info.ModTime()) < partLife {
			continue
		}
		held := flock.New(filepath.Join(s.dir, "locks", strings.TrimSuffix(filepath.Base(path), ".part")+".lock"))
		if ours, err := held.TryLock(); err == nil && ours {
			_ = os.Remove(path) // another user's may stay
		}
		if err := held.Close(); err != nil {
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
