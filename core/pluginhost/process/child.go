//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
)

// DrainGrace is how long the last output of an ended plugin is waited for. A
// grandchild may hold the pipes open for ever.
const DrainGrace = time.Second

// Child is the plugin's operating system process. It stands in for
// go-plugin's own runner, which leaves the check of the file and its execution
// apart, hands on the host's terminal and environment, notices an exit only
// after the last pipe is closed, and kills one process of a group.
type Child struct {
	// Log reads what the plugin writes.
	Log *pluginlog.Log

	command   Command
	file      *os.File
	dir       *Directory
	handshake *io.PipeReader // what go-plugin may read of standard output
	pumps     sync.WaitGroup
	exited    chan struct{}

	mutex   sync.Mutex // guards the fields below
	running *exec.Cmd  // nil until started
	reaped  bool
	pipes   *pipes // the host's ends, from the start on
	orphan  bool   // the host plays dead: what is left of the group is looked at first
	killed  string // why the host killed it; empty: it didn't
	result  error  // of waiting for it
}

// NewChild makes a child that is yet to start. The file is the verified executable, and
// stays open until Start has returned.
func NewChild(c Command, file *os.File, dir *Directory, log *pluginlog.Log) *Child {
	return &Child{Log: log, command: c, file: file, dir: dir, exited: make(chan struct{})}
}

// SetEnv adds variables as NAME=VALUE, which win over those of the host's environment.
// It has no effect after Start.
func (c *Child) SetEnv(variables []string) { c.command.Fixed = append(c.command.Fixed, variables...) }

// Start executes the verified file in its own process group.
func (c *Child) Start(context.Context) error {
	env, err := c.command.environment()
	if err != nil {
		return err
	}
	pipes, err := openPipes()
	if err != nil {
		return err
	}
	command, err := c.execute(env, pipes)
	pipes.closeChildEnds()
	if err != nil {
		pipes.closeHostEnds()
		return fmt.Errorf(
			"execute %s: %w; check that it was built for this platform and that its file system allows execution",
			c.command.Path,
			err,
		)
	}
	c.mutex.Lock()
	c.pipes = pipes
	c.mutex.Unlock()
	go c.reap(command, pipes)
	if err := c.dir.setProcess(command.Process.Pid); err != nil {
		// Without the record a later manager couldn't prove whose process it is.
		c.KillGroup("its launch could not be recorded")
		<-c.exited
		pipes.closeHostEnds()
		return err
	}
	handshake, accepted := io.Pipe()
	c.handshake = handshake
	c.pumps.Go(func() { c.Log.ReadStdout(outputPipe{pipes.stdout.read}, accepted, c.awaitExitStatus) })
	c.pumps.Go(func() { c.Log.ReadStderr(outputPipe{pipes.stderr.read}) })
	return nil
}

// execute starts the process. The launch lock is open in it and, once this
// returns, nowhere else.
func (c *Child) execute(env []string, pipes *pipes) (*exec.Cmd, error) {
	lock, err := c.dir.lock()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	path, executable, passedLock, err := prepareExec(c.file, lock)
	if err != nil {
		return nil, err
	}
	if executable != nil {
		defer executable.Close()
		defer passedLock.Close()
	}
	command := &exec.Cmd{
		Path:        path,
		Args:        []string{c.command.Path},
		Env:         env,
		Stdin:       pipes.stdin.read,
		Stdout:      pipes.stdout.write,
		Stderr:      pipes.stderr.write,
		ExtraFiles:  []*os.File{passedLock},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.killed != "" {
		return nil, errors.New(c.killed)
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	c.running = command
	return command, nil
}

// reap waits for the end, ends what is left of the process group and tells
// everybody at once. Until then it holds the plugin's standard input open, whose
// end tells a plugin that its host is gone. The group is killed while its leader still is a zombie,
// where the system allows: afterwards its number may belong to other processes.
func (c *Child) reap(command *exec.Cmd, pipes *pipes) {
	unreaped := awaitExit(command.Process.Pid)
	var result error
	if !unreaped {
		result = command.Wait()
	}
	c.mutex.Lock()
	if !c.orphan {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	}
	if unreaped {
		result = command.Wait()
	}
	c.result, c.reaped = result, true
	c.mutex.Unlock()

	pipes.stdin.write.Close()
	last := time.Now().Add(DrainGrace)
	_ = pipes.stdout.read.SetReadDeadline(last)
	_ = pipes.stderr.read.SetReadDeadline(last)
	close(c.exited)
}

// KillGroup ends the whole process group at once, and why is told as the cause of
// the exit. Before the start it prevents it.
func (c *Child) KillGroup(why string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.reaped {
		return
	}
	if c.killed == "" {
		c.killed = why
	}
	if c.running != nil {
		_ = syscall.Kill(-c.running.Process.Pid, syscall.SIGKILL)
	}
}

// awaitExitStatus returns when the process has ended, or soon: its streams may end first.
func (c *Child) awaitExitStatus() {
	select {
	case <-c.exited:
	case <-time.After(DrainGrace):
	}
}

// AwaitOutput returns when the process, if there was one, is reaped and its output read.
func (c *Child) AwaitOutput() {
	if c.ID() == "" {
		return
	}
	<-c.exited
	c.pumps.Wait()
}

// EndedByItself says that the process is gone and that the host didn't kill it.
func (c *Child) EndedByItself() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.reaped && c.killed == ""
}

// ExitStatus tells how the process ended.
func (c *Child) ExitStatus() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case !c.reaped:
		return nil
	case c.killed != "":
		return fmt.Errorf("killed by the manager: %s", c.killed)
	case c.result == nil:
		return errors.New("exit status 0")
	}
	return c.result
}

// ID is the process's pid; empty before the start.
func (c *Child) ID() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.running == nil {
		return ""
	}
	return strconv.Itoa(c.running.Process.Pid)
}

// Exited is closed when the process has been reaped.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// LoseHost closes the host's ends of the pipes, and spares the group at the end
// of its leader.
func (c *Child) LoseHost() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.orphan = true
	if c.pipes != nil {
		c.pipes.closeHostEnds()
	}
}
