//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/cmd/internal/version"
	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// lab is the queue's program, started as a user does.
type lab struct {
	t           *testing.T
	folder, url string
	queue       *exec.Cmd
	runner      string
}

func build(t *testing.T, folder, name string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	c := exec.Command("go", "build", "-o", path, "github.com/forgeyard/forgeyard-fleet/cmd/"+name)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, folder: t.TempDir()}
	l.runner = build(t, l.folder, "forgeyard-runner")
	l.queue = exec.Command(build(t, l.folder, "forgeyard-queue"), "serve")
	l.queue.Dir, l.queue.Stderr = l.folder, os.Stderr
	out, err := l.queue.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.queue.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.queue.Process.Kill(); _ = l.queue.Wait() })
	lines := bufio.NewScanner(out)
	var said []string
	for len(said) < 3 && lines.Scan() {
		said = append(said, lines.Text())
	}
	text := strings.Join(said, "\n")
	if !strings.Contains(text, "not a CI system") || !strings.Contains(text, "Created a token in forgeyard-queue.token") {
		t.Errorf("it says:\n%s", text)
	}
	_, l.url, _ = strings.Cut(said[0], " at ")
	return l
}

func (l *lab) token() string { return filepath.Join(l.folder, tokenFile) }

// call runs a subcommand in this process.
func (l *lab) call(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	args = append([]string{args[0], "--url", l.url, "--token-file", l.token()}, args[1:]...)
	code = run(l.t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

// admit does what the fleet manager does, and starts the worker as the agent does.
func (l *lab) admit(name string) *exec.Cmd {
	l.t.Helper()
	token, err := readToken(l.token())
	if err != nil {
		l.t.Fatal(err)
	}
	request, err := http.NewRequest(
		"PUT",
		l.url+"/v1/runners/"+name,
		strings.NewReader(`{"os":"linux","arch":"x86_64","resources":{"cpu_milli":1000,"memory_bytes":1073741824}}`),
	)
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	var admitted forgeyard.Admitted
	if err := json.NewDecoder(response.Body).Decode(&admitted); err != nil || len(admitted.Command) != 2 {
		l.t.Fatalf("admitted with %s, %v", response.Status, err)
	}
	w := exec.Command(l.runner, admitted.Command[1:]...)
	w.Dir, w.Env = l.t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range admitted.Environment {
		w.Env = append(w.Env, name+"="+value)
	}
	if err := w.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = w.Process.Kill(); _ = w.Wait() })
	return w
}

func TestAJobGoesFromTheCommandLineToAWorkerAndBack(t *testing.T) {
	l := newLab(t)
	if info, err := os.Stat(l.token()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v", info, err)
	}
	worker := l.admit("r1")
	code, out, errs := l.call(
		"submit",
		"--os",
		"linux",
		"--arch",
		"x86_64",
		"--cpu",
		"0.5",
		"--memory",
		"512MiB",
		"--env",
		"WHO=world",
		"--count",
		"3",
		"--wait",
		"--",
		"sh",
		"-c",
		`echo "hello $WHO"`,
	)
	if code != 0 || strings.Count(out, "succeeded") != 3 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	id, _, _ := strings.Cut(out, "\n")
	if _, log, _ := l.call("log", id); log != "hello world\n" {
		t.Errorf("its output is %q", log)
	}
	if code, out, errs := l.call(
		"submit",
		"--wait",
		"--",
		"false",
	); code != 1 ||
		!strings.Contains(errs, "1 of 1 jobs did not succeed") {
		t.Errorf("a job that fails: exit %d: %s%s", code, out, errs)
	}
	_, out, _ = l.call("submit", "--os", "windows", "--", "true")
	other := strings.TrimSpace(out)
	if _, out, _ := l.call("cancel", other); !strings.Contains(out, "cancelled") {
		t.Errorf("cancelled: %s", out)
	}
	var all queue.Jobs
	if _, out, _ := l.call("jobs", "--json"); json.Unmarshal([]byte(out), &all) != nil || len(all.Jobs) != 5 {
		t.Errorf("the jobs are %s", out)
	}
	if _, out, _ := l.call("jobs"); strings.Count(out, "\n") != 6 {
		t.Errorf("the table is %s", out)
	}
	for name, c := range map[string]*exec.Cmd{"worker": worker, "queue": l.queue} {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("the %s ended with %v", name, err)
		}
	}
}

func TestWrongCallsSayWhatToDo(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(tokenVariable, "")
	t.Setenv(urlVariable, "")
	if err := os.WriteFile("open", []byte("0123456789abcdef"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("short", []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an open address":     {[]string{"serve", "--listen", "0.0.0.0:0"}, "not a loopback address"},
		"no address":          {[]string{"serve", "--listen", "here"}, "HOST:PORT"},
		"a token for all":     {[]string{"serve", "--token-file", "open"}, "chmod 600 open"},
		"a short token":       {[]string{"serve", "--token-file", "short"}, "at least 16"},
		"a short lease":       {[]string{"serve", "--lease-time", "1ms"}, "must be at least 1s"},
		"no queue":            {[]string{"jobs"}, "--url is required"},
		"no token":            {[]string{"jobs", "--url", "http://127.0.0.1:1"}, "give --token-file"},
		"no command":          {[]string{"submit"}, "missing argument. Usage:\n  forgeyard-queue submit [flags] -- COMMAND"},
		"a size without unit": {[]string{"submit", "--memory", "4", "--", "true"}, "such as 4GiB"},
		"a size below zero":   {[]string{"submit", "--disk", "-1GiB", "--", "true"}, `--disk: invalid size "-1GiB"`},
		"no cpu":              {[]string{"submit", "--cpu", "-1", "--", "true"}, "--cpu -1"},
		"no variable":         {[]string{"submit", "--env", "NOT_SET_ANYWHERE", "--", "true"}, "NOT_SET_ANYWHERE=VALUE"},
		"an unknown os": {[]string{"submit", "--os", "Linux", "--", "true"},
			`--os: unknown value "Linux"; valid: linux, darwin, windows`},
		"an unknown arch": {[]string{"submit", "--arch", "amd64", "--", "true"},
			`--arch: unknown value "amd64"; valid: x86_64, arm64`},
		"no jobs": {[]string{"submit", "--count", "0", "--", "true"}, "must be at least 1"},
	} {
		var out, errs bytes.Buffer
		if code := run(context.Background(), c.args, &out, &errs); code != 1 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%s: exit %d: %s%s", name, code, out.String(), errs.String())
		}
	}
	if _, err := os.Stat(tokenFile); err == nil {
		t.Error("a refused call made a token")
	}
}

func TestSizesAreReadInBothKindsOfUnit(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "4GiB": 4 << 30, "1.5KiB": 1536, "2 MB": 2_000_000, "7B": 7} {
		if got, err := bytesOf("--memory", text); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"4", "GiB", "1e400GiB", "NaNGiB", "99999999TiB"} {
		if got, err := bytesOf("--memory", text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestJobsShowsCommandsWithArguments(t *testing.T) {
	for want, words := range map[string][]string{
		"sleep 300":                             {"sleep", "300"},
		`sh -c "make test && ls" ""`:            {"sh", "-c", "make test && ls", ""},
		"echo " + strings.Repeat("x", 54) + "…": {"echo", strings.Repeat("x", 90)},
		`printf "a\x1b[2J\tb\n"`:                {"printf", "a\x1b[2J\tb\n"},
	} {
		var out bytes.Buffer
		if err := table(
			&out,
			[]queue.Job{{ID: "j1", Command: words}},
		); err != nil ||
			!strings.Contains(out.String(), "  "+want+"  ") && !strings.Contains(out.String(), "  "+want+"\n") {
			t.Errorf("%q: %v\n%s", words, err, out.String())
		}
	}
}

func TestVersionFlagPrintsTheVersion(t *testing.T) {
	var out bytes.Buffer
	if code := run(
		context.Background(),
		[]string{"--version"},
		&out,
		&out,
	); code != 0 ||
		out.String() != "forgeyard-queue "+version.Version+"\n" {
		t.Errorf("exit code %d: %q", code, out.String())
	}
}
