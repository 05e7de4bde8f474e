//go:build linux

package e2e

import (
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

func TestExit3WhereAHostCanNeverBeAdmitted(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 2, capabilities: `"time-travel"`}.String())
	w.install()
	r := w.apply(3)
	for _, want := range []string{"needs your action", `lacks "time-travel"`} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the end doesn't say %q:\n%s", want, r.out)
		}
	}
	w.shouldBeEmpty() // the host that was refused is removed

	// What the person does: the file is corrected, and the next apply continues.
	w.write(definition{min: 1, max: 2, capabilities: `"shell"`}.String())
	w.apply(0)
	w.shouldHave(1)
}

func TestExit3WhereTheWaitIsTooShort(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"1ns", "1ms", "40ms"} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write(definition{min: 1, max: 1}.String())
			w.install()
			r := w.apply(3, "--wait", wait)
			if !strings.Contains(r.out, "Not finished after "+wait) {
				t.Errorf("the end doesn't say that the wait was over:\n%s", r.out)
			}
			w.apply(0)
			w.shouldHave(1)
		})
	}
}

func TestExit4WhereThePlanIsDeclined(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 1}.String())
	w.install()
	for _, answer := range []string{"no\n", "y\n", "\n", "\x04"} { // Ctrl-D is not an answer
		if code, out := w.inTerminal(answer, "apply"); code != 4 || !strings.Contains(out, "Nothing was applied") {
			t.Errorf("after the answer %q it ended with %d:\n%s", answer, code, out)
		}
	}
	if applied := w.stored(); len(applied) != 0 {
		t.Errorf("something is stored: %v", applied)
	}
	w.shouldBeEmpty()
	if code, out := w.inTerminal("yes\n", "apply"); code != 0 {
		t.Fatalf("after a yes it ended with %d:\n%s", code, out)
	}
	w.shouldHave(1)
}

func TestExit1WhereNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 1}.String())
	w.install()
	if r := w.fleet(1, "apply"); !strings.Contains(r.err, "--auto-approve") {
		t.Errorf("the way out isn't named:\n%s", r.err)
	}
	w.shouldBeEmpty()
}

// inTerminal runs a command on a pseudo-terminal and types the answer once it
// asks.
func (w *workspace) inTerminal(answer string, args ...string) (code int, out string) {
	w.t.Helper()
	return w.inTerminalAfter(func() {}, answer, args...)
}

// inTerminalAfter does something between the question and the answer.
func (w *workspace) inTerminalAfter(meanwhile func(), answer string, args ...string) (code int, out string) {
	w.t.Helper()
	c := exec.Command(filepath.Join(bin, "forgeyard-fleet"), args...)
	c.Dir, c.Env = w.dir, w.environ
	terminal, err := pty.Start(c)
	if err != nil {
		w.t.Fatal(err)
	}
	defer terminal.Close()
	var text strings.Builder
	typed := false
	for buffer := make([]byte, 4096); ; {
		n, err := terminal.Read(buffer)
		text.Write(buffer[:n])
		if !typed && strings.Contains(text.String(), `Type "yes" to continue: `) {
			typed = true
			meanwhile()
			if _, err := io.WriteString(terminal, answer); err != nil {
				w.t.Fatal(err)
			}
		}
		if err != nil {
			break // the other end is closed: the command has ended
		}
	}
	_ = c.Wait() // the exit code tells
	return c.ProcessState.ExitCode(), text.String()
}

func TestExit130WhereApplyIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"requested: ", "→ provisioning", "→ bootstrapping", "→ enrolling", "→ healthy"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write(definition{min: 2, max: 2}.String())
			w.install()
			c := w.start("apply", "--auto-approve")
			c.mustSay(moment)
			c.signal(syscall.SIGINT)
			r := c.wait()
			// The last moment may be the end as well.
			if r.code != 130 && (moment != "→ healthy" || r.code != 0) {
				t.Errorf("it ended with %d:\n%s%s", r.code, r.out, r.err)
			}
			if r.code == 130 && !strings.Contains(r.out+r.err, "Interrupted") {
				t.Errorf("it doesn't say that it was interrupted:\n%s%s", r.out, r.err)
			}
			if r.err != "" && r.err != "Interrupted.\n" {
				t.Errorf("an ordered stop has errors:\n%s", r.err)
			}
			if plugins := w.pids("plugin"); len(plugins) > 0 || len(w.launches()) > 0 {
				t.Errorf("an ordered stop leaves plugins: %v", plugins)
			}
			w.apply(0)
			w.shouldHave(2)
		})
	}
}
