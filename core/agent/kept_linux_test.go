package agent

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// keeperArgument makes this test binary a job that looks for what one before it
// left in the kernel, says what it found, and leaves the same.
const keeperArgument = "keeper"

const keptName = "forgeyard-test-secret"

func beKeeper() int {
	for name, ring := range keptRings() {
		if _, err := unix.KeyctlSearch(ring, "user", keptName, 0); err == nil {
			fmt.Println("found a key in the keyring", name)
		}
	}
	uid := os.Getuid()
	for _, file := range []string{"shm", "sem", "msg"} {
		list, err := os.ReadFile("/proc/sysvipc/" + file)
		if err != nil {
			fmt.Println(err)
		}
		if ids := ipcOf(string(list), uid); len(ids) > 0 {
			fmt.Println("found", file, ids)
		}
	}
	for name, ring := range keptRings() {
		if _, err := unix.AddKey("user", keptName, []byte("secret"), ring); err == nil {
			fmt.Println("left a key in the keyring", name)
		}
		_ = unix.KeyctlSetperm(ring, 0x3f000000) // nobody but who possesses it
	}
	const private, mine = 0, 0o1600 // IPC_PRIVATE; IPC_CREAT, for the owner
	for name, no := range map[string]unix.Errno{
		"shm": ipcCall(unix.SYS_SHMGET, private, 4096, mine),
		"sem": ipcCall(unix.SYS_SEMGET, private, 1, mine),
		"msg": ipcCall(unix.SYS_MSGGET, private, mine, 0),
	} {
		if no == 0 {
			fmt.Println("left", name)
		}
	}
	return 0
}

func keptRings() map[string]int {
	rings := map[string]int{"@u": unix.KEY_SPEC_USER_KEYRING, "@us": unix.KEY_SPEC_USER_SESSION_KEYRING, "@s": unix.KEY_SPEC_SESSION_KEYRING}
	if id, err := unix.KeyctlInt(unix.KEYCTL_GET_PERSISTENT, os.Getuid(), unix.KEY_SPEC_PROCESS_KEYRING, 0, 0); err == nil {
		rings["persistent"] = id
	}
	return rings
}

func TestAnIsolatedJobFindsNothingInTheKernelThatTheOneBeforeItLeft(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	h := newIsolatedHost(t)
	u := h.settleIsolated("")
	for n := range 2 {
		j, err := startJob(h.config, h.history, agentapi.Directive{Command: []string{ownProgram, keeperArgument}}, u)
		if err != nil {
			t.Fatal(err)
		}
		if r := j.finish(t.Context()); !r.clean || r.problem != "" {
			t.Fatalf("job %d ended with %+v: %s", n, r, h.log())
		}
		log := h.log()
		if strings.Contains(log, "found") {
			t.Errorf("job %d:\n%s", n, log)
		}
		for _, file := range []string{"shm", "sem", "msg"} {
			if !strings.Contains(log, "left "+file) {
				t.Errorf("job %d left no %s, so this test shows nothing of it:\n%s", n, file, log)
			}
		}
		t.Log(log)
	}
}

func TestWhatAUserMadeAndGaveAwayIsFoundByItsMaker(t *testing.T) {
	const shm = `       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap
         0          1  1600                  4096    10    10      0 60600 60600 60600 60600          0          0          0                     0                     0
         0          2  1600                  4096    10    10      0     0     0     0     0          0          0          0                     0                     0
         0          3  1600                  4096    10    10      0  1000 60600 60600 60600          0          0          0                     0                     0
         0      60600  1600                  4096 60600 60600      0     0 60600     0 60600          0          0          0                     0                     0
`
	if ids := ipcOf(shm, 60600); !slices.Equal(ids, []int{1, 3}) {
		t.Errorf("found %v, want 1 and 3", ids)
	}
	if ids := ipcOf("", 60600); ids != nil {
		t.Errorf("in nothing: %v", ids)
	}
}

// What an isolated job left in /tmp stayed there for the next one, which has the
// same uid, when the agent was started anew before it could be removed.
func TestWhatAnIsolatedJobLeftIsSweptByTheNextAgent(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	h := newIsolatedHost(t)
	u := h.settleIsolated("")
	left := "/tmp/isolation-left-" + strconv.Itoa(os.Getpid())
	t.Cleanup(func() { _ = os.RemoveAll(left) })
	r := newRunner(h.config, nil, &identity{}, h.history, 0)
	r.job = h.startAs(u, "true")
	result := r.job.finish(t.Context())
	if err := os.WriteFile(left, []byte("a job's"), 0o600); err != nil { // as if it had resisted
		t.Fatal(err)
	}
	if err := os.Chown(left, u.uid, u.gid); err != nil {
		t.Fatal(err)
	}
	result.problem = "the files of a job could not be removed"
	r.keepResult(result)
	r.cancel()

	again, err := openHistory(h.config.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	next := newRunner(h.config, nil, &identity{}, again, 0)
	defer next.cancel()
	if !next.somethingLeft() {
		t.Fatal("the next agent knows of nothing that is left")
	}
	next.cleanUp()
	if _, err := os.Lstat(left); !os.IsNotExist(err) || next.problem != "" || next.somethingLeft() {
		t.Errorf("it is left: %v; %s", err, next.problem)
	}
	if last, err := openHistory(h.config.StateDir); err != nil || last.record.Left != nil {
		t.Errorf("the history still tells of it: %+v, %v", last, err)
	}
}
