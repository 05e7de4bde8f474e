//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process is a living process of a workspace.
type process struct {
	pid     int
	command string
}

func (p process) String() string { return fmt.Sprintf("%d (%s)", p.pid, p.command) }

// kill ends it. It has its workspace's unique folder in its environment, so it
// is one that the test started.
func (p process) kill() { _ = unix.Kill(p.pid, unix.SIGKILL) }

// processes are all that carry the workspace's folder in their environment:
// managers, plugins, agents and jobs. One that has ended, and waits to be
// reaped, has no environment.
func (w *workspace) processes() []process { return carrying(w.base) }

// carrying are the living processes that have the folder, or something in it, in
// their environment. Another folder's name may begin like it.
func carrying(path string) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err) // no test here works without
	}
	var found []process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// What can't be read has ended meanwhile or is somebody else's.
		environment, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if !bytes.Contains(environment, []byte(path+"/")) && !bytes.Contains(environment, []byte(path+"\x00")) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if text := strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " ")); text != "" {
			found = append(found, process{pid, text})
		}
	}
	return found
}

// pids are the workspace's processes of one program.
func (w *workspace) pids(program string) []int {
	var found []int
	for _, p := range w.processes() {
		if first, _, _ := strings.Cut(p.command, " "); strings.Contains(filepath.Base(first), program) {
			found = append(found, p.pid)
		}
	}
	slices.Sort(found)
	return found
}

// agent is the pid that a host's agent wrote into its lock, and whether the lock
// is held, which is to say that the agent lives.
func (w *workspace) agent(key string) (pid int, held bool) {
	file, err := os.Open(filepath.Join(w.hosts, key, "lock"))
	if err != nil {
		return 0, false
	}
	defer file.Close()
	content, err := os.ReadFile(file.Name())
	if err != nil {
		return 0, false
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(content))); err != nil {
		return 0, false // not yet written, and not to be probed before
	}
	return pid, unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// agents are the pids of all living agents by host.
func (w *workspace) agents() map[string]int {
	agents := map[string]int{}
	for _, key := range w.keys() {
		if pid, held := w.agent(key); held {
			agents[key] = pid
		}
	}
	return agents
}

// launch is a running plugin process as its host wrote it down.
type launch struct {
	folder string
	pid    int
}

// launches are the plugin processes that hosts have started and not removed.
func (w *workspace) launches() []launch {
	w.t.Helper()
	records, err := filepath.Glob(filepath.Join(w.run, "forgeyard-fleet", "*", "run-*", "launch.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	var found []launch
	for _, path := range records {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // removed meanwhile
		}
		var record struct {
			Process struct {
				PID int `json:"pid"`
			} `json:"process"`
		}
		if err := json.Unmarshal(content, &record); err != nil {
			w.t.Fatal(err)
		}
		if record.Process.PID != 0 {
			found = append(found, launch{filepath.Dir(path), record.Process.PID})
		}
	}
	return found
}

// plugin waits for the one plugin process of a running manager and its socket.
func (w *workspace) plugin() (running launch, socket string) {
	w.t.Helper()
	eventually(w.t, "see one plugin with its socket", func() bool {
		all := w.launches()
		if len(all) != 1 {
			return false
		}
		sockets, _ := filepath.Glob(filepath.Join(all[0].folder, "s", "*")) // the pattern is well formed
		if len(sockets) != 1 {
			return false
		}
		running, socket = all[0], sockets[0]
		return true
	})
	return running, socket
}

// alive says that a process of the workspace still runs.
func (w *workspace) alive(pid int) bool {
	return slices.ContainsFunc(w.processes(), func(p process) bool { return p.pid == pid })
}

// terminate asks a process of the workspace to end.
func (p process) terminate() { _ = unix.Kill(p.pid, unix.SIGTERM) }

// processesOf are the workspace's processes of one program.
func (w *workspace) processesOf(program string) []process {
	w.t.Helper()
	var found []process
	for _, p := range w.processes() {
		if first, _, _ := strings.Cut(p.command, " "); strings.Contains(filepath.Base(first), program) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		w.t.Fatalf("no process of %s is there", program)
	}
	return found
}
