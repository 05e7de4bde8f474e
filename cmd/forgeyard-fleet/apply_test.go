package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
)

// screen is what the user sees; asked is closed with the question.
type screen struct {
	mutex sync.Mutex
	text  bytes.Buffer
	asked chan struct{}
	once  sync.Once
}

func (s *screen) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.text.Write(p)
	if strings.Contains(s.text.String(), "Apply? Type \"yes\" to continue:") {
		s.once.Do(func() { close(s.asked) })
	}
	return len(p), nil
}

func (s *screen) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

// desk is a user at a terminal with one installation that has no fleets.
type desk struct {
	t     *testing.T
	files string
	env   map[string]string
	// version is of the command.
	version string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	base, err := os.MkdirTemp("", "desk-") // short: sockets live below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	d := &desk{t: t, version: "0.1.0", files: filepath.Join(base, "fleet"), env: map[string]string{
		"HOME":             base,
		"FLEET_STATE_DIR":  filepath.Join(base, "state"),
		"FLEET_PLUGIN_DIR": filepath.Join(base, "plugins"),
		"XDG_RUNTIME_DIR":  base,
	}}
	if err := os.Mkdir(d.files, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(
		filepath.Join(d.files, "fleet.hcl"),
		[]byte("forgeyard {\n  installation = \"desk\"\n}\n"),
		0o644,
	); err != nil {
		t.Fatal(err)
	}
	return d
}

// run is one command line; who answers its question reads from in.
func (d *desk) run(ctx context.Context, in io.Reader, terminal bool, args ...string) (code int, out *screen) {
	out = &screen{asked: make(chan struct{})}
	return d.start(ctx, in, terminal, out, args...), out
}

func (d *desk) start(ctx context.Context, in io.Reader, terminal bool, out *screen, args ...string) int {
	a := &app{
		in:         in,
		out:        out,
		err:        out,
		inTerminal: terminal,
		environ:    func() []string { return nil },
		now:        time.Now,
		version:    d.version,
		lookupEnv:  func(name string) (string, bool) { value, ok := d.env[name]; return value, ok },
	}
	return a.run(ctx, args)
}

// wantApplied checks whether anything is stored. It needs the writer's lock to
// be free again.
func (d *desk) wantApplied(want bool) {
	d.t.Helper()
	code, out := d.run(d.t.Context(), strings.NewReader(""), false, "plan", "--detailed-exitcode", d.files)
	if applied := code == terminal.ExitDone; applied != want || !applied && code != terminal.ExitChanges {
		d.t.Errorf("plan exits with %d; applied %v, want %v:\n%s", code, applied, want, out)
	}
}

func wantScreen(t *testing.T, out *screen, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the screen lacks %q:\n%s", part, out)
		}
	}
}

func TestOnlyYesApplies(t *testing.T) {
	for answer, want := range map[string]int{
		"yes\n": terminal.ExitDone, " yes \n": terminal.ExitDone, "yes": terminal.ExitDone,
		"no\n": terminal.ExitDeclined, "y\n": terminal.ExitDeclined, "\n": terminal.ExitDeclined,
		"YES\n": terminal.ExitDeclined, "": terminal.ExitDeclined,
	} {
		t.Run(strings.TrimSpace(answer), func(t *testing.T) {
			d := newDesk(t)
			code, out := d.run(t.Context(), strings.NewReader(answer), true, "apply", d.files)
			if code != want {
				t.Errorf("%q exits with %d, want %d:\n%s", answer, code, want, out)
			}
			if want == terminal.ExitDeclined {
				wantScreen(t, out, "Apply? Type \"yes\" to continue:", "Nothing was applied.")
			}
			d.wantApplied(want == terminal.ExitDone)
		})
	}
}

func TestWithoutATerminalApplyNeedsAutoApprove(t *testing.T) {
	d := newDesk(t)
	code, out := d.run(t.Context(), strings.NewReader("yes\n"), false, "apply", d.files)
	if code != terminal.ExitError {
		t.Errorf("it exits with %d:\n%s", code, out)
	}
	wantScreen(t, out, "no terminal to ask on; pass --auto-approve", "Nothing was applied.")
	d.wantApplied(false)
	if code, out := d.run(
		t.Context(),
		strings.NewReader(""),
		false,
		"apply",
		"--auto-approve",
		d.files,
	); code != terminal.ExitDone {
		t.Errorf("with --auto-approve it exits with %d:\n%s", code, out)
	}
	d.wantApplied(true)
}

// The question holds the writer's lock: who leaves it open and presses Ctrl-C
// must be free to start again.
func TestInterruptAtTheQuestionAppliesNothing(t *testing.T) {
	d := newDesk(t)
	ctx, interrupt := context.WithCancel(t.Context())
	keyboard, typing := io.Pipe() // no one types
	t.Cleanup(func() { _ = typing.Close() })
	out := &screen{asked: make(chan struct{})}
	code := make(chan int, 1)
	go func() { code <- d.start(ctx, keyboard, true, out, "apply", d.files) }()
	select {
	case <-out.asked:
	case <-time.After(time.Minute):
		t.Fatalf("nothing is asked:\n%s", out)
	}
	interrupt()
	select {
	case got := <-code:
		if got != terminal.ExitInterrupted {
			t.Errorf("it exits with %d:\n%s", got, out)
		}
	case <-time.After(time.Minute):
		t.Fatal("the question outlives the interrupt")
	}
	wantScreen(t, out, "Nothing was applied.", "Interrupted.")
	d.wantApplied(false)
	if code, out := d.run(t.Context(), strings.NewReader("yes\n"), true, "apply", d.files); code != terminal.ExitDone {
		t.Errorf("the next apply exits with %d:\n%s", code, out)
	}
}
