//go:build unix

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sweepInterval = 20 * time.Millisecond
	// killWait is how long a killed process may take to let its lock go.
	killWait = 5 * time.Second
	// recordWait is how old a launch directory without a record must be before
	// it is taken for one whose host died while making it.
	recordWait = time.Minute
)

// Sweep removes what a dead manager left in the run directory. It must be
// called before the first provision: as long as a plugin of the predecessor
// lives, its calls are not over. Such a plugin notices the end of its host by
// itself and finishes its answers; it is given the wait, and is then killed,
// but only where its pid and start time prove that it is the one.
//
// Launches of hosts that are alive aren't touched.
func Sweep(ctx context.Context, runDir string, wait time.Duration) error {
	launches, err := filepath.Glob(filepath.Join(runDir, launchPattern))
	if err != nil {
		return fmt.Errorf("list run directory %s: %w", runDir, err)
	}
	deadline := time.Now().Add(wait)
	var failures []error
	for _, path := range launches {
		if err := sweepLaunch(ctx, path, deadline); err != nil {
			failures = append(failures, fmt.Errorf("clean up launch directory %s of an earlier manager: %w", path, err))
		}
	}
	return errors.Join(failures...)
}

func sweepLaunch(ctx context.Context, path string, deadline time.Time) error {
	record, err := readRecord(path)
	if err != nil {
		return removeUnrecorded(path, err)
	}
	if record.Host.alive() {
		return nil
	}
	released, err := awaitLock(ctx, path, deadline)
	if err != nil {
		return err
	}
	if !released {
		if record.Process.PID == 0 {
			return fmt.Errorf(
				"its lock is held by a process of plugin %q whose id was not recorded; find it with lsof %s and end it",
				record.Plugin,
				filepath.Join(path, lockName),
			)
		}
		if !record.Process.alive() {
			return fmt.Errorf(
				"its lock is held, and not by the process %d of plugin %q that was launched; find the holder with lsof "+
					"%s and end it",
				record.Process.PID,
				record.Plugin,
				filepath.Join(path, lockName),
			)
		}
		if err := killGroup(record.Process.PID); err != nil {
			return fmt.Errorf("kill process %d of plugin %q: %w; end it by hand", record.Process.PID, record.Plugin, err)
		}
		if released, err = awaitLock(ctx, path, time.Now().Add(killWait)); err != nil {
			return err
		}
		if !released {
			return fmt.Errorf(
				"process %d of plugin %q is killed and its lock is still held; find the holder with lsof %s and end it",
				record.Process.PID,
				record.Plugin,
				filepath.Join(path, lockName),
			)
		}
	}
	return os.RemoveAll(path)
}

func readRecord(path string) (launchRecord, error) {
	content, err := os.ReadFile(filepath.Join(path, recordName))
	if err != nil {
		return launchRecord{}, err
	}
	var record launchRecord
	if err := json.Unmarshal(content, &record); err != nil {
		return launchRecord{}, fmt.Errorf("decode launch record: %w", err)
	}
	return record, nil
}

// removeUnrecorded removes a directory that has no usable record. No plugin can
// have run in it, since the record is written first; a young one may belong to
// a host that is about to write it.
func removeUnrecorded(path string, cause error) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !errors.Is(cause, os.ErrNotExist) {
		return fmt.Errorf("%w; make sure that no plugin of it runs and remove the directory", cause)
	}
	if time.Since(info.ModTime()) < recordWait {
		return nil
	}
	return os.RemoveAll(path)
}

// awaitLock waits until the launch's lock is free.
func awaitLock(ctx context.Context, path string, deadline time.Time) (bool, error) {
	lock, err := os.Open(filepath.Join(path, lockName))
	if errors.Is(err, os.ErrNotExist) {
		return true, nil // the host died before it started the plugin
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return false, fmt.Errorf("try the launch lock: %w", err)
		}
		if !time.Now().Before(deadline) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// killGroup kills a plugin with its children. A plugin leads its own group;
// where it doesn't, only the plugin is killed.
func killGroup(pid int) error {
	if group, err := syscall.Getpgid(pid); err == nil && group == pid {
		pid = -pid
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
