//go:build unix

package pluginhost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runHost is the other process that the tests below kill: it starts a plugin,
// says so, and waits.
func runHost(spec string) {
	parts := strings.Split(spec, "|")
	process, err := Start(context.Background(), Launch{
		Plugin: "test", RunDir: parts[0], Path: parts[1], Digest: parts[2], Env: []string{modeVariable},
	})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("started", process.PID())
	time.Sleep(time.Hour)
}

// hostIn starts a host process with a plugin; both are ended by the test's end.
func hostIn(t *testing.T, runDir, mode string) (host *exec.Cmd, plugin int) {
	t.Helper()
	host = exec.Command(must(os.Executable()))
	host.Env = append(
		os.Environ(),
		hostVariable+"="+strings.Join([]string{runDir, store.path, store.digest}, "|"),
		modeVariable+"="+mode,
	)
	host.Stderr = os.Stderr
	stdout, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		host.Process.Kill()
		host.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(line, "started %d", &plugin); err != nil {
		t.Fatalf("the host says %q", line)
	}
	return host, plugin
}

func killHost(t *testing.T, host *exec.Cmd) {
	t.Helper()
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	host.Wait()
}

func sockets(t *testing.T, runDir string) []string {
	t.Helper()
	return must(filepath.Glob(filepath.Join(runDir, launchPattern, socketsName, "*")))
}

// hashicorp/go-plugin#10, #210: an orphaned plugin keeps changing resources.
func TestTheHostsDeathEndsThePluginAndItsSocket(t *testing.T) {
	dir := runDir(t)
	host, plugin := hostIn(t, dir, "")
	if len(sockets(t, dir)) != 1 {
		t.Fatalf("sockets %v, want one", sockets(t, dir))
	}
	killHost(t, host)
	within(t, 5*time.Second, "plugin and socket are gone", func() bool {
		return !processLives(plugin) && len(sockets(t, dir)) == 0
	})
	if err := Sweep(t.Context(), dir, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, dir)
}

func TestSweepWaitsForAPluginAndThenKillsIt(t *testing.T) {
	dir := runDir(t)
	host, plugin := hostIn(t, dir, "ignores the end")
	killHost(t, host)
	if !processLives(plugin) {
		t.Fatal("a plugin that ignores its host's end is gone")
	}
	began := time.Now()
	if err := Sweep(t.Context(), dir, 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("it waited %s only", took)
	}
	if processLives(plugin) {
		t.Error("the plugin lives")
	}
	wantEmpty(t, dir)
}

// hashicorp/nomad#23969: a stored pid was somebody else's by then.
func TestSweepNeverKillsAProcessThatItCannotProve(t *testing.T) {
	dir := runDir(t)
	host, plugin := hostIn(t, dir, "ignores the end")
	killHost(t, host)
	path := must(filepath.Glob(filepath.Join(dir, launchPattern)))[0]
	record := must(readRecord(path))
	honest := record
	record.Process.Started += "0"
	if err := (&launchDir{path: path, record: record}).write(); err != nil {
		t.Fatal(err)
	}
	wantError(t, Sweep(t.Context(), dir, 0), path, "lock is held", "lsof")
	if !processLives(plugin) {
		t.Fatal("it was killed")
	}
	if err := errors.Join((&launchDir{path: path, record: honest}).write(), Sweep(t.Context(), dir, 0)); err != nil {
		t.Fatal(err)
	}
	if processLives(plugin) {
		t.Error("the plugin lives")
	}
}

func TestSweepLeavesTheLaunchesOfALivingHostAlone(t *testing.T) {
	l := launch(t, "")
	process := started(t, l)
	if err := Sweep(t.Context(), l.RunDir, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Info(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSweepGivesUpWhenTheCallerWants(t *testing.T) {
	dir := runDir(t)
	host, plugin := hostIn(t, dir, "ignores the end")
	killHost(t, host)
	t.Cleanup(func() { Sweep(context.Background(), dir, 0) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Sweep(ctx, dir, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if !processLives(plugin) {
		t.Error("it was killed")
	}
}

func TestSweepOfDirectoriesWithoutAPlugin(t *testing.T) {
	dir := runDir(t)
	old, young, garbled := filepath.Join(dir, "run-1"), filepath.Join(dir, "run-2"), filepath.Join(dir, "run-3")
	for _, path := range []string{old, young, garbled} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-time.Hour)
	if err := errors.Join(
		os.Chtimes(old, past, past),
		os.WriteFile(filepath.Join(garbled, recordName), []byte("{"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	wantError(t, Sweep(t.Context(), dir, 0), garbled, "decode launch record", "remove the directory")
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("an old one without a record is left: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("one that may be in the making is gone: %v", err)
	}
	if err := Sweep(t.Context(), filepath.Join(dir, "missing"), 0); err != nil {
		t.Errorf("no run directory: %v", err)
	}
}

func TestTheLaunchLockLivesAsLongAsThePlugin(t *testing.T) {
	l := launch(t, "")
	process := started(t, l)
	path := process.dir.path
	if free, err := awaitLock(t.Context(), path, time.Time{}); free || err != nil {
		t.Fatalf("the lock is free (%v, %v) while the plugin lives", free, err)
	}
	// The directory goes with the process: hold the file to look at its lock.
	lock := must(os.Open(filepath.Join(path, lockName)))
	defer lock.Close()
	kill(t, pidOf(t, process), syscall.SIGKILL)
	exits(t, process)
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("the lock is held after the plugin's end: %v", err)
	}
}

func TestAPluginWithoutConnectionIsKilled(t *testing.T) {
	process := started(t, launch(t, ""))
	freeze(t, pidOf(t, process))
	process.conn.Close() // what the keepalive does minutes later
	exitsWithin(t, process, 10*time.Second)
	wantError(t, process.ExitCause(), "lost its connection")
}
