//go:build unix

package agent

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// jobHost is a state folder in which jobs are run.
type jobHost struct {
	t       *testing.T
	config  Config
	history *history
}

func newJobHost(t *testing.T) *jobHost {
	t.Helper()
	if err := process.AdoptOrphans(); err != nil {
		t.Fatal(err)
	}
	c := Config{
		StateDir: t.TempDir(),
		Path:     os.Getenv("PATH"),
		LogLimit: 1000,
		Now:      time.Now,
		Random:   func() float64 { return 0 },
		Logger:   slog.New(slog.DiscardHandler),
	}
	h, err := openHistory(c.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	return &jobHost{t: t, config: c, history: h}
}

func (h *jobHost) start(script string, env map[string]string) *job {
	h.t.Helper()
	j, err := startJob(h.config, h.history, agentapi.Directive{Command: []string{"sh", "-c", script}, Env: env}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return j
}

func (h *jobHost) run(script string, env map[string]string) jobResult {
	h.t.Helper()
	return h.start(script, env).finish(context.Background())
}

func (h *jobHost) log() string {
	content, err := os.ReadFile(filepath.Join(h.config.StateDir, "job.log"))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(content)
}

func TestAJobSeesACleanHost(t *testing.T) {
	t.Setenv("AGENTS_SECRET", "x")
	h := newJobHost(t)
	if r := h.run("env; pwd; ls -A", map[string]string{"GREETING": "hello"}); r.failed || !r.clean || r.problem != "" {
		t.Fatalf("the job ended with %+v: %s", r, h.log())
	}
	var names []string
	for line := range strings.Lines(h.log()) {
		if name, _, isVariable := strings.Cut(line, "="); isVariable {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	// The shell itself adds PWD, and some add more.
	names = slices.DeleteFunc(
		names,
		func(n string) bool { return n == "PWD" || n == "OLDPWD" || n == "SHLVL" || n == "_" },
	)
	want := []string{"FORGEYARD_HOST_INTERRUPTION", "FORGEYARD_JOB", "GREETING", "HOME", "LANG", "PATH", "TMPDIR"}
	if !slices.Equal(names, want) {
		t.Errorf("the job's environment has %v, want %v", names, want)
	}
	if !strings.HasSuffix(h.log(), "/work\ntmp\n") {
		t.Errorf("the job's folder isn't fresh: %s", h.log())
	}
}

func TestEveryJobCarriesTheMarkOfWhoStartedTheAgent(t *testing.T) {
	h := newJobHost(t)
	h.config.HostMark = "/hosts/one"
	h.run("env", map[string]string{HostMarkVariable: "forged"})
	if log := h.log(); !strings.Contains(log, HostMarkVariable+"=/hosts/one\n") || strings.Contains(log, "forged") {
		t.Errorf("the job's environment is %s", log)
	}
}

func TestProcessesThatCanNotBeEndedAreReported(t *testing.T) {
	h := newJobHost(t)
	j := h.start("setsid sleep 600 & echo ready", nil)
	h.waitForLog("ready")
	r := newRunner(h.config, nil, &identity{}, h.history, 0)
	defer r.cancel()
	r.job = j
	if beat := r.beat(); beat.Unhealthy != "" {
		t.Errorf("before anything resists the beat says %q", beat.Unhealthy)
	}
	// Nothing resists SIGKILL here: instead the agent has no time left to see the end.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	result := j.finish(ctx)
	const says = "1 processes of a job can't be ended"
	if result.clean || result.problem != says {
		t.Errorf("the job ended with %+v", result)
	}
	if beat := r.beat(); beat.Unhealthy != says || beat.GroupEmpty || beat.Phase != phaseRunning {
		t.Errorf("the beat is %+v", beat)
	}
	// Once they are gone, so is the complaint.
	r.keepResult(result)
	if beat := r.beat(); beat.Unhealthy != says || beat.GroupEmpty {
		t.Errorf("with processes left the beat is %+v", beat)
	}
	waitFor(t, "nothing is left", func() bool {
		r.cleanDue = time.Now()
		r.cleanUp()
		return r.problem == ""
	})
	if beat := r.beat(); beat.Unhealthy != "" || !beat.GroupEmpty {
		t.Errorf("when all is gone the beat is %+v", beat)
	}
}

func TestAJobsFolderIsRemovedEvenWhenTheJobMadeItReadOnly(t *testing.T) {
	h := newJobHost(t)
	j := h.start("mkdir -p a/b; touch a/b/c; chmod 500 a/b a", nil)
	if r := j.finish(t.Context()); r.problem != "" {
		t.Error(r.problem)
	}
	if _, err := os.Stat(j.folder); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestAJobsOutputIsKeptUpToALimitAndDoesNotBlockIt(t *testing.T) {
	h := newJobHost(t)
	if r := h.run("yes | head -c 300000; exit 3", nil); r.exit != "exit status 3" || !r.failed {
		t.Errorf("the job ended with %+v", r)
	}
	if log := h.log(); len(log) > 1100 || !strings.HasSuffix(log, "[output truncated after 1000 bytes]\n") {
		t.Errorf("the log has %d bytes", len(log))
	}
	h.run("echo next", nil)
	if previous, err := os.ReadFile(
		filepath.Join(h.config.StateDir, "job.previous.log"),
	); err != nil || h.log() != "next\n" ||
		len(previous) < 1000 {
		t.Errorf("the log before is not kept: %v", err)
	}
}

func TestAJobIsOverOnlyWhenNoProcessOfItIsLeft(t *testing.T) {
	for name, script := range map[string]string{
		"a child in the background":                "sleep 600 & echo $!",
		"a child that ignores being asked":         "sh -c 'trap \"\" TERM HUP; sleep 600' & echo $!",
		"a daemon in a session of its own":         "setsid sleep 600 & echo $!",
		"a daemon that dropped the job's mark":     "setsid env -i $(command -v sleep) 600 & echo $!",
		"a daemon's child whose parents are gone":  "setsid sh -c 'sh -c \"sleep 600 & echo \\$!\" &'; sleep 0.1",
		"a child that holds the output for itself": "sleep 600 >&2 & echo $!",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("setsid"); err != nil && strings.Contains(script, "setsid") {
				t.Skip("setsid is Linux's")
			}
			h := newJobHost(t)
			r := h.run(script, nil)
			if !r.clean || r.failed || r.problem != "" {
				t.Errorf("the job ended with %+v", r)
			}
			pid := strings.TrimSpace(h.log())
			if pid == "" {
				t.Fatal("the script told no pid")
			}
			// Reaped, not only killed: the pid is free again.
			if out, err := exec.Command("kill", "-0", pid).CombinedOutput(); err == nil {
				t.Errorf("process %s is left (%s)", pid, out)
			}
		})
	}
}

func TestAJobThatIsAskedToEndAndDoesNotIsForced(t *testing.T) {
	for _, c := range []struct {
		name, script, exit string
	}{
		{"it ends when asked", "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done", "exit status 7"},
		{"it is forced", "trap '' TERM; echo ready; while :; do sleep 0.05; done", "signal: killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newJobHost(t)
			h.config.Grace = 300 * time.Millisecond
			r := newRunner(h.config, nil, &identity{}, h.history, 0)
			defer r.close()
			r.job = h.start(c.script, nil)
			go func() { r.jobOver <- r.job.finish(r.background) }()
			h.waitForLog("ready")
			if !r.endJob() || r.job != nil || !r.groupEmpty() {
				t.Error("the host isn't empty")
			}
			if r.history.record.LastExit != c.exit {
				t.Errorf("the job ended with %s", r.history.record.LastExit)
			}
		})
	}
}

// waitForLog waits until the job has written the text.
func (h *jobHost) waitForLog(text string) {
	h.t.Helper()
	waitFor(h.t, "the job wrote "+text, func() bool { return strings.Contains(h.log(), text) })
}

// waitFor polls a condition that no channel tells of.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came true that %s", what)
		}
	}
}

func TestMissingCommandIsNotCountedAsAJob(t *testing.T) {
	h := newJobHost(t)
	_, err := startJob(h.config, h.history, agentapi.Directive{Command: []string{"no-such-command"}}, nil)
	if err == nil || h.history.record.Begun != 0 || h.history.record.Running != nil ||
		!strings.Contains(h.history.record.LastExit, "no-such-command") {
		t.Errorf("%v, noted as %+v", err, h.history.record)
	}
}

func TestACommandThatFailsAtOnceIsHeldBackMoreAndMore(t *testing.T) {
	r := &runner{Config: Config{Restart: Backoff{First: time.Second, Most: time.Minute}}}
	for _, c := range []struct {
		failed bool
		wait   time.Duration
	}{{true, time.Second}, {true, 2 * time.Second}, {true, 4 * time.Second}, {false, minJobInterval},
		{true, time.Second}} {
		before := time.Now()
		r.delayNextJob(c.failed)
		if after := time.Now(); r.jobNotBefore.Before(before.Add(c.wait)) || r.jobNotBefore.After(after.Add(c.wait)) {
			t.Errorf(
				"after failed=%v it waits until %v, want %v after a moment from %v to %v",
				c.failed,
				r.jobNotBefore,
				c.wait,
				before,
				after,
			)
		}
	}
}

func TestBackoffDoublesToItsMost(t *testing.T) {
	b := Backoff{First: time.Second, Most: time.Minute}
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second,
		7: time.Minute, 1 << 30: time.Minute} {
		if got := b.After(failures); got != want {
			t.Errorf("after %d failures it waits %v, want %v", failures, got, want)
		}
		if low, high := b.Jittered(failures, 0), b.Jittered(failures, 1); low != want/2 || high != want {
			t.Errorf("jitter gives %v to %v", low, high)
		}
	}
}

// abandon leaves the job's processes as a killed agent would: noted and running.
func (h *jobHost) abandon(script string) (*job, jobRecord) {
	j := h.start(script, nil)
	h.waitForLog("ready")
	return j, *h.history.record.Running
}

func TestProcessesOfAKilledAgentAreFoundByMarkOrGroup(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("only Linux finds processes by their mark")
	}
	stranger := exec.Command("sleep", "600")
	stranger.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := process.Start(stranger); err != nil { // not what a job left
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait(stranger) }()
	defer func() { _ = stranger.Process.Kill(); <-ended }()

	h := newJobHost(t)
	j, record := h.abandon("setsid sleep 600 & env -i $(command -v sleep) 600 & echo ready; wait")
	gone := func(r jobRecord) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if done, err := process.EndJobProcesses(r.JobProcesses, holdUser); done && err == nil {
				return
			} else if time.Now().After(deadline) {
				t.Fatalf("the process isn't gone: %v", err)
			}
		}
	}
	// A record whose pid is somebody else's by now, or from before a restart of
	// the host, ends nothing.
	reused := jobRecord{
		JobProcesses: process.JobProcesses{Mark: "another", PID: stranger.Process.Pid, Started: "1", Boot: record.Boot},
	}
	if done, err := process.EndJobProcesses(reused.JobProcesses, holdUser); !done || err != nil {
		t.Errorf("a reused pid was taken for a process of the job: %v", err)
	}
	otherBoot := record
	otherBoot.Boot = "another"
	if done, err := process.EndJobProcesses(otherBoot.JobProcesses, holdUser); !done || err != nil {
		t.Errorf("a record from before a restart was taken for a process of the job: %v", err)
	}
	if alive, _ := j.group.Members(); len(alive) < 3 {
		t.Fatalf("the job has only %d processes left", len(alive))
	}
	gone(record)
	if r := j.finish(t.Context()); !r.clean || r.exit != "signal: killed" {
		t.Errorf("the job ended with %+v", r)
	}
	select {
	case err := <-ended:
		t.Errorf("a stranger was ended: %v", err)
	default:
	}
}
