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
	l := &lab{
		t:      t,
		folder: t.TempDir(),
		Queue: queue.New(
			queue.Options{
				Clock:     time.Now,
				NewID:     func() string { n++; return fmt.Sprintf("job-%d", n) },
				LeaseTime: 3 * time.Second,
			},
		),
	}
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
	env := []string{
		playVariable + "=1",
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"FORGEYARD_JOB=the-mark",
		"OF_THE_HOST=x",
	}
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
