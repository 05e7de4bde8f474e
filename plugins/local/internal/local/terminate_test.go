//go:build linux || darwin

package local

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func terminate(t *testing.T, m *machine, key string, force bool) {
	t.Helper()
	state, err := m.Terminate(t.Context(), provider.Ref{ID: key, Key: key, Force: force})
	if state != provider.Gone || err != nil {
		t.Fatalf("terminate %s: got %v, %v", key, state, err)
	}
}

func TestTerminateTwiceAndOfTheUnknownIsGone(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playWell)
	awaitState(t, m, "k1", provider.Running)
	pid := noted(m.directory("k1"), ".starts")[0]
	for range 2 {
		terminate(t, m, "k1", false)
	}
	terminate(t, m, "never-there", false)
	if runs(pid) {
		t.Error("the agent still runs")
	}
	if left := leftIn(m); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTerminateByKeyAloneFindsTheInstance(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playWell)
	if state, err := m.Terminate(t.Context(), provider.Ref{Key: "k1"}); state != provider.Gone || err != nil {
		t.Fatalf("got %v, %v", state, err)
	}
	if len(list(t, m)) != 0 {
		t.Error("it is still listed")
	}
}

// An agent that hasn't come to its lock yet must not come to life afterwards.
func TestTerminateEndsAnAgentThatIsOnlyStarting(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playSlowly)
	process, recorded, err := m.directory("k1").started()
	if err != nil || !recorded {
		t.Fatalf("got %v, %v", recorded, err)
	}
	terminate(t, m, "k1", false)
	if process.alive() {
		t.Error("the agent still runs")
	}
}

func TestAgentThatDoesNotLeaveIsKilled(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playStubborn)
	awaitState(t, m, "k1", provider.Running)
	pid := noted(m.directory("k1"), ".starts")[0]
	terminate(t, m, "k1", false)
	if runs(pid) {
		t.Error("the agent still runs")
	}
}

func TestForceDoesNotWaitForTheGrace(t *testing.T) {
	m := newTestMachine(t)
	m.grace = time.Minute
	provision(t, m, "k1", playStubborn)
	awaitState(t, m, "k1", provider.Running)
	begun := time.Now()
	terminate(t, m, "k1", true)
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Jobs run in groups of their own, and some leave even the session.
func TestNoJobSurvivesItsInstance(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playWithJobs)
	d := m.directory("k1")
	eventually(t, "the jobs run", func() bool { return len(noted(d, ".jobs")) == 2 })
	jobs := noted(d, ".jobs")
	terminate(t, m, "k1", false)
	for _, pid := range jobs {
		if runs(pid) {
			t.Errorf("job %d still runs", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestJobOfAnAgentThatDiedIsKilledToo(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playWithJobs)
	d := m.directory("k1")
	eventually(t, "the jobs run", func() bool { return len(noted(d, ".jobs")) == 2 })
	jobs := noted(d, ".jobs")
	defer syscall.Kill(jobs[1], syscall.SIGKILL)
	agent := noted(d, ".starts")[0]
	if err := syscall.Kill(agent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitState(t, m, "k1", provider.Stopped)
	terminate(t, m, "k1", false)
	if runs(jobs[0]) {
		t.Error("the job in the agent's session still runs")
	}
	// That one left the session, and only its environment leads to it.
	if runtime.GOOS == "linux" && runs(jobs[1]) {
		t.Error("the job in a session of its own still runs")
	}
}

func TestTheMarkOfAnotherInstanceIsNobodysFamily(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playWell)
	provision(t, m, "k1x", playWithJobs)
	other := m.directory("k1x")
	eventually(t, "the jobs run", func() bool { return len(noted(other, ".jobs")) == 2 })
	terminate(t, m, "k1", true)
	for _, pid := range append(noted(other, ".jobs"), noted(other, ".starts")...) {
		if !runs(pid) {
			t.Errorf("process %d of another instance was ended", pid)
		}
	}
}

// A directory that somebody copied names the agent of the one that it was copied
// from.
func TestRemovingCopiedDirectoryKeepsOriginalAgent(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playWell)
	copied := m.directory("k2")
	if err := os.CopyFS(string(copied), os.DirFS(string(m.directory("k1")))); err != nil {
		t.Fatal(err)
	}
	content, err := copied.record()
	if err != nil {
		t.Fatal(err)
	}
	content.Key = "k2"
	if err := writeJSON(copied.path(recordFile), content); err != nil {
		t.Fatal(err)
	}
	terminate(t, m, "k2", true)
	for _, pid := range noted(m.directory("k1"), ".starts") {
		if !runs(pid) {
			t.Errorf("process %d of the original was ended", pid)
		}
	}
	terminate(t, m, "k1", true)
}

func TestAProcessThatCarriesAnotherFoldersMarkLives(t *testing.T) {
	foreign := exec.Command("sleep", "600")
	foreign.Env = []string{hostMark + "=/elsewhere/k1"}
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = foreign.Process.Kill(); _ = foreign.Wait() }()
	m := newTestMachine(t)
	provision(t, m, "k1", playWell)
	terminate(t, m, "k1", true)
	if !runs(foreign.Process.Pid) {
		t.Error("it was killed")
	}
}

// After a restart of the machine, or when numbers have come round, the pid in an
// old directory is somebody else's.
func TestProcessThatOnlyHasTheSameNumberIsLeftAlone(t *testing.T) {
	pid := startStranger(t)
	identity := identify(pid)
	for name, record := range map[string]started{
		"of another boot":       {PID: pid, Begun: identity.Begun, Boot: "another"},
		"of another start time": {PID: pid, Begun: "1", Boot: identity.Boot},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestMachine(t)
			request := requestFor("k1", playWell)
			if err := m.create(m.recordOf(request), fileDocument(request.Bootstrap)); err != nil {
				t.Fatal(err)
			}
			d := m.directory("k1")
			if err := writeJSON(d.path(startedFile), record); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(d.path(lockFile), []byte("4194303\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if state := list(t, m)["k1"].State; state != provider.Stopped {
				t.Errorf("state %v", state)
			}
			terminate(t, m, "k1", true)
			if !runs(pid) {
				t.Fatal("a foreign was killed")
			}
		})
	}
}

func TestTerminateRefusesWhatIsNotOurs(t *testing.T) {
	m := newTestMachine(t)
	other := *m
	other.installation = "other"
	request := requestFor("theirs", playWell)
	if err := other.create(other.recordOf(request), fileDocument(request.Bootstrap)); err != nil {
		t.Fatal(err)
	}
	provision(t, m, "ours", playWell)
	if err := os.Mkdir(filepath.Join(m.root, "photos"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, ref := range map[string]provider.Ref{
		"another installation's":    {ID: "theirs", Key: "theirs"},
		"an id with another key":    {ID: "ours", Key: "theirs"},
		"a folder without a record": {ID: "photos"},
		"a path":                    {ID: "../" + filepath.Base(m.root) + "/ours"},
		"the root itself":           {ID: "."},
		"above the root":            {ID: ".."},
	} {
		t.Run(name, func(t *testing.T) {
			state, err := m.Terminate(t.Context(), ref)
			if conflict, ok := errors.AsType[*provider.Error](err); state != provider.Refused || !ok ||
				conflict.Class != provider.Conflict {
				t.Errorf("got %v, %v", state, err)
			}
		})
	}
	for _, folder := range []string{"theirs", "ours", "photos"} {
		if _, err := os.Stat(filepath.Join(m.root, folder)); err != nil {
			t.Error(err)
		}
	}
}

// A removal that a crash cut short before the rename is finished by the next.
func TestCrashInMidRemovalIsFinishedByTheNext(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playWell)
	awaitState(t, m, "k1", provider.Running)
	if err := m.directory("k1").markTerminating(); err != nil {
		t.Fatal(err)
	}
	if state := list(t, m)["k1"].State; state != provider.Stopping {
		t.Errorf("state %v", state)
	}
	terminate(t, m, "k1", false)
}

func TestSweepFinishesDeletionsAndOldMakings(t *testing.T) {
	m := newTestMachine(t)
	const key = "01k00000000000000000000000"
	making := ".tmp-" + key + "-1"
	others := []string{".gone-fishing", ".tmp-notes", "k3"}
	for _, folder := range append([]string{".gone-" + key + "/sub", making}, others...) {
		if err := os.MkdirAll(filepath.Join(m.root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, mark := range []string{markFile + "-ab12", "." + markFile + "-ab12-34"} { // in the making
		if err := os.WriteFile(filepath.Join(m.root, mark), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.sweep()
	if _, err := os.Stat(filepath.Join(m.root, making)); err != nil {
		t.Errorf("a young directory in the making was swept: %v", err)
	}
	m.now = func() time.Time { return time.Now().Add(2 * makingTime) }
	m.sweep()
	if left := leftIn(m); !slices.Equal(left, others) || m.here() != nil {
		t.Errorf("left %v; the root's own mark: %v", left, m.here())
	}
}

// Go's module cache has folders without write permission.
func TestFoldersWithoutWritePermissionAreDeleted(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playWell)
	locked := m.directory("k1").path("agent/cache/module")
	if err := os.MkdirAll(locked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(locked, "file"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	terminate(t, m, "k1", false)
	if left := leftIn(m); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
