//go:build unix

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// cleaning is a directive with a hook that is a shell's.
func cleaning(command, hook string) agentapi.Directive {
	return agentapi.Directive{
		Want:    agentapi.WantRun,
		Order:   "one",
		Command: []string{"sh", "-c", command},
		Cleanup: []string{"sh", "-c", hook},
	}
}

func TestTheCleanUpHookRunsBetweenJobs(t *testing.T) {
	h := newJobHost(t)
	h.config.CleanupTime = 20 * time.Second
	log := filepath.Join(t.TempDir(), "log")
	directive := cleaning(
		"echo job $(ls -A "+h.config.StateDir+"/work | wc -l) >> "+log,
		"echo hook $(ls "+h.config.StateDir+" | grep -c work) $GREETING$FORGEYARD_JOB >> "+log,
	)
	directive.Env = map[string]string{"GREETING": "of the job"}
	directive.MaxJobs = 2
	m := &playedManager{t: t, next: 20 * time.Millisecond, directive: directive}
	r := h.against(m)
	// It leaves at its limit, and not before the last hook is done.
	if err := r.run(t.Context()); err != nil {
		t.Error(err)
	}
	r.close()
	content, err := os.ReadFile(log)
	if want := "job 1\nhook 0\njob 1\nhook 0\n"; err != nil || string(content) != want {
		t.Errorf("what ran is\n%s, %v", content, err)
	}
	if len(h.history.record.Cleanup) > 0 {
		t.Errorf("a hook is still due: %+v", h.history.record)
	}
}

func TestAHostWhoseCleanUpHookFailsComplainsAndBeginsNoOtherJob(t *testing.T) {
	for _, c := range []struct {
		name, hook, says string
		limit            time.Duration
	}{
		{"it fails", "echo the volume is stuck >&2; exit 3", `exit status 3 (end of its output: "the volume is stuck")`,
			time.Minute},
		{"it takes too long", "echo begun; sleep 600", `did not finish within 3s (end of its output: "begun")`,
			3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newJobHost(t)
			h.config.CleanupTime = c.limit
			m := &playedManager{t: t, next: 20 * time.Millisecond, directive: cleaning("true", c.hook)}
			for _, when := range []string{"at once", "after a restart"} {
				r := h.against(m)
				end := h.begin(r)
				m.eventually("it complains", func() bool { return strings.Contains(m.last().Unhealthy, c.says) })
				beats := 0
				m.set(func() { beats = len(m.beats) })
				m.eventually("more beats come", func() bool { return len(m.beats) > beats+5 })
				if err := end(); err != nil {
					t.Error(err)
				}
				if beat := m.last(); beat.JobsRun != 1 || beat.Unhealthy == "" ||
					!strings.HasPrefix(beat.Unhealthy, "the clean-up hook failed: sh") {
					t.Errorf("%s the beat is %+v", when, beat)
				}
				again, err := openHistory(h.config.StateDir)
				if err != nil {
					t.Fatal(err)
				}
				h.history = again
				m.set(func() { m.beats = nil })
			}
		})
	}
}

func TestInterruptedCleanUpHookRunsAtTheNextStart(t *testing.T) {
	h := newJobHost(t)
	h.config.CleanupTime = time.Minute
	folder := t.TempDir()
	m := &playedManager{
		t:         t,
		next:      20 * time.Millisecond,
		directive: cleaning("true", "echo >> "+folder+"/begun; [ -e "+folder+"/quick ] || sleep 600"),
	}
	begun := func() int {
		content, _ := os.ReadFile(filepath.Join(folder, "begun"))
		return len(content)
	}
	end := h.begin(h.against(m))
	waitFor(t, "the hook runs", func() bool { return begun() == 1 })
	if err := end(); err != nil {
		t.Error(err)
	}
	if h.history.record.CleanupFailed != "" || len(h.history.record.Cleanup) == 0 {
		t.Fatalf("it is noted as %+v", h.history.record)
	}
	if err := os.WriteFile(filepath.Join(folder, "quick"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.set(func() { m.directive = agentapi.Directive{Want: agentapi.WantWait, Order: "two"} })
	end = h.begin(h.against(m))
	waitFor(t, "the hook runs again", func() bool { return begun() == 2 })
	m.eventually(
		"it is done and nothing is complained of",
		func() bool { return m.last().Order == "two" && m.last().Unhealthy == "" },
	)
	if err := end(); err != nil {
		t.Error(err)
	}
}
