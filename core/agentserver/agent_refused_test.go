package agentserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// workingHost is a host whose agent runs a job that ends when it is let.
type workingHost struct {
	host
	agent  *runningAgent
	folder string
	pid    int
}

func (w *world) work(policy fleet.RunnerPolicy) workingHost {
	w.t.Helper()
	folder := w.t.TempDir()
	policy.Command = []string{
		"sh",
		"-c",
		"echo $$ > " + folder + "/pid; echo >> " + folder + "/begun; while [ ! -e " + folder +
			"/end ]; do sleep 0.02; done; touch " + folder + "/done",
	}
	h := workingHost{host: w.provision(policy), folder: folder}
	h.agent = w.startAgent(w.agentConfig(h.host))
	w.shows(h.host, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	w.setState(h.instance, fleet.Healthy, "")
	w.shows(h.host, "the job runs", func(r fleet.Runner) bool { return r.Report.Phase == fleet.PhaseRunning })
	h.pid = w.pid(folder + "/pid")
	return h
}

func (w *world) letEnd(h workingHost) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(h.folder, "end"), nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) logged(text string) {
	w.t.Helper()
	w.eventually("the log says "+text, func() bool { return strings.Contains(w.log.String(), text) })
}

func (w *world) revoke(h host) {
	w.change(func(s *memoryStore) {
		r := s.runners[s.spent[h.operation]]
		r.Revoked = w.now()
		s.runners[r.ID] = r
	})
}

func TestOnlyARevocationEndsAJobAtOnce(t *testing.T) {
	w := startWorld(t)
	h := w.work(fleet.RunnerPolicy{})
	w.revoke(h.host)
	refusedWith(t, h.agent.wait(t), agentapi.CodeRevoked)
	if alive(h.pid) || exists(h.folder+"/done") {
		t.Error("the job continues or was finished")
	}
}

func TestARefusalLetsTheRunningJobFinishAndThenEndsTheAgent(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(w *world, h host)
		code string
	}{
		{"the instance is terminated", func(w *world, h host) {
			w.setState(h.instance, fleet.Terminated, "proven gone")
		}, agentapi.CodeInstanceEnded},
		{"the store lost the runner", func(w *world, h host) {
			w.change(func(s *memoryStore) { delete(s.runners, s.spent[h.operation]); delete(s.spent, h.operation) })
		}, agentapi.CodeUnknownRunner},
		{"its certificate can't be renewed any more", func(w *world, h host) {
			w.moveClock(9 * 24 * time.Hour)
		}, agentapi.CodeCertificateLapsed},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWorld(t)
			h := w.work(fleet.RunnerPolicy{})
			c.end(w, h.host)
			w.logged("the manager refused this agent")
			if !alive(h.pid) {
				t.Fatal("the refusal ended the job")
			}
			w.letEnd(h)
			refusedWith(t, h.agent.wait(t), c.code)
			begun, _ := os.ReadFile(h.folder + "/begun")
			if !exists(h.folder+"/done") || len(begun) != 1 {
				t.Errorf("%d jobs were begun, the first finished: %v", len(begun), exists(h.folder+"/done"))
			}
		})
	}
}

func TestAnAgentThatTheManagerTakesAgainGoesOn(t *testing.T) {
	w := startWorld(t)
	h := w.work(fleet.RunnerPolicy{MaxJobs: 2})
	w.setState(h.instance, fleet.Terminated, "by mistake")
	w.logged("the manager refused this agent")
	w.setState(h.instance, fleet.Healthy, "")
	w.logged("the manager accepts this agent again")
	w.letEnd(h)
	if err := h.agent.wait(t); err != nil {
		t.Fatal(err)
	}
	if begun, _ := os.ReadFile(h.folder + "/begun"); len(begun) != 2 {
		t.Errorf("%d jobs were begun; the second was allowed", len(begun))
	}
}

func TestWaitingAgentFinishesItsJobAndStays(t *testing.T) {
	w := startWorld(t)
	h := w.work(fleet.RunnerPolicy{})
	w.setState(h.instance, fleet.Enrolling, "back to the start")
	w.shows(
		h.host,
		"it heard that it should wait",
		func(r fleet.Runner) bool { return r.Report.Heard == agentapi.WantWait },
	)
	if r, _ := w.runner(h.host); r.Report.Phase != fleet.PhaseRunning || !alive(h.pid) {
		t.Fatalf("waiting ended the job: %+v", r.Report)
	}
	w.letEnd(h)
	r := w.shows(
		h.host,
		"the job is over",
		func(r fleet.Runner) bool { return r.Report.Phase == fleet.PhaseIdle && r.Report.GroupEmpty },
	)
	w.shows(h.host, "it stays and beats", func(now fleet.Runner) bool { return now.Beats > r.Beats+2 })
	if begun, _ := os.ReadFile(h.folder + "/begun"); len(begun) != 1 {
		t.Errorf("%d jobs were begun", len(begun))
	}
	w.setState(h.instance, fleet.Healthy, "")
	w.eventually(
		"it begins the next one",
		func() bool { begun, _ := os.ReadFile(h.folder + "/begun"); return len(begun) > 1 },
	)
}
