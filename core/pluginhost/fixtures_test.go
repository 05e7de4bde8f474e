//go:build unix

package pluginhost

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
)

// install copies an executable as the plugin store would and returns its digest.
func install(from, to string) (string, error) {
	source, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(target, hash), source); err != nil {
		return "", err
	}
	if err := target.Chmod(0o555); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), target.Close()
}

// runDir is short enough for a socket's name on every system.
func runDir(t testing.TB) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "ph")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	return filepath.Join(parent, "run")
}

// launch is a good launch of the test plugin in the given mode.
func launch(t testing.TB, mode string) Launch {
	t.Helper()
	environment := map[string]string{
		modeVariable:            mode,
		"HOME":                  "/home/unused",
		"PATH":                  os.Getenv("PATH"),
		"AWS_SECRET_ACCESS_KEY": "leak",
		"no_proxy":              "localhost",
	}
	return Launch{
		Plugin: "test", Provider: "test.here",
		Path: store.path, Digest: store.digest,
		Env:    []string{modeVariable},
		RunDir: runDir(t),
		LookupEnv: func(name string) (string, bool) {
			value, ok := environment[name]
			return value, ok
		},
		StartTimeout: time.Minute,
	}
}

// started starts the test plugin and proves at the end that nothing is left of it.
func started(t testing.TB, l Launch) *Process {
	t.Helper()
	process, err := Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Stop(2 * time.Second); err != nil {
			t.Error(err)
		}
		wantEmpty(t, l.RunDir)
	})
	return process
}

// startFails checks that a start ends with an error that says all of it, and leaves
// nothing behind.
func startFails(t testing.TB, l Launch, parts ...string) {
	t.Helper()
	_, err := Start(t.Context(), l)
	wantError(t, err, parts...)
	wantEmpty(t, l.RunDir)
}

func wantEmpty(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > 0 {
		t.Errorf("%s holds %v, want nothing", dir, entries)
	}
}

// wantError checks that an error says all of it.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q:\n%v", part, err)
		}
	}
}

// patience is how long a loaded machine may take for what happens at once. Where
// something must not come too late, the test says so itself.
const patience = time.Minute

// eventually polls a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	within(t, patience, what, condition)
}

// within is eventually for what must not come later.
func within(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(limit); ; <-ticker.C {
		if condition() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// exits waits for the process's end.
func exits(t testing.TB, p *Process) {
	t.Helper()
	exitsWithin(t, p, patience)
}

// exitsWithin is exits for an end that must not come later.
func exitsWithin(t testing.TB, p *Process, limit time.Duration) {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(limit):
		t.Fatalf("the process lives after %s", limit)
	}
}

func processLives(pid int) bool {
	_, err := process.StartTime(pid) // a zombie doesn't live
	return err == nil
}

func kill(t testing.TB, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

// freeze stops a child process and waits until all of its threads stand still.
func freeze(t testing.TB, pid int) {
	t.Helper()
	kill(t, pid, syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("process %d did not stop: %v, %v", pid, status, err)
	}
}

func pidOf(t testing.TB, p *Process) int {
	t.Helper()
	var pid int
	if _, err := fmt.Sscan(p.PID(), &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}
