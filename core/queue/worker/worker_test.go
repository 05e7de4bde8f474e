//go:build unix

package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
)

// playVariable makes this program a worker, as forgeyard-runner is one.
const playVariable = "FORGEYARD_TEST_PLAYS_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(playVariable) == "" {
		os.Exit(m.Run())
	}
	taking, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	c, err := worker.FromEnvironment(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err == nil {
		c.RetryFirst, c.RetryMost, c.Grace = 5*time.Millisecond, 20*time.Millisecond, time.Second
		err = worker.Run(context.Background(), taking, c)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const token = "a-token-for-tests-alone"

// lab is a queue on a real socket, behind a proxy that can be told to cut.
type lab struct {
	t *testing.T
	*queue.Queue
	url    string
	folder string
	mu     sync.Mutex
	// cut says what happens to a call: "" nothing, "answer" it reaches the queue and
	// its answer is lost, "all" it doesn't reach the queue.
	cut func(method, path string) string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	n := 0
	l := &lab{t: t, folder: t.TempDir(), Queue: queue.New(queue.Options{Clock: time.Now, NewID: func() string { n++; return fmt.Sprintf("job-%d", n) }, LeaseTime: 3 * time.Second})}
	proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	l.url = "http://" + proxy.Listener.Addr().String()
	server, err := queue.NewServer(l.Queue, l.url, token)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		cut := ""
		if l.cut != nil {
			cut = l.cut(r.Method, r.URL.Path)
		}
		l.mu.Unlock()
		switch cut {
		case "all":
			panic(http.ErrAbortHandler)
		case "answer":
			server.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		server.ServeHTTP(w, r)
	})
	proxy.Start()
	t.Cleanup(proxy.Close)
	return l
}

func (l *lab) cutting(how func(method, path string) string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = how
}

// admit admits r1 and returns the environment that its worker gets.
func (l *lab) admit(body string) []string {
	l.t.Helper()
	request, err := http.NewRequest("PUT", l.url+"/v1/runners/r1", strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		l.t.Fatalf("admitted with %d %s, %v", response.StatusCode, content, err)
	}
	env := []string{playVariable + "=1", "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "FORGEYARD_JOB=the-mark", "OF_THE_HOST=x"}
	for _, pair := range strings.Split(between(string(content), `"environment":{`, `}`), ",") {
		name, value, _ := strings.Cut(pair, `":"`)
		env = append(env, strings.Trim(name, `"`)+"="+strings.Trim(value, `"`))
	}
	return env
}

func between(s, begin, end string) string {
	_, s, _ = strings.Cut(s, begin)
	s, _, _ = strings.Cut(s, end)
	return s
}

// running is a worker's process.
type running struct {
	cmd   *exec.Cmd
	said  *bytes.Buffer
	ended chan struct{}
}

func (l *lab) start(env []string) *running {
	l.t.Helper()
	r := &running{cmd: exec.Command(os.Args[0], "-test.run=^$"), said: &bytes.Buffer{}, ended: make(chan struct{})}
	r.cmd.Env, r.cmd.Dir, r.cmd.Stderr = env, l.t.TempDir(), r.said
	if err := r.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	go func() { defer close(r.ended); _ = r.cmd.Wait() }()
	l.t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.ended
		if l.t.Failed() {
			l.t.Logf("the worker said: %s", r.said)
		}
	})
	return r
}

func (r *running) signal(l *lab, s os.Signal) {
	if err := r.cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

// exit waits for the worker's own end.
func (r *running) exit(l *lab) int {
	l.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(20 * time.Second):
		l.t.Fatal("the worker doesn't end")
	}
	return r.cmd.ProcessState.ExitCode()
}

func (l *lab) submit(script string, change ...func(*queue.Submission)) string {
	l.t.Helper()
	s := queue.Submission{Command: []string{"sh", "-c", script}, Env: map[string]string{"LAB": l.folder}}
	for _, c := range change {
		c(&s)
	}
	j, err := l.Submit(s)
	if err != nil {
		l.t.Fatal(err)
	}
	return j.ID
}

// becomes waits until a job has a state.
func (l *lab) becomes(id string, state queue.State) queue.Job {
	l.t.Helper()
	var j queue.Job
	waitFor(l.t, fmt.Sprintf("%s is %s", id, state), func() bool {
		l.Expire()
		j, _ = l.Job(id)
		return j.State == state
	})
	return j
}

func (l *lab) path(name string) string { return filepath.Join(l.folder, name) }

func (l *lab) exists(name string) bool {
	_, err := os.Stat(l.path(name))
	return err == nil
}

func (l *lab) write(name string) {
	if err := os.WriteFile(l.path(name), nil, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) read(name string) string {
	content, _ := os.ReadFile(l.path(name))
	return string(content)
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

// until is a script's wait for a file in the lab.
func until(name string) string { return `while [ ! -e "$LAB/` + name + `" ]; do sleep 0.02; done; ` }

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
	l.becomes(l.submit(`env >"$LAB/env"; cat /proc/$PPID/environ /proc/$PPID/cmdline >"$LAB/worker" 2>/dev/null; ls -A >"$LAB/files"; true`), queue.Succeeded)
	var names []string
	for line := range strings.Lines(l.read("env")) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "PWD" || n == "OLDPWD" || n == "SHLVL" || n == "_" })
	slices.Sort(names)
	if want := []string{"FORGEYARD_JOB", "FORGEYARD_QUEUE_JOB", "HOME", "LAB", "LANG", "PATH", "TMPDIR"}; !slices.Equal(names, want) {
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
		"cancelled":                             {func(l *lab, id string) { _, _ = l.Cancel(id) }, queue.Cancelled},
		"queued again by a cordon with force":   {func(l *lab, _ string) { _, _ = l.Cordon("r1", "security", true) }, queue.Waiting},
		"its runner was removed by the manager": {func(l *lab, _ string) { _ = l.Remove("r1", "infrastructure") }, queue.Waiting},
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
	id := l.submit(`if [ -e "$LAB/state" ]; then exit 0; fi; trap 'cp "$FORGEYARD_INTERRUPTION" "$LAB/state"; exit 9' USR1; touch "$LAB/begun"; while :; do sleep 0.02; done`,
		func(s *queue.Submission) { s.Checkpoint = true })
	waitFor(t, "the job has begun", func() bool { return l.exists("begun") })
	if _, err := l.Cordon("r1", queue.Interruption, false); err != nil {
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
