//go:build unix

package worker_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
)

func TestJobsRunAndTheirEndsAreShown(t *testing.T) {
	l := newLab(t)
	l.start(l.admit(`{}`))
	if j := l.becomes(l.submit("echo hello; echo oops >&2"), queue.Succeeded); *j.ExitStatus != 0 || j.Runner != "r1" {
		t.Errorf("the job is %+v", j)
	}
	if tail, _ := l.Tail("job-1"); tail != "hello\noops\n" {
		t.Errorf("its output is %q", tail)
	}
	if j := l.becomes(l.submit("exit 3"), queue.Failed); *j.ExitStatus != 3 || j.Reason != "exit status 3" {
		t.Errorf("the job is %+v", j)
	}
	missing := l.submit("", func(s *queue.Submission) { s.Command = []string{"no-such-program"} })
	if j := l.becomes(missing, queue.Failed); !strings.Contains(j.Reason, "no-such-program") {
		t.Errorf("the job is %+v", j)
	}
	l.becomes(l.submit(`yes 0123456789 | head -c 300000; echo the end`), queue.Succeeded)
	if tail, _ := l.Tail("job-4"); len(tail) != worker.MaxTailBytes || !strings.HasSuffix(tail, "the end\n") {
		t.Errorf("of much output %d bytes are kept", len(tail))
	}
	// A process that the job leaves in its group ends with it, and doesn't hold up
	// its result.
	l.becomes(l.submit(`sleep 600 & echo $! >"$LAB/left"`), queue.Succeeded)
	waitFor(t, "what the job left has ended", func() bool {
		pid := 0
		_, _ = fmt.Sscan(l.read("left"), &pid)
		return syscall.Kill(pid, 0) != nil
	})
}

func TestAJobSeesACleanEnvironmentAndNowhereTheToken(t *testing.T) {
	l := newLab(t)
	env := l.admit(`{}`)
	secret := ""
	for _, variable := range env {
		if name, value, _ := strings.Cut(variable, "="); name == worker.TokenVariable {
			secret = value
		}
	}
	if len(secret) < 32 {
		t.Fatalf("the runner's credential is %q", secret)
	}
	l.start(env)
	l.becomes(
		l.submit(
			`env >"$LAB/env"; cat /proc/$PPID/environ /proc/$PPID/cmdline >"$LAB/worker" 2>/dev/null; ls -A >"$LAB/files"; true`,
		),
		queue.Succeeded,
	)
	var names []string
	for line := range strings.Lines(l.read("env")) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	names = slices.DeleteFunc(
		names,
		func(n string) bool { return n == "PWD" || n == "OLDPWD" || n == "SHLVL" || n == "_" },
	)
	slices.Sort(names)
	if want := []string{
		"FORGEYARD_JOB",
		"FORGEYARD_QUEUE_JOB",
		"HOME",
		"LAB",
		"LANG",
		"PATH",
		"TMPDIR",
	}; !slices.Equal(
		names,
		want,
	) {
		t.Errorf("the job's environment has %v, want %v", names, want)
	}
	if shown := l.read("env") + l.read("worker"); strings.Contains(shown, secret) {
		t.Error("a job can read its worker's token")
	}
	if _, err := os.Stat("/proc/self/environ"); err == nil && !strings.Contains(l.read("worker"), worker.URLVariable) {
		t.Error("the job didn't see its worker's environment, and the test shows nothing")
	}
	if files := l.read("files"); files != "" {
		t.Errorf("the job's folder isn't empty: %s", files)
	}
}

func TestOnSIGTERMTheJobGoesOnAndNoOtherIsTaken(t *testing.T) {
	l := newLab(t)
	w := l.start(l.admit(`{}`))
	has := l.submit(`touch "$LAB/begun"; ` + until("end"))
	waitFor(t, "the job has begun", func() bool { return l.exists("begun") })
	other := l.submit("true")
	w.signal(l, syscall.SIGTERM)
	renewed := make(chan struct{}, 100)
	l.cutting(func(_, path string) string {
		if strings.HasSuffix(path, "/renew") {
			renewed <- struct{}{}
		}
		return ""
	})
	<-renewed // the worker has gone on since
	if j, _ := l.Job(has); j.State != queue.Leased {
		t.Fatalf("the job is %+v", j)
	}
	l.write("end")
	if code := w.exit(l); code != 0 {
		t.Errorf("the worker exits with %d", code)
	}
	l.becomes(has, queue.Succeeded)
	if j, _ := l.Job(other); j.State != queue.Waiting || j.Attempts != 0 {
		t.Errorf("the other job is %+v", j)
	}
}

func TestAnIdleWorkerEndsAtOnceOnSIGTERM(t *testing.T) {
	l := newLab(t)
	asked := make(chan struct{}, 100)
	l.cutting(func(string, string) string { asked <- struct{}{}; return "" })
	w := l.start(l.admit(`{}`))
	<-asked // the admission
	<-asked
	w.signal(l, syscall.SIGTERM)
	if code := w.exit(l); code != 0 {
		t.Errorf("the worker exits with %d", code)
	}
	id := l.submit("true")
	if j, _ := l.Job(id); j.State != queue.Waiting {
		t.Errorf("a job that came later is %+v", j)
	}
}

func TestAWorkerEndsByItselfAfterItsJobs(t *testing.T) {
	l := newLab(t)
	for range 5 {
		l.submit(`echo x >>"$LAB/ran"`)
	}
	if code := l.start(l.admit(`{"slots": 2, "max_jobs": 3}`)).exit(l); code != 0 {
		t.Errorf("the worker exits with %d", code)
	}
	if ran := strings.Count(l.read("ran"), "x"); ran != 3 {
		t.Errorf("%d jobs ran", ran)
	}
}
