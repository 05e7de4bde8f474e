//go:build linux

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// script starts examples/dev/dev.sh in a process group of its own, as a shell
// would.
func (w *workspace) script(what string) *command {
	w.t.Helper()
	path, err := filepath.Abs("../../examples/dev/dev.sh")
	if err != nil {
		w.t.Fatal(err)
	}
	c := exec.Command(path, what, bin, w.path("dev"))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return w.begin(c, nil, "by dev.sh", what)
}

// The folder of "make dev" is one installation: Ctrl-C leaves its runners alone,
// the next start continues with them, and cleaning takes everything away.
func TestMakeDevServesUntilCtrlCAndGoesOnAndCleans(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for n, name := range w.environ { // the script says where things are
		if strings.HasPrefix(name, "FLEET_") {
			w.environ[n] = "UNUSED="
		}
	}
	inside := *w
	inside.state, inside.plugins, inside.hosts = w.path("dev/state"), w.path("dev/plugins"), w.path("dev/hosts")
	inside.environ = append(
		append([]string(nil), w.environ...),
		"FLEET_STATE_DIR="+inside.state,
		"FLEET_PLUGIN_DIR="+inside.plugins,
	)

	first := w.script("run")
	first.mustSay("Ready.")
	q := &queue{w: &inside, url: strings.TrimSpace(w.read("dev/queue.url"))}
	q.run("submit", "--count", "2", "--", "sleep", "600")
	before := inside.running(2)
	// A folder without fleet files will do: the state directory says the rest.
	if out := inside.fleet(
		0,
		"status",
	).out; !strings.Contains(out, "ready 2 (busy 2") ||
		!strings.Contains(out, "Manager: process") {
		t.Errorf("status says\n%s", out)
	}
	first.signal(syscall.SIGINT)
	if r := first.wait(); r.code != 0 || !strings.Contains(r.out, "stopped in order") ||
		!strings.Contains(r.out, "make dev-clean") {
		t.Fatalf("after Ctrl-C it ends with %d\n%s%s", r.code, r.out, r.err)
	}
	if out := inside.fleet(0, "status").out; !strings.Contains(out, "No manager is running") {
		t.Errorf("status says\n%s", out)
	}
	if agents := inside.agents(); len(agents) != 2 {
		t.Errorf("these agents are left: %v", agents)
	}

	// The queue has forgotten what ran there, so that the same runners, idle by now,
	// leave in order.
	second := w.script("run")
	second.mustSay("Ready.")
	eventually(t, "see the earlier runners leave", inside.isEmpty)
	for _, i := range before {
		if out := inside.fleet(
			0,
			"instance",
			"show",
			i.ID,
		).out; !strings.Contains(out, "terminated") ||
			!strings.Contains(out, "removed there") {
			t.Errorf("instance %s is\n%s", i.ID, out)
		}
	}
	q.run("submit", "--", "sleep", "600")
	inside.running(1)
	if r := w.script("clean").wait(); r.code != 1 || !strings.Contains(r.err, "stop it first") {
		t.Errorf("cleaning beside a manager ends with %d\n%s%s", r.code, r.out, r.err)
	}
	second.signal(syscall.SIGINT)
	if r := second.wait(); r.code != 0 {
		t.Fatalf("after Ctrl-C it ends with %d\n%s%s", r.code, r.out, r.err)
	}

	if r := w.script("clean").wait(); r.code != 0 || exists(w.path("dev")) {
		t.Fatalf("cleaning ends with %d\n%s%s", r.code, r.out, r.err)
	}
	if left := w.processes(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// running waits for so many instances with a job each.
func (w *workspace) running(n int) (all []instance) {
	w.t.Helper()
	eventually(w.t, "see "+itoa(n)+" runners with a job", func() bool {
		all = w.instances()
		busy := 0
		for _, i := range all {
			if s := i.Scheduling; i.State == "healthy" && s != nil && s.Leases != nil && *s.Leases > 0 {
				busy++
			}
		}
		return busy == n
	})
	return all
}
