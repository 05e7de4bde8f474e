//go:build unix

package agent

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/metadata"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/metadatafake"
)

const awsSpot = "/latest/meta-data/spot/instance-action"

func spotIn(d time.Duration) string {
	return `{"action": "terminate", "time": "` + time.Now().Add(d).UTC().Format(time.RFC3339) + `"}`
}

// noticing is a host on a played platform.
func noticing(t *testing.T, values map[string]string) (*jobHost, *metadatafake.Service) {
	h := newJobHost(t)
	platform, url := metadatafake.Start(t, values)
	h.config.Metadata, h.config.NoticeInterval = &metadata.Service{Platform: "aws", URL: url}, 20*time.Millisecond
	return h, platform
}

// wantsRun is a manager that wants a worker without a command, and whose next beat is due
// in a minute.
func wantsRun(t *testing.T) *playedManager {
	return &playedManager{t: t, directive: agentapi.Directive{Want: agentapi.WantRun, Order: "run-1"}}
}

func TestNoticeAndItsWithdrawalAreReportedAtOnce(t *testing.T) {
	h, platform := noticing(t, nil)
	m := wantsRun(t)
	end := h.begin(h.against(m))
	m.eventually("it beats", func() bool { return m.last().Heard == agentapi.WantRun })
	platform.Set(func() { platform.Values[awsSpot] = spotIn(2 * time.Minute) })
	m.eventually("the notice is told", func() bool {
		n := m.last().Notices
		return len(n) == 1 && n[0].Kind == agentapi.NoticeInterruption && *n[0].DeadlineSeconds > 100 &&
			*n[0].DeadlineSeconds <= 120
	})
	platform.Set(func() { delete(platform.Values, awsSpot) })
	m.eventually("its withdrawal is told", func() bool { return len(m.last().Notices) == 0 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

func TestInterruptionNoticeStopsNewJobsOnly(t *testing.T) {
	h, platform := noticing(t, nil)
	folder := t.TempDir()
	m := &playedManager{
		t:    t,
		next: 20 * time.Millisecond,
		directive: agentapi.Directive{
			Want:  agentapi.WantRun,
			Order: "run-1",
			Command: []string{
				"sh",
				"-c",
				`echo begun >>` + folder + `/ran; while [ ! -e ` + folder + `/end ]; do sleep 0.02; done`,
			},
		},
	}
	end := h.begin(h.against(m))
	ran := func() int {
		content, _ := os.ReadFile(filepath.Join(folder, "ran"))
		return strings.Count(string(content), "begun")
	}
	waitFor(t, "the job runs", func() bool { return ran() == 1 })
	m.set(func() { m.problem = "of_a_newer_manager" })
	platform.Set(func() { platform.Values[awsSpot] = spotIn(time.Hour) })
	file := filepath.Join(h.config.StateDir, "interruption")
	waitFor(t, "the job's file says so", func() bool { _, err := os.Stat(file); return err == nil })
	var said interruptionFile
	if content, err := os.ReadFile(
		file,
	); err != nil || json.Unmarshal(content, &said) != nil || time.Until(said.Deadline) < 50*time.Minute ||
		!strings.Contains(said.Detail, "terminate") {
		t.Errorf("the file says %s, %v", content, err)
	}
	if err := os.WriteFile(filepath.Join(folder, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.set(func() { m.problem = "" })
	m.eventually(
		"the job is over and the manager hears it",
		func() bool { return m.last().Phase == phaseIdle && m.last().JobsRun == 1 },
	)
	beats := 0
	m.set(func() { beats = len(m.beats) })
	m.eventually("many beats later", func() bool { return len(m.beats) > beats+15 })
	if ran() != 1 {
		t.Errorf("%d jobs ran on a host that is taken away", ran())
	}
	platform.Set(func() { delete(platform.Values, awsSpot) })
	waitFor(t, "after the withdrawal the next job runs", func() bool { return ran() > 1 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

// What comes while a beat is under way isn't in it, and its answer says when the
// next one is due.
func TestNoticeDuringAHeartbeatIsReportedAtOnce(t *testing.T) {
	h, platform := noticing(t, nil)
	m := wantsRun(t)
	began, goOn := make(chan struct{}), make(chan struct{})
	var beats atomic.Int32
	held := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The second one says what the first was answered; nothing else is to be said.
		if r.URL.Path == agentapi.HeartbeatPath && beats.Add(1) == 2 {
			close(began)
			<-goOn
		}
		m.ServeHTTP(w, r)
	})
	end := h.begin(h.against(held))
	<-began
	platform.Set(func() { platform.Values[awsSpot] = spotIn(time.Hour) })
	waitFor(t, "the agent took it in", func() bool { _, err := os.Stat(noticesPath(h.config)); return err == nil })
	close(goOn)
	m.eventually("the notice is told", func() bool { return len(m.last().Notices) == 1 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

func TestANoticeSurvivesTheAgentsRestart(t *testing.T) {
	h, platform := noticing(t, map[string]string{awsSpot: spotIn(time.Hour)})
	m := &playedManager{t: t}
	end := h.begin(h.against(m))
	m.eventually("the notice is told", func() bool { return len(m.last().Notices) == 1 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	platform.Set(func() { platform.Status = 500 })
	again := &playedManager{
		t:         t,
		directive: agentapi.Directive{Want: agentapi.WantRun, Order: "run-1", Command: []string{"true"}},
		next:      20 * time.Millisecond,
	}
	end = h.begin(h.against(again))
	again.eventually("its beats say it though no one can be asked", func() bool { return len(again.beats) > 15 })
	again.set(func() {
		for _, b := range again.beats {
			if len(b.Notices) != 1 || b.JobsRun > 0 {
				t.Errorf("a beat says %+v", b)
			}
		}
	})
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

func TestOneValueThatCannotBeReadHidesNoOtherAndWithdrawsNothing(t *testing.T) {
	h, platform := noticing(
		t,
		map[string]string{awsSpot: spotIn(time.Hour), "/latest/meta-data/events/maintenance/scheduled": "not JSON"},
	)
	m := &playedManager{t: t}
	end := h.begin(h.against(m))
	m.eventually("the notice is told", func() bool { return len(m.last().Notices) == 1 })
	platform.Set(func() { platform.Values[awsSpot] = "not JSON either"; platform.Asked = nil })
	waitFor(
		t,
		"it was asked some more",
		func() bool { asked := 0; platform.Set(func() { asked = len(platform.Asked) }); return asked > 12 },
	)
	m.set(func() {
		if len(m.last().Notices) != 1 {
			t.Error("what can't be read was taken for withdrawn")
		}
	})
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

func TestWorkerGetsTheInterruptionFileAndIsAskedToEnd(t *testing.T) {
	h, folder := newJobHost(t), t.TempDir() // a host without a platform that gives notice
	m := &playedManager{t: t, directive: workerRun(folder, 0), next: 50 * time.Millisecond}
	end := h.begin(h.against(m))
	waitFor(t, "the worker's job runs", func() bool { return strings.Contains(notes(folder), "the job runs") })
	left := 90.0
	m.set(func() {
		m.directive.Interruption = &agentapi.Interruption{DeadlineSeconds: &left, Detail: "the provider says so"}
	})
	waitFor(t, "the worker was asked", func() bool { return strings.Contains(notes(folder), "asked by terminated") })
	content, err := os.ReadFile(filepath.Join(h.config.StateDir, "interruption"))
	if err != nil || !strings.Contains(string(content), "the provider says so") {
		t.Errorf("the file says %s, %v", content, err)
	}
	if strings.Contains(notes(folder), "the job was signalled") {
		t.Error("the agent signalled the job")
	}
	if err := os.WriteFile(filepath.Join(folder, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.eventually("no other worker is begun", func() bool { return m.last().Phase == phaseIdle })
	if err := end(); err != nil {
		t.Fatal(err)
	}
}
