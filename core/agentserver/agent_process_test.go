package agentserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

// agentProcess in the environment makes this test binary an agent, so that a
// test can kill it.
const agentProcess = "FORGEYARD_TEST_AGENT"

func TestMain(m *testing.M) {
	if config := os.Getenv(agentProcess); config != "" {
		os.Exit(beAgent(config))
	}
	goleak.VerifyTestMain(m)
}

func beAgent(config string) int {
	var p processConfig
	content, err := os.ReadFile(config)
	if err == nil {
		err = json.Unmarshal(content, &p)
	}
	if err == nil {
		c := agent.Config{ManagerURL: p.Document.ManagerURL, TLS: trust(p.Document),
			Token: p.Document.Token, StateDir: p.StateDir, Version: p.Version, Retry: p.Retry}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
		err = agent.Run(ctx, c)
	}
	if err != nil {
		slog.Error("the agent ended", "error", err)
		return 1
	}
	return 0
}

// processConfig is the part of an agent's Config that a file can hold.
type processConfig struct {
	Document          bootstrap.Document
	StateDir, Version string
	Retry             agent.Backoff
}

// startProcess runs the agent as a process of its own.
func (w *world) startProcess(h host, c agent.Config) *exec.Cmd {
	w.t.Helper()
	content, err := json.Marshal(processConfig{w.document(h), c.StateDir, c.Version, c.Retry})
	if err != nil {
		w.t.Fatal(err)
	}
	config := filepath.Join(w.t.TempDir(), "agent.json")
	if err := os.WriteFile(config, content, 0o600); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), agentProcess+"="+config)
	cmd.Stderr = w.log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestAnAgentKilledInAJobCleansUpAndIsTheSameRunner(t *testing.T) {
	w := startWorld(t)
	folder := t.TempDir()
	h := w.provision(fleet.RunnerPolicy{Command: []string{"sh", "-c",
		"setsid sleep 600 & echo $! > " + folder + "/daemon; echo $$ > " + folder + "/job; exec sleep 600"}, MaxJobs: 1})
	c := w.agentConfig(h)
	process := w.startProcess(h, c)
	w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	w.setState(h.instance, fleet.Healthy, "")
	job, daemon := w.pid(folder+"/job"), w.pid(folder+"/daemon")
	first := w.shows(h, "the job runs", func(r fleet.Runner) bool { return r.Report.Phase == fleet.PhaseRunning })

	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait()
	if !alive(job) || !alive(daemon) {
		t.Fatal("the job should have outlived its agent for this test")
	}

	again := w.startProcess(h, c)
	// One job was all that this host may run, and it has run it.
	if err := again.Wait(); err != nil {
		t.Fatalf("the agent ended with %v; the log:\n%s", err, w.log.String())
	}
	if alive(job) || alive(daemon) {
		t.Error("processes of the job are left")
	}
	r, _ := w.runner(h)
	if r.ID != first.ID || r.KeyHash != first.KeyHash || len(w.store.runners) != 1 {
		t.Errorf("it became another runner: %+v, before %+v", r, first)
	}
	if r.LeftReason != "max_jobs" {
		t.Errorf("it left for %q", r.LeftReason)
	}
}

func TestASecondAgentInTheSameFolderEndsByItself(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{})
	c := w.agentConfig(h)
	w.startAgent(c)
	w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	err := agent.Run(t.Context(), c)
	var running *agent.AlreadyRunningError
	if !errors.As(err, &running) || running.PID != strconv.Itoa(os.Getpid()) {
		t.Fatalf("the second agent ended with %v", err)
	}
	content, _ := os.ReadFile(running.LockFile)
	if string(content) != strconv.Itoa(os.Getpid())+"\n" {
		t.Errorf("the lock file holds %q", content)
	}
}

func (w *world) pid(file string) int {
	w.t.Helper()
	pid := 0
	w.eventually("a process wrote "+file, func() bool {
		content, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(content)))
		return pid > 0
	})
	return pid
}

// alive says whether the process runs: a zombie doesn't.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
