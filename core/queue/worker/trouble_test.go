//go:build unix

package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
)

func TestALostAnswerRunsNoJobTwiceAndLosesNoResult(t *testing.T) {
	l := newLab(t)
	lost := map[string]int{}
	l.cutting(func(method, path string) string {
		kind := method + " " + path[strings.LastIndex(path, "/")+1:]
		if method == "PUT" {
			kind = path // each lease has its own
		}
		lost[kind]++
		switch lost[kind] % 4 {
		case 1:
			return "answer"
		case 2:
			return "all"
		}
		return ""
	})
	const jobs = 12
	for n := range jobs {
		l.submit(fmt.Sprintf(`echo "<%d>" >>"$LAB/ran"; exit %d`, n, n%2))
	}
	env := []string(nil)
	l.mu.Lock()
	cut := l.cut
	l.cut = nil
	l.mu.Unlock()
	env = l.admit(`{"slots": 2}`)
	l.cutting(cut)
	l.start(env)
	for n := range jobs {
		state := []queue.State{queue.Succeeded, queue.Failed}[n%2]
		if j := l.becomes(fmt.Sprintf("job-%d", n+1), state); j.Attempts != 1 || j.Losses != 0 || *j.ExitStatus != n%2 {
			t.Errorf("the job is %+v", j)
		}
		if ran := strings.Count(l.read("ran"), fmt.Sprintf("<%d>", n)); ran != 1 {
			t.Errorf("job %d ran %d times", n, ran)
		}
	}
}

func TestWhileTheQueueIsAwayTheJobGoesOnAndItsResultIsKept(t *testing.T) {
	l := newLab(t)
	l.start(l.admit(`{}`))
	id := l.submit(`touch "$LAB/begun"; ` + until("end") + `touch "$LAB/ended"; echo done`)
	waitFor(t, "the job has begun", func() bool { return l.exists("begun") })
	away := make(chan string, 1000)
	l.cutting(func(_, path string) string {
		select {
		case away <- path:
		default:
		}
		return "all"
	})
	<-away
	l.write("end")
	waitFor(t, "the job ends by itself, with the queue away", func() bool { return l.exists("ended") })
	waitFor(t, "its result is tried to be delivered", func() bool { return strings.HasSuffix(<-away, "/finish") })
	l.cutting(nil)
	if j := l.becomes(id, queue.Succeeded); j.Attempts != 1 {
		t.Errorf("the job is %+v", j)
	}
}

func TestAJobThatIsNoLongerWantedIsEnded(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(l *lab, id string)
		then queue.State
	}{
		"cancelled": {func(l *lab, id string) { _, _ = l.Cancel(id) }, queue.Cancelled},
		"queued again by a cordon with force": {func(l *lab, _ string) {
			_, _ = l.Cordon("r1", "security", true, 0)
		}, queue.Waiting},
		"its runner was removed by the manager": {func(l *lab, _ string) {
			_ = l.Remove("r1", "infrastructure")
		}, queue.Waiting},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.start(l.admit(`{}`))
			id := l.submit(`echo $$ >"$LAB/pid.new"; mv "$LAB/pid.new" "$LAB/pid"; trap "" TERM; while :; do sleep 0.05; done`)
			waitFor(t, "the job has begun", func() bool { return l.exists("pid") })
			test.end(l, id)
			waitFor(t, "the job's process is gone", func() bool {
				pid := 0
				_, _ = fmt.Sscan(l.read("pid"), &pid)
				return pid > 0 && syscall.Kill(pid, 0) != nil
			})
			l.becomes(id, test.then)
		})
	}
}

func TestAJobThatSavesItsStateIsSignalledAndRunAgain(t *testing.T) {
	l := newLab(t)
	l.start(l.admit(`{}`))
	id := l.submit(
		`if [ -e "$LAB/state" ]; then exit 0; fi; trap 'cp "$FORGEYARD_INTERRUPTION" "$LAB/state"; exit 9' USR1; touch "$LAB/begun"; while :; do sleep 0.02; done`,
		func(s *queue.Submission) { s.Checkpoint = true },
	)
	waitFor(t, "the job has begun", func() bool { return l.exists("begun") })
	if _, err := l.Cordon("r1", queue.Interruption, false, 0); err != nil {
		t.Fatal(err)
	}
	if j := l.becomes(id, queue.Waiting); j.Losses != 1 || !strings.Contains(j.Reason, "interrupted") {
		t.Errorf("the job is %+v", j)
	}
	if left := strings.TrimSpace(l.read("state")); left != "25" && left != "24" {
		t.Errorf("it was told that it has %q seconds", left)
	}
	if _, err := l.Uncordon("r1"); err != nil {
		t.Fatal(err)
	}
	if j := l.becomes(id, queue.Succeeded); j.Attempts != 2 {
		t.Errorf("the job is %+v", j)
	}
}

func TestCheckpointsWorkWhileTheQueueIsAway(t *testing.T) {
	l := newLab(t)
	l.start(append(l.admit(`{"slots": 2}`), worker.HostInterruptionVariable+"="+filepath.Join(l.folder, "notice")))
	saves := l.submit(
		`trap 'cp "$FORGEYARD_INTERRUPTION" "$LAB/saved"; mv "$LAB/saved" "$LAB/state"; exit 9' USR1; touch "$LAB/begun"; while :; do sleep 0.02; done`,
		func(s *queue.Submission) { s.Checkpoint = true },
	)
	other := l.submit(`trap 'touch "$LAB/wrong"' USR1; touch "$LAB/begun-too"; ` + until("end"))
	waitFor(t, "both jobs have begun", func() bool { return l.exists("begun") && l.exists("begun-too") })
	l.cutting(func(string, string) string { return "all" })
	deadline := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
	if err := os.WriteFile(
		filepath.Join(l.folder, "new"),
		[]byte(`{"kind": "interruption", "deadline": "`+deadline+`"}`),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(l.folder, "new"), filepath.Join(l.folder, "notice")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the job has saved its state", func() bool { return l.exists("state") })
	if left := strings.TrimSpace(l.read("state")); left != "44" && left != "45" && left != "43" {
		t.Errorf("of a minute it was told that it has %q seconds", left)
	}
	l.cutting(nil)
	l.write("end")
	l.becomes(other, queue.Succeeded)
	if l.exists("wrong") {
		t.Error("a job that doesn't declare checkpoint was signalled")
	}
	if j := l.becomes(
		saves,
		queue.Waiting,
	); j.Attempts != 1 || j.Losses != 1 ||
		!strings.Contains(j.Reason, "infrastructure") {
		t.Errorf("on a host that goes away it should be begun no more: %+v", j)
	}
}

func TestTheJobOfAWorkerThatWasKilledIsRunAgainByTheNextOne(t *testing.T) {
	l := newLab(t)
	env := l.admit(`{}`)
	first := l.start(env)
	id := l.submit(`echo x >>"$LAB/ran"; ` + until("end"))
	waitFor(t, "the job has begun", func() bool { return l.exists("ran") })
	first.signal(l, syscall.SIGKILL)
	first.exit(l)
	l.start(env)
	waitFor(t, "it is run again", func() bool { return strings.Count(l.read("ran"), "x") == 2 })
	l.write("end")
	if j := l.becomes(id, queue.Succeeded); j.Attempts != 2 || j.Losses != 1 {
		t.Errorf("the job is %+v", j)
	}
}

func TestOfTwoWorkersForOneRunnerTheOlderOneEnds(t *testing.T) {
	l := newLab(t)
	env := l.admit(`{}`)
	asked := make(chan struct{}, 100)
	l.cutting(func(string, string) string { asked <- struct{}{}; return "" })
	older := l.start(env)
	<-asked
	l.start(env)
	if code := older.exit(l); code != 1 {
		t.Errorf("the older worker exits with %d", code)
	}
	l.becomes(l.submit("true"), queue.Succeeded)
}

func TestAWorkerWhoseTokenIsWrongSaysSoAndEnds(t *testing.T) {
	l := newLab(t)
	env := l.admit(`{}`)
	for n, variable := range env {
		if strings.HasPrefix(variable, worker.TokenVariable+"=") {
			env[n] = variable + "x"
		}
	}
	w := l.start(env)
	if code := w.exit(l); code != 1 || !strings.Contains(w.said.String(), "403") {
		t.Errorf("it exits with %d and says %s", code, w.said)
	}
	w = l.start([]string{playVariable + "=1"})
	if code := w.exit(l); code != 1 || !strings.Contains(w.said.String(), worker.URLVariable) {
		t.Errorf("without settings it exits with %d and says %s", code, w.said)
	}
}

// An agent that is stopped ends the worker and its job alike: the job didn't fail.
func TestAJobThatIsEndedTogetherWithItsWorkerIsRunAgain(t *testing.T) {
	l := newLab(t)
	w := l.start(l.admit(`{}`))
	id := l.submit(`echo $$ >"$LAB/pid.new"; mv "$LAB/pid.new" "$LAB/pid"; while :; do sleep 0.05; done`)
	waitFor(t, "the job has begun", func() bool { return l.exists("pid") })
	w.signal(l, syscall.SIGTERM)
	pid := 0
	if _, err := fmt.Sscan(l.read("pid"), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := w.exit(l); code != 0 {
		t.Errorf("the worker exits with %d", code)
	}
	if j, _ := l.Job(id); j.State != queue.Waiting || j.Losses != 1 {
		t.Errorf("the job is %+v", j)
	}
}
