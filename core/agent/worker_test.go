//go:build unix

package agent

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

func init() { plays["worker"] = playWorker }

// playWorker is a scheduler's worker with one job, in a process of its own: when
// it is asked to end it lets the job come to its end. It notes what is done to it
// in the file NOTES, and the job ends once there is a file END.
func playWorker() {
	asked := make(chan os.Signal, 10)
	signal.Notify(asked, syscall.SIGTERM)
	note := func(text string) {
		f, err := os.OpenFile(os.Getenv("NOTES"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		fmt.Fprintln(f, text)
	}
	job := exec.Command(
		"sh",
		"-c",
		`trap 'echo the job was signalled >>"$NOTES"' TERM; echo the job runs >>"$NOTES"; while [ ! -e "$END" ]; do sleep 0.02; done`,
	)
	job.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := job.Start(); err != nil {
		panic(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- job.Wait() }()
	for {
		select {
		case s := <-asked:
			note("asked by " + s.String())
		case <-ended:
			note("the job is over")
			return
		}
	}
}

// workerRun is a directive to run this program as a worker.
func workerRun(folder string, maxJobs int) agentapi.Directive {
	return agentapi.Directive{
		Want:    agentapi.WantRun,
		Order:   "run-1",
		Worker:  true,
		MaxJobs: maxJobs,
		Command: []string{isolation.OwnProgram, "-test.run=^$"},
		Env: map[string]string{
			playVariable: "worker",
			"NOTES":      filepath.Join(folder, "notes"),
			"END":        filepath.Join(folder, "end"),
		},
	}
}

func notes(folder string) string {
	content, _ := os.ReadFile(filepath.Join(folder, "notes"))
	return string(content)
}

func TestOnAStopTheWorkerIsAskedOnceAndItsJobGoesOn(t *testing.T) {
	h, folder := newJobHost(t), t.TempDir()
	m := &playedManager{t: t, directive: workerRun(folder, 0), next: 50 * time.Millisecond}
	end := h.begin(h.against(m))
	waitFor(t, "the worker's job runs", func() bool { return strings.Contains(notes(folder), "the job runs") })
	m.set(func() { m.directive = agentapi.Directive{Want: agentapi.WantStop, Order: "stop-1"} })
	waitFor(t, "the worker was asked", func() bool { return strings.Contains(notes(folder), "asked by terminated") })
	beats := 0
	m.set(func() { beats = len(m.beats) })
	// The grace of a job that is ended is one second here: the worker's is as long
	// as its job takes.
	m.eventually("many beats later", func() bool { return len(m.beats) > beats+25 })
	m.set(func() {
		if last := m.last(); last.Phase != phaseRunning || last.GroupEmpty || last.Order != "stop-1" {
			t.Errorf("while the job runs it reports %+v", last)
		}
	})
	if err := os.WriteFile(filepath.Join(folder, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.eventually("it reports the stop", func() bool { return m.last().Phase == phaseStopped && m.last().GroupEmpty })
	if got, want := notes(folder), "the job runs\nasked by terminated\nthe job is over\n"; got != want {
		t.Errorf("what happened is:\n%swant:\n%s", got, want)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

func TestAWorkerThatDiesIsStartedAgainUnlessItRunsOnce(t *testing.T) {
	for name, maxJobs := range map[string]int{"for as long as it is wanted": 0, "once": 1} {
		t.Run(name, func(t *testing.T) {
			h, folder := newJobHost(t), t.TempDir()
			h.config.Restart = Backoff{First: 150 * time.Millisecond, Most: time.Minute}
			if err := os.WriteFile(filepath.Join(folder, "end"), nil, 0o600); err != nil {
				t.Fatal(err) // the job, and the worker with it, ends at once
			}
			m := &playedManager{t: t, directive: workerRun(folder, maxJobs), next: 50 * time.Millisecond}
			r := h.against(m)
			began := time.Now()
			if maxJobs == 1 {
				ended := make(chan error, 1)
				go func() { defer r.close(); ended <- r.run(t.Context()) }()
				if err := <-ended; err != nil || strings.Count(notes(folder), "the job runs") != 1 {
					t.Errorf("it ended with %v after\n%s", err, notes(folder))
				}
				return
			}
			end := h.begin(r)
			waitFor(t, "it was started three times", func() bool { return strings.Count(notes(folder), "the job runs") == 3 })
			if took := time.Since(began); took < 450*time.Millisecond {
				t.Errorf("it was started three times within %v, though it ended at once each time", took)
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAnAgentThatIsRefusedAsksItsWorkerToEnd(t *testing.T) {
	h, folder := newJobHost(t), t.TempDir()
	m := &playedManager{t: t, directive: workerRun(folder, 0), next: 50 * time.Millisecond}
	r := h.against(m)
	ended := make(chan error, 1)
	go func() { defer r.close(); ended <- r.run(t.Context()) }()
	waitFor(t, "the worker's job runs", func() bool { return strings.Contains(notes(folder), "the job runs") })
	m.set(func() { m.problem = agentapi.CodeInstanceEnded })
	waitFor(t, "the worker was asked", func() bool { return strings.Contains(notes(folder), "asked by terminated") })
	if err := os.WriteFile(filepath.Join(folder, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("a refused agent ended without saying so")
	}
}

// No one here knows what a signal would do to the job of such a worker.
func TestWorkerStoppedByItsSchedulerGetsNoSignal(t *testing.T) {
	h, folder := newJobHost(t), t.TempDir()
	d := workerRun(folder, 0)
	d.StoppedByScheduler = true
	m := &playedManager{t: t, directive: d, next: 50 * time.Millisecond}
	end := h.begin(h.against(m))
	waitFor(t, "the worker's job runs", func() bool { return strings.Contains(notes(folder), "the job runs") })
	m.set(func() { m.directive = agentapi.Directive{Want: agentapi.WantStop, Order: "stop-1"} })
	beats := 0
	m.eventually("it has heard the stop", func() bool { beats = len(m.beats); return m.last().Order == "stop-1" })
	m.eventually("many beats later", func() bool { return len(m.beats) > beats+10 })
	m.set(func() {
		if last := m.last(); last.Phase != phaseRunning || last.GroupEmpty {
			t.Errorf("while the job runs it reports %+v", last)
		}
	})
	if err := os.WriteFile(filepath.Join(folder, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.eventually("it reports the stop", func() bool { return m.last().Phase == phaseStopped && m.last().GroupEmpty })
	if got, want := notes(folder), "the job runs\nthe job is over\n"; got != want {
		t.Errorf("what happened is:\n%swant:\n%s", got, want)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
}
