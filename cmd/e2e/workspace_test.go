//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long something may take that takes far less: only a failure
// waits for so long.
const patience = 90 * time.Second

// workspace is one installation with everything it has on this machine. Its
// folder's name is in the environment of each of its processes, which is how
// they are found.
type workspace struct {
	t       *testing.T
	base    string
	dir     string // the fleet files
	state   string
	plugins string
	hosts   string // root of the provider "local"
	run     string
	bin     string // the programs
	environ []string
	foreign []string // names among the hosts that aren't ours
}

// made counts the workspaces.
var made atomic.Int64

// newWorkspace makes an empty one. When the test ends, so does every process of
// the workspace.
func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	base := filepath.Join(top, strconv.FormatInt(made.Add(1), 10)) // short: sockets live below it
	w := &workspace{
		t: t, base: base,
		dir: filepath.Join(base, "fleet"), state: filepath.Join(base, "state"), plugins: filepath.Join(base, "plugins"),
		hosts: filepath.Join(base, "hosts"), run: filepath.Join(base, "run"), bin: bin,
	}
	w.environ = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + base,
		"LANG=C.UTF-8",
		"NO_COLOR=1",
		"FLEET_STATE_DIR=" + w.state,
		"FLEET_PLUGIN_DIR=" + w.plugins,
		"XDG_RUNTIME_DIR=" + w.run,
		"FLEET_VAR_root=" + w.hosts,
	}
	t.Cleanup(w.close)
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

// close ends what is left of the workspace. After a failure its files stay.
func (w *workspace) close() {
	eventually(w.t, "end the workspace's processes", func() bool {
		left := w.processes()
		for _, p := range left {
			p.kill()
		}
		return len(left) == 0
	})
	if w.t.Failed() {
		w.t.Logf("the workspace's files are in %s", w.base)
		return
	}
	if err := os.RemoveAll(w.base); err != nil {
		w.t.Errorf("remove the workspace: %v", err)
	}
}

// write makes text the fleet file.
func (w *workspace) write(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path("fleet/fleet.hcl"), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) path(name string) string { return filepath.Join(w.base, name) }

// read is the content of a file of the workspace.
func (w *workspace) read(name string) string {
	w.t.Helper()
	content, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(content)
}

// install installs the plugins of the fleet file as they are published beside the programs.
func (w *workspace) install() {
	w.t.Helper()
	w.fleet(0, w.installs()...)
}

// installs is the command that installs the plugins as they are published beside
// the built programs.
func (w *workspace) installs() []string {
	w.t.Helper()
	key, err := os.ReadFile(filepath.Join(w.bin, "plugins.key.pub"))
	if err != nil {
		w.t.Fatal(err)
	}
	return []string{
		"plugin",
		"install",
		"--from",
		filepath.Join(w.bin, "plugins"),
		"--trust-key",
		strings.TrimSpace(string(key)),
	}
}

// keys are the names of the hosts' folders.
func (w *workspace) keys() []string {
	var keys []string
	for _, name := range w.hostEntries() {
		if !strings.HasPrefix(name, ".") {
			keys = append(keys, name)
		}
	}
	return keys
}

func (w *workspace) hostEntries() []string {
	w.t.Helper()
	entries, err := os.ReadDir(w.hosts)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		// The mark of the folder is not a host.
		if !strings.Contains(entry.Name(), ".forgeyard-local") && !slices.Contains(w.foreign, entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// instance is one of `instance list --json`.
type instance struct {
	ID       string      `json:"id"`
	Key      string      `json:"key"`
	Host     string      `json:"provider_instance"`
	State    string      `json:"state"`
	Conflict shownReason `json:"conflict"`
	Runner   *struct {
		ID      string `json:"id"`
		Phase   string `json:"phase"`
		JobsRun int    `json:"jobs_run"`
	} `json:"runner"`
	Scheduling *struct {
		Leases *int `json:"leases"`
	} `json:"scheduling"`
	Operations []struct {
		Kind     string `json:"kind"`
		State    string `json:"state"`
		Attempts int    `json:"attempts"`
	} `json:"operations"`
}

func (w *workspace) instances() []instance {
	w.t.Helper()
	var all []instance
	if err := json.Unmarshal([]byte(w.fleet(0, "instance", "list", "--json").out), &all); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// shouldHave checks that there are exactly n healthy instances, each with one
// host of its name and one living agent, and nothing else.
func (w *workspace) shouldHave(n int) []instance {
	w.t.Helper()
	if !exists(w.run) {
		w.t.Fatalf("sockets aren't made below %s, where the tests look for them; is its path too long?", w.run)
	}
	all := w.instances()
	var keys []string
	for _, i := range all {
		if i.State != "healthy" || i.Conflict.Code != "" || i.Host != i.Key {
			w.t.Errorf(
				"instance %s is %s on host %q of key %s (conflict %q); it should be healthy on its own host",
				i.ID,
				i.State,
				i.Host,
				i.Key,
				i.Conflict.Text,
			)
		}
		keys = append(keys, i.Key)
	}
	slices.Sort(keys)
	if len(all) != n {
		w.t.Errorf("%d instances, want %d", len(all), n)
	}
	if hosts := w.hostEntries(); !slices.Equal(hosts, keys) {
		w.t.Errorf("the hosts are %v, the instances' keys %v", hosts, keys)
	}
	var locked []int
	for _, key := range w.keys() {
		if pid, held := w.agent(key); held {
			locked = append(locked, pid)
		} else {
			w.t.Errorf("no agent holds the lock of host %s", key)
		}
	}
	slices.Sort(locked)
	// A second start of the same host ends by itself, which may take a moment.
	var agents []int
	eventually(w.t, "see each agent alive once", func() bool {
		agents = w.pids("forgeyard-runner")
		return slices.Equal(agents, locked)
	})
	return all
}

// shouldBeEmpty checks that no host, no agent, no job, no plugin and no manager
// is left.
func (w *workspace) shouldBeEmpty() {
	w.t.Helper()
	if left := w.hostEntries(); len(left) > 0 {
		w.t.Errorf("hosts are left: %v", left)
	}
	if left := w.processes(); len(left) > 0 {
		w.t.Errorf("processes are left: %v", left)
	}
	// A manager that is killed just before it notes a launch leaves an empty
	// folder, which is swept when it is a minute old.
	if left, err := filepath.Glob(
		filepath.Join(w.run, "forgeyard-fleet", "*", "run-*", "launch.json"),
	); err != nil ||
		len(left) > 0 {
		w.t.Errorf("launches of plugins are left: %v, %v", left, err)
	}
}

// eventually polls a condition until it is true, or fails the test.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	within(t, patience, what, condition)
}

// within is eventually with a deadline that is a promise of its own.
func within(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(3 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(limit); !condition(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("timed out after %s: %s", limit, what)
		}
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
