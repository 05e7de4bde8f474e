package agent

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
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
		if ids := ownedBy(string(list), uid); len(ids) > 0 {
			fmt.Println("found", file, ids)
		}
	}
	for name, ring := range keptRings() {
		if _, err := unix.AddKey("user", keptName, []byte("secret"), ring); err == nil {
			fmt.Println("left a key in the keyring", name)
		}
		_ = unix.KeyctlSetperm(ring, 0x3f000000) // only its possessor
	}
	const private, mine = 0, 0o1600 // IPC_PRIVATE; IPC_CREAT, for the owner
	for name, no := range map[string]unix.Errno{
		"shm": sysvGet(unix.SYS_SHMGET, private, 4096, mine),
		"sem": sysvGet(unix.SYS_SEMGET, private, 1, mine),
		"msg": sysvGet(unix.SYS_MSGGET, private, mine, 0),
	} {
		if no == 0 {
			fmt.Println("left", name)
		}
	}
	return 0
}

// ownedBy are the lines of a list of /proc/sysvipc whose column uid is the user.
func ownedBy(list string, uid int) (lines []string) {
	all := strings.Split(strings.TrimSpace(list), "\n")
	column := slices.Index(strings.Fields(all[0]), "uid")
	for _, line := range all[1:] {
		if strings.Fields(line)[column] == strconv.Itoa(uid) {
			lines = append(lines, line)
		}
	}
	return lines
}

func sysvGet(call, key, second, third uintptr) unix.Errno {
	_, _, no := unix.Syscall6(call, key, second, third, 0, 0, 0)
	return no
}

func keptRings() map[string]int {
	rings := map[string]int{
		"@u":  unix.KEY_SPEC_USER_KEYRING,
		"@us": unix.KEY_SPEC_USER_SESSION_KEYRING,
		"@s":  unix.KEY_SPEC_SESSION_KEYRING,
	}
	if id, err := unix.KeyctlInt(
		unix.KEYCTL_GET_PERSISTENT,
		os.Getuid(),
		unix.KEY_SPEC_PROCESS_KEYRING,
		0,
		0,
	); err == nil {
		rings["persistent"] = id
	}
	return rings
}

func TestIsolatedJobFindsNoKernelObjectsOfTheJobBefore(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	h := newIsolatedHost(t)
	u := h.settleIsolated("")
	for n := range 2 {
		j, err := startJob(
			h.config,
			h.history,
			agentapi.Directive{Command: []string{isolation.OwnProgram, keeperArgument}},
			u,
		)
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

// What an isolated job left in /tmp stayed there for the next one, which has the
// same uid, when the agent was started again before it could be removed.
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
	if err := os.Chown(left, u.UID, u.GID); err != nil {
		t.Fatal(err)
	}
	result.problem = "could not remove the files of a job"
	r.keepResult(result)
	r.cancel()

	again, err := openHistory(h.config.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	next := newRunner(h.config, nil, &identity{}, again, 0)
	defer next.cancel()
	if !next.hasRemains() {
		t.Fatal("the next agent knows of nothing that is left")
	}
	next.cleanUp()
	if _, err := os.Lstat(left); !os.IsNotExist(err) || next.problem != "" || next.hasRemains() {
		t.Errorf("it is left: %v; %s", err, next.problem)
	}
	if last, err := openHistory(h.config.StateDir); err != nil || last.record.Left != nil {
		t.Errorf("the history still tells of it: %+v, %v", last, err)
	}
}
