package agentserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestARunnerEnrollsWaitsRunsAndStops(t *testing.T) {
	w := startWorld(t)
	ran := filepath.Join(t.TempDir(), "ran")
	h := w.provision(fleet.RunnerPolicy{
		Command: []string{
			"sh",
			"-c",
			`echo "$GREETING" >> "$RAN"; pwd >> "$RAN"; touch file-of-the-job; while [ ! -e "$RAN.end" ]; do sleep 0.02; done`,
		},
		Env: map[string]string{"RAN": ran, "GREETING": "hello"},
	}, "shell", "teleportation")
	c := w.agentConfig(h)
	a := w.startAgent(c)

	// It enrolls and shows its capabilities, but runs nothing before admission.
	r := w.shows(
		h,
		"the agent waits with its probes shown",
		func(r fleet.Runner) bool { return r.Beats > 1 && len(r.Report.Probes) == 2 },
	)
	if !r.Report.Probes["shell"].OK {
		t.Errorf("the shell wasn't shown: %+v", r.Report.Probes)
	}
	if p := r.Report.Probes["teleportation"]; p.OK || p.Evidence != "this agent has no probe for this capability" {
		t.Errorf("a capability without a probe was shown: %+v", p)
	}
	if r.Report.Phase != fleet.PhaseIdle || !r.Report.GroupEmpty || r.AgentVersion != "1.2.3" ||
		r.Report.Isolation != "none" ||
		r.Report.DiskFree == 0 {
		t.Errorf("the report of a waiting agent is %+v", r)
	}
	if exists(ran) {
		t.Fatal("a job ran before admission")
	}

	w.setState(h.instance, fleet.Healthy, "")
	w.shows(
		h,
		"the job runs",
		func(r fleet.Runner) bool { return r.Report.Phase == fleet.PhaseRunning && !r.Report.GroupEmpty },
	)
	w.eventually("the job wrote", func() bool { return exists(ran) })

	// Told to stop, it finishes the job that runs and begins no other.
	w.setState(h.instance, fleet.Draining, "scale down")
	before, _ := w.runner(h)
	w.shows(h, "more beats come", func(r fleet.Runner) bool { return r.Beats >= before.Beats+2 })
	if r, _ := w.runner(h); r.Report.Phase != fleet.PhaseRunning {
		t.Fatalf("a drain ended the job: %+v", r.Report)
	}
	if err := os.WriteFile(ran+".end", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r = w.shows(h, "the agent stopped and nothing is left", func(r fleet.Runner) bool {
		return r.Report.Phase == fleet.PhaseStopped && r.Report.GroupEmpty
	})
	if r.Report.JobsRun != 1 || r.Report.LastExit != "exit status 0" {
		t.Errorf("after one job the report is %+v", r.Report)
	}
	w.shows(h, "it keeps beating", func(now fleet.Runner) bool { return now.Beats >= r.Beats+2 })

	content, err := os.ReadFile(ran)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) != 2 || lines[0] != "hello" || !strings.HasPrefix(lines[1], c.StateDir) {
		t.Errorf("the job wrote %q", lines)
	}
	if exists(filepath.Join(lines[1], "file-of-the-job")) {
		t.Error("the job's folder is still there")
	}

	// A signal ends it, and it says so.
	a.cancel()
	if err := a.wait(t); err != nil {
		t.Fatal(err)
	}
	w.shows(h, "it said that it left", func(r fleet.Runner) bool { return r.LeftReason == "signal" })
}

func TestAJobGoesOnWhileTheManagerIsAway(t *testing.T) {
	w := startWorld(t)
	folder := t.TempDir()
	end := filepath.Join(folder, "end")
	h := w.provision(
		fleet.RunnerPolicy{
			Command: []string{"sh", "-c", "while [ ! -e " + end + " ]; do sleep 0.02; done; touch " + folder + "/done"},
			MaxJobs: 1,
		},
	)
	a := w.startAgent(w.agentConfig(h))
	w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	w.setState(h.instance, fleet.Healthy, "")
	w.shows(h, "the job runs", func(r fleet.Runner) bool { return r.Report.Phase == fleet.PhaseRunning })
	w.stopManager()
	w.eventually("beats fail", func() bool { return strings.Contains(w.log.String(), "call to the manager failed") })
	w.startManager()
	before, _ := w.runner(h)
	r := w.shows(h, "it beats again", func(r fleet.Runner) bool { return r.Beats > before.Beats })
	if r.Report.Phase != fleet.PhaseRunning || exists(filepath.Join(folder, "done")) {
		t.Errorf("the job didn't go on: %+v", r.Report)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.wait(t); err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(folder, "done")) {
		t.Error("the job didn't end by itself")
	}
	w.shows(h, "it left after its one job", func(r fleet.Runner) bool { return r.LeftReason == "max_jobs" })
}

func TestAnAgentLeavesWhenALimitIsReached(t *testing.T) {
	for _, c := range []struct {
		reason string
		policy fleet.RunnerPolicy
		jobs   int
	}{
		{"max_jobs", fleet.RunnerPolicy{Command: []string{"sh", "-c", `echo >> "$RAN"`}, MaxJobs: 2}, 2},
		{"max_age", fleet.RunnerPolicy{MaxAge: time.Second}, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := startWorld(t)
			ran := filepath.Join(t.TempDir(), "ran")
			c.policy.Env = map[string]string{"RAN": ran}
			h := w.provision(c.policy)
			a := w.startAgent(w.agentConfig(h))
			w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
			w.setState(h.instance, fleet.Healthy, "")
			if err := a.wait(t); err != nil {
				t.Fatal(err)
			}
			r, _ := w.runner(h)
			if r.LeftReason != c.reason || r.Left.IsZero() {
				t.Errorf("the runner left for %q", r.LeftReason)
			}
			lines, _ := os.ReadFile(ran)
			if len(lines) != c.jobs {
				t.Errorf("%d jobs ran, want %d", len(lines), c.jobs)
			}
		})
	}
}
