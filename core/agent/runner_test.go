//go:build unix

package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// playedManager answers beats as a test says and remembers them.
type playedManager struct {
	t  *testing.T
	mu sync.Mutex
	// directive is the answer; problem, where it is set, is the answer instead.
	directive agentapi.Directive
	problem   string
	next      time.Duration // between beats; 0: so long that what comes sooner has a reason
	beats     []agentapi.Heartbeat
	refused   int
	trust     *agentapi.Trust
}

func (m *playedManager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.URL.Path != agentapi.HeartbeatPath {
		_, _ = w.Write([]byte("{}"))
		return
	}
	if m.problem != "" {
		m.refused++
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(agentapi.Problem{Code: m.problem})
		return
	}
	var beat agentapi.Heartbeat
	if err := json.NewDecoder(r.Body).Decode(&beat); err != nil {
		m.t.Error(err)
	}
	m.beats = append(m.beats, beat)
	next := cmp.Or(m.next, time.Minute)
	_ = json.NewEncoder(w).
		Encode(agentapi.HeartbeatResponse{Directive: m.directive, NextMillis: next.Milliseconds(), Trust: m.trust})
}

func (m *playedManager) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *playedManager) eventually(what string, condition func() bool) {
	m.t.Helper()
	waitFor(m.t, what, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return condition()
	})
}

// last is the newest beat; none: one of its own kind.
func (m *playedManager) last() agentapi.Heartbeat {
	if len(m.beats) == 0 {
		return agentapi.Heartbeat{Phase: "none yet"}
	}
	return m.beats[len(m.beats)-1]
}

// against makes an enrolled runner that calls the played manager.
func (h *jobHost) against(m http.Handler) *runner {
	h.t.Helper()
	server := httptest.NewTLSServer(m)
	h.t.Cleanup(server.Close)
	h.config.ManagerURL = server.URL
	h.config.Retry = Backoff{First: 5 * time.Millisecond, Most: 5 * time.Millisecond}
	h.config.Grace = time.Second
	h.config.TLS = func(agentapi.Trust, bool) *tls.Config {
		return &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error { return nil }}
	}
	k, err := newClient(h.config, agentapi.Trust{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(k.close)
	return newRunner(h.config, k, &identity{}, h.history, time.Hour)
}

// begin runs the runner's loop until the returned function is called.
func (h *jobHost) begin(r *runner) (end func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { defer r.close(); ended <- r.run(ctx) }()
	return func() error { cancel(); return <-ended }
}

func TestHeartbeatEchoesItsOrder(t *testing.T) {
	h := newJobHost(t)
	// Each answer leads to at most one early beat, since each order is heard once.
	m := &playedManager{t: t, directive: agentapi.Directive{Want: agentapi.WantStop, Order: "stop-1"}}
	r := h.against(m)
	end := h.begin(r)
	m.eventually("the first beat came before any order, the second under stop-1", func() bool { return len(m.beats) == 2 })
	m.set(func() {
		if first := m.beats[0]; first.Order != "" || first.Phase != phaseIdle {
			t.Errorf("before any order it reports %+v", first)
		}
		if second := m.beats[1]; second.Order != "stop-1" || second.Phase != phaseStopped || !second.GroupEmpty {
			t.Errorf("under stop-1 it reports %+v", second)
		}
	})
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

// A manager that went to run and back to stop must not take the report from the
// first stop for one from the second.
func TestANewOrderBringsAHeartbeat(t *testing.T) {
	h := newJobHost(t)
	m := &playedManager{t: t, directive: agentapi.Directive{Want: agentapi.WantStop, Order: "stop-1"}}
	r := h.against(m)
	beat := func() (early bool) {
		r.heartbeatDue = time.Now()
		r.startCall()
		(<-r.answers)()
		r.calling = false
		return !r.heartbeatDue.After(time.Now())
	}
	defer r.close()
	if !beat() || beat() {
		t.Error("the first order should bring one early beat")
	}
	m.set(func() { m.directive.Order = "stop-2" })
	if !beat() {
		t.Error("another order brought no early beat")
	}
	if early := beat(); early || m.last().Order != "stop-2" {
		t.Errorf("early again: %v; the beat was %+v", early, m.last())
	}
}

func TestRefusedAgentKeepsSendingHeartbeatsWhileItsJobRuns(t *testing.T) {
	for code, reaction := range map[string]agentapi.Reaction{
		agentapi.CodeBadRequest: agentapi.GiveUp, agentapi.CodeInstanceEnded: agentapi.FinishJob,
		agentapi.CodeUnknownRunner: agentapi.FinishJob, "of_a_newer_manager": agentapi.TryAgain,
	} {
		t.Run(code, func(t *testing.T) {
			if agentapi.ReactionTo(code) != reaction {
				t.Fatalf("an agent %s", agentapi.ReactionTo(code))
			}
			h := newJobHost(t)
			let := filepath.Join(t.TempDir(), "end")
			run := agentapi.Directive{
				Want:    agentapi.WantRun,
				Order:   "run-1",
				Command: []string{"sh", "-c", "while [ ! -e " + let + " ]; do sleep 0.02; done"},
			}
			m := &playedManager{t: t, directive: run, next: 50 * time.Millisecond}
			r := h.against(m)
			ended := make(chan error, 1)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() { defer r.close(); ended <- r.run(ctx) }()
			m.eventually("the job runs", func() bool { return m.last().Phase == phaseRunning })
			m.set(func() { m.problem = code })
			m.eventually("beats are refused", func() bool { return m.refused > 3 })
			before := 0
			m.set(func() { m.problem, before = "", len(m.beats) })
			m.eventually(
				"it beats again and the job still runs",
				func() bool { return len(m.beats) > before && m.last().Phase == phaseRunning },
			)
			m.set(func() { m.problem, m.refused = code, 0 })
			m.eventually("beats are refused again", func() bool { return m.refused > 0 })
			if err := os.WriteFile(let, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if reaction != agentapi.FinishJob {
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("it ended with %v", err)
				}
				return
			}
			var refused *RefusedError
			if err := <-ended; !errors.As(err, &refused) || refused.Code != code {
				t.Errorf("it ended with %v", err)
			}
			if h.history.record.LastExit != "exit status 0" || h.history.record.Running != nil {
				t.Errorf("the job is noted as %+v", h.history.record)
			}
		})
	}
}

func TestFilesThatCanNotBeRemovedAreReportedUntilTheyAre(t *testing.T) {
	h := newJobHost(t)
	for _, when := range []string{"by the agent whose job left them", "by an agent that was started again"} {
		t.Run(when, func(t *testing.T) {
			r := newRunner(h.config, nil, &identity{}, h.history, 0)
			defer r.cancel()
			r.directive = agentapi.Directive{Want: agentapi.WantRun, Command: []string{"true"}}
			if strings.Contains(when, "whose job") {
				r.job = &job{folder: isolation.JobFolder(h.config.host(), nil)}
				if err := os.MkdirAll(r.job.folder, 0o700); err != nil {
					t.Fatal(err)
				}
				r.keepResult(
					jobResult{clean: true, exit: "exit status 0", problem: "the files of a job could not be removed: in use"},
				)
			}
			inUse := errors.New("in use")
			r.remove = func(string) error { return inUse }
			r.cleanDue = time.Now()
			for range 2 {
				r.cleanUp()
				if beat := r.beat(); !strings.Contains(beat.Unhealthy, "in use") || r.mayStart() {
					t.Fatalf("it may start a job: %v; the beat is %+v", r.mayStart(), beat)
				}
				if due := time.Until(r.nextMoment()); due > cleanRetry {
					t.Errorf("it looks again only after %v", due)
				}
				r.cleanDue = time.Now()
			}
			if strings.Contains(when, "whose job") {
				return // its agent ends, and the files stay
			}
			r.remove = isolation.RemoveFolder
			r.cleanUp()
			if beat := r.beat(); beat.Unhealthy != "" || !r.mayStart() || r.hasRemains() {
				t.Errorf("the files are gone; it may start a job: %v; the beat is %+v", r.mayStart(), beat)
			}
		})
	}
}

func TestRestartDoesNotResetMaxAge(t *testing.T) {
	h := newJobHost(t)
	now := time.Now()
	age := func(enrolled time.Time, limit time.Duration) string {
		i := &identity{}
		i.record.Enrolled = enrolled
		r := newRunner(h.config, nil, i, h.history, 0)
		defer r.cancel()
		r.directive.MaxAgeSeconds = int64(limit / time.Second)
		return r.limitReached()
	}
	for _, c := range []struct {
		name     string
		enrolled time.Time
		limit    time.Duration
		want     string
	}{
		{"enrolled two hours ago, limit one hour", now.Add(-2 * time.Hour), time.Hour, "max_age"},
		{"enrolled two hours ago, limit three hours", now.Add(-2 * time.Hour), 3 * time.Hour, ""},
		{"the clock was set back since", now.Add(2 * time.Hour), time.Hour, ""},
		{"by an agent that didn't note it", time.Time{}, time.Hour, ""},
	} {
		if got := age(c.enrolled, c.limit); got != c.want {
			t.Errorf("%s: the limit is %q, want %q", c.name, got, c.want)
		}
	}
	i, err := openIdentity(h.config.StateDir, "token")
	if err != nil {
		t.Fatal(err)
	}
	if err := i.keepEnrollment(agentapi.EnrollResponse{RunnerID: "r"}, now); err == nil {
		t.Fatal("an answer without a certificate was kept")
	}
	i.record.Enrolled = now.UTC()
	if err := writeStateJSON(i.recordPath, i.record); err != nil {
		t.Fatal(err)
	}
	if again, err := openIdentity(h.config.StateDir, "token"); err != nil || again.age(now.Add(time.Hour)) != time.Hour {
		t.Errorf("after a restart the age is %v, %v", again.age(now.Add(time.Hour)), err)
	}
}
