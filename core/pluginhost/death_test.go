//go:build unix

package pluginhost

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
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

// launches are the launch directories in a run directory.
func launches(runDir string) []string { return must(filepath.Glob(filepath.Join(runDir, "run-*"))) }

// launchRecord is what a launch leaves for the next manager, as it stands in the file.
type launchRecord struct {
	Plugin  string      `json:"plugin"`
	Host    recordedPID `json:"host"`
	Process recordedPID `json:"process,omitzero"`
}

type recordedPID struct {
	PID     int    `json:"pid"`
	Started string `json:"started"`
}

func readRecord(path string) (record launchRecord, err error) {
	content, err := os.ReadFile(filepath.Join(path, "launch.json"))
	if err != nil {
		return record, err
	}
	return record, json.Unmarshal(content, &record)
}

func writeRecord(t *testing.T, path string, record launchRecord) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path, "launch.json"), must(json.Marshal(record)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sockets(t *testing.T, runDir string) []string {
	t.Helper()
	return must(filepath.Glob(filepath.Join(runDir, "run-*", "s", "*")))
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
	if err := process.Sweep(t.Context(), dir, 5*time.Second); err != nil {
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
	if err := process.Sweep(t.Context(), dir, 300*time.Millisecond); err != nil {
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
	path := launches(dir)[0]
	record := must(readRecord(path))
	honest := record
	record.Process.Started += "0"
	writeRecord(t, path, record)
	wantError(t, process.Sweep(t.Context(), dir, 0), path, "lock is held", "lsof")
	if !processLives(plugin) {
		t.Fatal("it was killed")
	}
	writeRecord(t, path, honest)
	if err := process.Sweep(t.Context(), dir, 0); err != nil {
		t.Fatal(err)
	}
	if processLives(plugin) {
		t.Error("the plugin lives")
	}
}

func TestSweepLeavesTheLaunchesOfALivingHostAlone(t *testing.T) {
	l := launch(t, "")
	plugin := started(t, l)
	if err := process.Sweep(t.Context(), l.RunDir, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := plugin.Info(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSweepGivesUpWhenTheCallerWants(t *testing.T) {
	dir := runDir(t)
	host, plugin := hostIn(t, dir, "ignores the end")
	killHost(t, host)
	t.Cleanup(func() { process.Sweep(context.Background(), dir, 0) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := process.Sweep(ctx, dir, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if !processLives(plugin) {
		t.Error("it was killed")
	}
}

func TestTheLaunchLockLivesAsLongAsThePlugin(t *testing.T) {
	l := launch(t, "")
	process := started(t, l)
	// The directory goes with the process: hold the file to look at its lock.
	lock := must(os.Open(filepath.Join(process.dir.Path, "lock")))
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Fatalf("taking the lock gives %v while the plugin lives", err)
	}
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
