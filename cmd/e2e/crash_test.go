//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// crashBin builds the programs whose points can be armed, once.
var crashBin = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(bin, "failpoint")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	return dir, buildAll(dir, "-tags", "failpoint")
})

// crashed is a workspace whose programs can be armed, with jobs that tell
// whether they were let finish, and with foreign resources that must stay as they are.
type crashed struct {
	*workspace
	definition
	entries []foreignEntry
}

// newCrashed makes one with a fleet of min hosts, whose plugin is installed.
func newCrashed(t *testing.T, min int) *crashed {
	t.Helper()
	dir, err := crashBin()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorkspace(t)
	w.bin = dir
	jobs := w.path("jobs")
	if err := os.Mkdir(jobs, 0o755); err != nil {
		t.Fatal(err)
	}
	c := &crashed{workspace: w, definition: definition{
		min: min, max: min + 1, pluginEnv: `"FORGEYARD_PLUGIN_FAILPOINT", "FORGEYARD_PLUGIN_FAILPOINT_FILE"`,
		command: "exec >" + jobs + "/$$ 2>&1; for i in 1 2 3 4 5; do echo $i; sleep 0.05; done; echo end",
	}}
	c.plant()
	c.use(nil)
	return c
}

// use writes the fleet file as it is wanted from now on.
func (c *crashed) use(change func(*definition)) {
	c.t.Helper()
	if change != nil {
		change(&c.definition)
	}
	c.write(c.definition.String())
}

// foreignEntry is something in the provider's root that isn't ours.
type foreignEntry struct {
	folder  string
	process *exec.Cmd // lives in the folder
}

// plant puts foreign entries among the hosts before the first of them is made: a
// folder without a record, and one that another installation made, each with a
// process of its own.
func (c *crashed) plant() {
	c.t.Helper()
	for name, record := range map[string]string{
		"not-an-instance":            "",
		"01k00000000000000000000000": `{"key":"01k00000000000000000000000","installation":"another","fleet":"demo","created":"2026-01-01T00:00:00Z"}`,
	} {
		s := foreignEntry{folder: filepath.Join(c.hosts, name)}
		if err := os.MkdirAll(s.folder, 0o755); err != nil {
			c.t.Fatal(err)
		}
		if record != "" {
			if err := os.WriteFile(filepath.Join(s.folder, "resource.json"), []byte(record), 0o644); err != nil {
				c.t.Fatal(err)
			}
		}
		// It ends with its standard input, and so never outlives the test.
		s.process = exec.Command("cat")
		s.process.Dir, s.process.Env, s.process.SysProcAttr = s.folder, []string{}, &syscall.SysProcAttr{Setsid: true}
		if _, err := s.process.StdinPipe(); err != nil {
			c.t.Fatal(err)
		}
		if err := s.process.Start(); err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() {
			_ = s.process.Process.Kill()
			_ = s.process.Wait()
		})
		c.entries = append(c.entries, s)
		c.foreign = append(c.foreign, name)
	}
}

// foreignEntriesAreUntouched checks that nothing foreign was touched.
func (c *crashed) foreignEntriesAreUntouched() {
	c.t.Helper()
	for _, s := range c.entries {
		if !exists(s.folder) {
			c.t.Errorf("the foreign folder %s is gone", s.folder)
		}
		if cwd, err := os.Readlink(
			filepath.Join("/proc", strconv.Itoa(s.process.Process.Pid), "cwd"),
		); err != nil ||
			cwd != s.folder {
			c.t.Errorf("the foreign process in %s is gone: it is in %q, %v", s.folder, cwd, err)
		}
	}
}

// jobsAreWell checks that every job that began runs or came to its own end, and
// that there was one.
func (c *crashed) jobsAreWell() {
	c.t.Helper()
	var jobs []os.DirEntry
	eventually(c.t, "see a job run", func() bool {
		jobs, _ = os.ReadDir(c.path("jobs"))
		return len(jobs) > 0
	})
	for _, job := range jobs {
		// In this order: one that ends in between has written its last line.
		if pid, err := strconv.Atoi(job.Name()); err == nil && c.alive(pid) {
			continue
		}
		if text := c.read("jobs/" + job.Name()); text != "1\n2\n3\n4\n5\nend\n" {
			c.t.Errorf("job %s was ended before its time, after %q", job.Name(), text)
		}
	}
}

// nothingLiesAbout checks for what is made under another name first.
func (c *crashed) nothingLiesAbout() {
	c.t.Helper()
	for _, pattern := range []string{"state/keys/*.new-*", "plugins/tmp/*"} {
		if left, err := filepath.Glob(c.path(pattern)); err != nil || len(left) > 0 {
			c.t.Errorf("unfinished files lie about: %v, %v", left, err)
		}
	}
}

// armed is the environment that ends a process at a point.
func (c *crashed) armed(variable, point, file string) []string {
	return []string{variable + "=" + point, variable + "_FILE=" + file}
}

// dieAt runs a command that must be killed at the point, and nowhere else.
func (c *crashed) dieAt(point string, args ...string) {
	c.t.Helper()
	told := c.path("reached-" + strings.NewReplacer("#", "-").Replace(point))
	run := c.startWith(c.armed("FORGEYARD_FAILPOINT", point, told), args...)
	r := run.wait()
	if !exists(told) {
		c.t.Fatalf(
			"%s was never reached: forgeyard-fleet %s ended with %d\n%s%s",
			point,
			strings.Join(args, " "),
			r.code,
			r.out,
			r.err,
		)
	}
	status, _ := run.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if pid, _ := pidIn(told); pid != run.cmd.Process.Pid || status.Signal() != unix.SIGKILL {
		c.t.Fatalf("%s was reached by process %d, and forgeyard-fleet %s (process %d) ended with %v\n%s%s",
			point, pid, strings.Join(args, " "), run.cmd.Process.Pid, run.cmd.ProcessState, r.out, r.err)
	}
	if err := os.Remove(told); err != nil {
		c.t.Fatal(err)
	}
}

func pidIn(file string) (int, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(content)))
}

// shouldBeRight checks that there are exactly the hosts that are wanted, and that
// nothing else has come to harm or was left behind.
func (c *crashed) shouldBeRight() []instance {
	c.t.Helper()
	all := c.shouldHave(c.min)
	c.foreignEntriesAreUntouched()
	c.jobsAreWell()
	c.nothingLiesAbout()
	return all
}

// nothingShouldBeLeft checks that nothing is left but the foreign entries.
func (c *crashed) nothingShouldBeLeft() {
	c.t.Helper()
	c.shouldBeEmpty()
	c.foreignEntriesAreUntouched()
	c.jobsAreWell()
	c.nothingLiesAbout()
}
