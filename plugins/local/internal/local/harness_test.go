//go:build linux || darwin

package local

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// The agent of these tests is this test binary: the instance's env says so.
const (
	playVariable = "FORGEYARD_TEST_AGENT"
	playWell     = "well"     // takes the lock, leaves on SIGTERM
	playStubborn = "stubborn" // takes the lock, doesn't leave
	playBriefly  = "briefly"  // takes the lock and ends
	playBroken   = "broken"   // ends before it has the lock
	playSlowly   = "slowly"   // takes its time between opening the lock's file and locking it
	playWithJobs = "jobs"     // starts one job in a group and one in a session of its own; stubborn
)

func TestMain(m *testing.M) {
	if how := os.Getenv(playVariable); how != "" {
		os.Exit(playAgent(how, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// playAgent keeps to the lock's rules as forgeyard-runner does.
func playAgent(how string, arguments []string) int {
	flags := map[string]string{}
	for i := 0; i+1 < len(arguments); i += 2 {
		flags[arguments[i]] = arguments[i+1]
	}
	if _, err := bootstrap.Read(flags["--bootstrap"]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	if how == playBroken {
		return 3
	}
	lock, err := os.OpenFile(flags["--lock"], os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 4
	}
	if how == playSlowly {
		time.Sleep(30 * time.Millisecond)
	}
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return 0
	}
	note(flags["--state"]+".starts", os.Getpid())
	fmt.Fprintln(lock, os.Getpid())
	switch how {
	case playBriefly:
		return 0
	case playWithJobs:
		for _, attributes := range []*syscall.SysProcAttr{{Setpgid: true}, {Setsid: true}} {
			job := exec.Command("sleep", "600")
			job.SysProcAttr = attributes
			if err := job.Start(); err != nil {
				return 5
			}
			note(flags["--state"]+".jobs", job.Process.Pid)
		}
	}
	for range terminated {
		if how != playStubborn && how != playWithJobs {
			return 0
		}
	}
	return 0
}

func note(path string, pid int) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(file, pid)
		file.Close()
	}
}

// noted reads the pids that agents noted.
func noted(d directory, what string) []int {
	content, _ := os.ReadFile(d.path(agentFolder + what))
	var pids []int
	for line := range strings.Lines(string(content)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// newTestMachine is a machine whose agents are this binary. At the end of the
// test everything in it is stopped.
func newTestMachine(t testing.TB) *machine {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	rootID, err := openRoot(root, "inst", "")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{
		root: root, rootID: rootID, installation: "inst",
		runner: newRunnerSource(self, filepath.Join(t.TempDir(), "cache")),
		logger: slog.New(slog.DiscardHandler), now: time.Now,
		environment: []string{"PATH=" + os.Getenv("PATH")},
		grace:       300 * time.Millisecond,
	}
	t.Cleanup(func() {
		entries, _ := os.ReadDir(m.root)
		for _, entry := range entries {
			_, _ = m.stop(context.Background(), m.directory(entry.Name()), true)
		}
	})
	return m
}

func requestFor(key, how string) provider.ProvisionRequest[Instance] {
	return provider.ProvisionRequest[Instance]{
		Key: key, Name: "linux-" + key, Fleet: "linux", Image: "image-1", InstanceDigest: "digest-1",
		Tags: map[string]string{"installation": "inst", "proof": "v1-x"},
		Bootstrap: bootstrap.Document{
			ManagerURL: "https://127.0.0.1:7443", ServerName: "manager.inst", Token: "tok-secret",
			CAFingerprint: "sha256:" + strings.Repeat("ab", 32),
		},
		Instance: Instance{Env: map[string]string{playVariable: how}},
	}
}

// provision must succeed.
func provision(t testing.TB, m *machine, key, how string) provider.Resource {
	t.Helper()
	resource, err := m.Provision(t.Context(), requestFor(key, how))
	if err != nil {
		t.Fatalf("provision %s: %v", key, err)
	}
	return resource
}

// list must be complete; it gives the resources by id.
func list(t testing.TB, m *machine) map[string]provider.Resource {
	t.Helper()
	found := map[string]provider.Resource{}
	for resource, err := range m.Inspect(t.Context(), provider.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		found[resource.ID] = resource
	}
	return found
}

func awaitState(t testing.TB, m *machine, key string, state provider.State) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s has state %v", key, state), func() bool { return list(t, m)[key].State == state })
}

// leftIn lists what is in the root beside its mark.
func leftIn(m *machine) []string {
	entries, _ := os.ReadDir(m.root)
	var names []string
	for _, entry := range entries {
		if entry.Name() != markFile {
			names = append(names, entry.Name())
		}
	}
	return names
}

func runs(pid int) bool {
	one, err := readProcess(pid)
	return err == nil && !one.zombie
}

// startStranger starts a process, in a session of its own, that runs until the
// test ends.
func startStranger(t *testing.T) (pid int) {
	t.Helper()
	foreign := exec.Command("sleep", "600")
	foreign.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = foreign.Process.Kill()
		_ = foreign.Wait()
	})
	return foreign.Process.Pid
}

// eventually polls a condition that no channel tells of.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
