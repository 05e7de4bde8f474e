//go:build linux

package e2e

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// result is how a command ended.
type result struct {
	code     int // -1: by a signal
	out, err string
}

// fleet runs forgeyard-fleet in the workspace and insists on its exit code.
func (w *workspace) fleet(code int, args ...string) result {
	w.t.Helper()
	r := w.start(args...).wait()
	if r.code != code {
		w.t.Fatalf("forgeyard-fleet %s ended with %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

// apply applies the fleet file and insists on the exit code.
func (w *workspace) apply(code int, flags ...string) result {
	w.t.Helper()
	return w.fleet(code, append([]string{"apply", "--auto-approve"}, flags...)...)
}

// command is a running forgeyard-fleet.
type command struct {
	t    *testing.T
	cmd  *exec.Cmd
	args []string
	err  strings.Builder
	// limit ends one that hangs, with its goroutines on standard error.
	limit *time.Timer
	// ended is closed after the process was waited for.
	ended chan struct{}

	mutex   sync.Mutex
	changed *sync.Cond
	out     strings.Builder
	over    bool // nothing more comes
}

// start begins a command without waiting for it.
func (w *workspace) start(args ...string) *command {
	w.t.Helper()
	return w.startWith(nil, args...)
}

// startWith is start with more variables in the environment.
func (w *workspace) startWith(variables []string, args ...string) *command {
	w.t.Helper()
	return w.begin(exec.Command(filepath.Join(w.bin, "forgeyard-fleet"), args...), variables, args...)
}

// begin starts a program in the workspace, with more variables in its environment.
func (w *workspace) begin(program *exec.Cmd, variables []string, args ...string) *command {
	w.t.Helper()
	c := &command{t: w.t, cmd: program, args: args, ended: make(chan struct{})}
	c.changed = sync.NewCond(&c.mutex)
	c.cmd.Dir, c.cmd.Env, c.cmd.Stderr = w.dir, slices.Concat(w.environ, variables), &c.err
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	c.limit = time.AfterFunc(patience, func() { _ = c.cmd.Process.Signal(syscall.SIGQUIT) })
	go func() {
		defer close(c.ended)
		defer c.limit.Stop()
		c.follow(out)
		_ = c.cmd.Wait() // the exit code tells
	}()
	return c
}

// follow takes the output in, line by line, as it comes.
func (c *command) follow(out io.Reader) {
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		c.mutex.Lock()
		c.out.WriteString(line)
		c.over = err != nil
		c.changed.Broadcast()
		c.mutex.Unlock()
		if err != nil {
			return
		}
	}
}

// says waits until the text is in the output; false: the command ended without.
func (c *command) says(text string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for {
		if strings.Contains(c.out.String(), text) {
			return true
		}
		if c.over {
			return false
		}
		c.changed.Wait()
	}
}

// heard is what it has said so far.
func (c *command) heard() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.out.String()
}

// mustSay is says for what surely comes.
func (c *command) mustSay(text string) {
	c.t.Helper()
	if !c.says(text) {
		r := c.wait()
		c.t.Fatalf(
			"forgeyard-fleet %s ended with %d and never said %q\n%s%s",
			strings.Join(c.args, " "),
			r.code,
			text,
			r.out,
			r.err,
		)
	}
}

func (c *command) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// kill ends the process as a power cut would, and waits until it is gone.
func (c *command) kill() result {
	c.signal(syscall.SIGKILL)
	return c.wait()
}

// hasEnded says whether the process is gone.
func (c *command) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// wait waits for the end.
func (c *command) wait() result {
	<-c.ended
	return result{code: c.cmd.ProcessState.ExitCode(), out: c.out.String(), err: c.err.String()}
}
