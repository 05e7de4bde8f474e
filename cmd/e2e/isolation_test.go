//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// builtAlready in the environment is the folder of the built programs, in a
// process that runs one test in a network of its own.
const builtAlready = "FORGEYARD_E2E_BIN"

// madeAlready in the environment is the number that the workspaces of such a
// process are counted from: its parent's are in the same folder.
const madeAlready = "FORGEYARD_E2E_MADE"

// ownNetwork runs the test again with a new network, which has no way out: agents
// that isolate jobs make routing rules and call metadata addresses. In there it
// gives true.
func ownNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(builtAlready) != "" {
		if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return true
	}
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("this test needs root, and is not to be left out here")
		}
		t.Skip("this test needs root: agents run jobs as other users")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "280s")
	cmd.Env = append(os.Environ(), builtAlready+"="+bin, madeAlready+"="+strconv.FormatInt(made.Add(100)-100, 10))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	t.Logf("in a network of its own:\n%s", out)
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("in a network of its own the test failed: %v", err)
	}
	return false
}

// A manager that runs as root has agents that do, and so can isolate jobs: the
// fleet's default admits hosts, and what their jobs try fails.
func TestJobsOfTheProviderLocalAreIsolatedWhereRootRunsIt(t *testing.T) {
	t.Parallel()
	if !ownNetwork(t) {
		return
	}
	w := newWorkspace(t)
	shared := "/tmp/" + filepath.Base(top) + "-of-a-job"
	t.Cleanup(func() { _ = os.Remove(shared) })
	job := `exec 2>&1; echo "uid $(id -u) in $PWD"
cat "$FORGEYARD_HOST_MARK/bootstrap.json"; ls "$FORGEYARD_HOST_MARK/agent"; cat /proc/$PPID/environ
[ -e left ] || [ -e ` + shared + ` ] && echo found what another job left
touch left; touch ` + shared + `
(setsid sleep 600 &)
echo tried`
	w.write(
		strings.Replace(
			definition{min: 1, max: 2, isolation: "required", command: job}.String(),
			"    command = [",
			"    cleanup = [\"sh\", \"-c\", \"test ! -e "+shared+" && test $(id -u) = 0\"]\n    command = [",
			1,
		),
	)
	w.install()
	w.apply(0)
	i := w.shouldHave(1)[0]
	// The manager is away now, and the jobs continue.
	previous := fmt.Sprintf("hosts/%s/agent/job.previous.log", i.Key)
	eventually(t, "a second job ran", func() bool { return exists(w.path(previous)) })
	if shown := w.fleet(0, "instance", "show", i.ID).out; !strings.Contains(shown, "isolated: jobs run as user 6") {
		t.Errorf("the instance's admission doesn't show isolation:\n%s", shown)
	}
	log := w.read(previous)
	if !strings.HasPrefix(log, "uid 6") || !strings.HasSuffix(log, "tried\n") ||
		strings.Count(log, "ermission denied") != 3 ||
		strings.Contains(log, "token") ||
		strings.Contains(log, "found what another") {
		t.Errorf("a job says\n%s", log)
	}
	w.write(definition{removed: true}.String())
	w.apply(0)
	w.shouldBeEmpty()
}
