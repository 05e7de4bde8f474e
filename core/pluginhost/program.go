//go:build unix

package pluginhost

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

	"github.com/hashicorp/go-plugin/runner"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
)

// drainGrace is how long the last output of an ended plugin is waited for. A
// grandchild may hold the pipes open for ever.
const drainGrace = time.Second

// program is the plugin's operating system process. It stands in for
// go-plugin's own runner, which leaves the check of the file and its execution
// apart, hands on the host's terminal and environment, notices an exit only
// after the last pipe is closed, and kills one process of a group.
type program struct {
	launch Launch
	file   *os.File
	dir    *launchDir
	// handshakeEnv is what go-plugin wants the plugin to know.
	handshakeEnv []string

	log       *pluginlog.Log
	handshake *io.PipeReader // what go-plugin may read of standard output
	pumps     sync.WaitGroup
	exited    chan struct{}

	mutex   sync.Mutex // guards the fields below
	command *exec.Cmd  // nil until started
	reaped  bool
	pipes   *pipes // the host's ends, from the start on
	orphan  bool   // the host plays dead: what is left of the group is looked at first
	killed  string // why the host killed it; empty: it didn't
	result  error  // of waiting for it
}

var _ runner.Runner = (*program)(nil)

func newProgram(l Launch, file *os.File, dir *launchDir, redactor *pluginlog.Redactor) *program {
	return &program{launch: l, file: file, dir: dir, log: pluginlog.New(l.Logger, redactor, l.OnOutput), exited: make(chan struct{})}
}

// Start executes the verified file in its own process group.
func (p *program) Start(context.Context) error {
	env, err := environment(p.launch, p.handshakeEnv, p.dir.sockets())
	if err != nil {
		return err
	}
	pipes, err := openPipes()
	if err != nil {
		return err
	}
	command, err := p.execute(env, pipes)
	pipes.closeChildEnds()
	if err != nil {
		pipes.closeHostEnds()
		return fmt.Errorf(
			"execute %s: %w; check that it was built for this platform and that its file system allows execution",
			p.launch.Path,
			err,
		)
	}
	p.mutex.Lock()
	p.pipes = pipes
	p.mutex.Unlock()
	go p.reap(command, pipes)
	if err := p.dir.setProcess(command.Process.Pid); err != nil {
		// Without the record a later manager couldn't prove whose process it is.
		p.kill("its launch could not be recorded")
		<-p.exited
		pipes.closeHostEnds()
		return err
	}
	handshake, accepted := io.Pipe()
	p.handshake = handshake
	p.pumps.Go(func() { p.log.ReadStdout(outputPipe{pipes.stdout.read}, accepted, p.awaitExit) })
	p.pumps.Go(func() { p.log.ReadStderr(outputPipe{pipes.stderr.read}) })
	return nil
}

// execute starts the process. The launch lock is open in it and, once this
// returns, nowhere else.
func (p *program) execute(env []string, pipes *pipes) (*exec.Cmd, error) {
	lock, err := p.dir.lock()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	path, executable, passedLock, err := prepareExec(p.file, lock)
	if err != nil {
		return nil, err
	}
	if executable != nil {
		defer executable.Close()
		defer passedLock.Close()
	}
	command := &exec.Cmd{
		Path:        path,
		Args:        []string{p.launch.Path},
		Env:         env,
		Stdin:       pipes.stdin.read,
		Stdout:      pipes.stdout.write,
		Stderr:      pipes.stderr.write,
		ExtraFiles:  []*os.File{passedLock},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.killed != "" {
		return nil, errors.New(p.killed)
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p.command = command
	return command, nil
}

// reap waits for the end, ends what is left of the process group and tells
// everybody at once. Until then it holds the plugin's standard input open, whose
// end tells a plugin that its host is gone. The group is killed while its leader still is a zombie,
// where the system allows: afterwards its number may belong to other processes.
func (p *program) reap(command *exec.Cmd, pipes *pipes) {
	unreaped := awaitExit(command.Process.Pid)
	var result error
	if !unreaped {
		result = command.Wait()
	}
	p.mutex.Lock()
	if !p.orphan {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	}
	if unreaped {
		result = command.Wait()
	}
	p.result, p.reaped = result, true
	p.mutex.Unlock()

	pipes.stdin.write.Close()
	last := time.Now().Add(drainGrace)
	_ = pipes.stdout.read.SetReadDeadline(last)
	_ = pipes.stderr.read.SetReadDeadline(last)
	close(p.exited)
}

// kill ends the whole process group at once, and why is told as the cause of
// the exit. Before the start it prevents it.
func (p *program) kill(why string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.reaped {
		return
	}
	if p.killed == "" {
		p.killed = why
	}
	if p.command != nil {
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	}
}

// awaitExit returns when the process has ended, or soon: its streams may end first.
func (p *program) awaitExit() {
	select {
	case <-p.exited:
	case <-time.After(drainGrace):
	}
}

// wait returns when the process, if there was one, is reaped and its output read.
func (p *program) wait() {
	if p.ID() == "" {
		return
	}
	<-p.exited
	p.pumps.Wait()
}

// endedByItself says that the process is gone and that the host didn't kill it.
func (p *program) endedByItself() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.reaped && p.killed == ""
}

// status tells how the process ended.
func (p *program) status() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch {
	case !p.reaped:
		return nil
	case p.killed != "":
		return fmt.Errorf("killed by the manager: %s", p.killed)
	case p.result == nil:
		return errors.New("exit status 0")
	}
	return p.result
}

// Wait implements runner.Runner.
func (p *program) Wait(context.Context) error {
	<-p.exited
	return nil
}

// Kill implements runner.Runner: go-plugin calls it when the plugin has not
// ended by itself.
func (p *program) Kill(context.Context) error {
	p.kill("it did not end when it was asked to")
	return nil
}

// ID is the process's pid; empty before the start.
func (p *program) ID() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.command == nil {
		return ""
	}
	return strconv.Itoa(p.command.Process.Pid)
}

// Name implements runner.Runner.
func (p *program) Name() string { return p.launch.Path }

// Stdout gives go-plugin the handshake line and nothing else.
func (p *program) Stdout() io.ReadCloser { return p.handshake }

// Stderr gives go-plugin nothing: its parser of log lines panics, and takes the
// host with it, on a line such as {"@message":1}. The lines are read by pluginlog.
func (p *program) Stderr() io.ReadCloser { return io.NopCloser(eof{}) }

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// Diagnose adds nothing: startError tells the last lines of every failed start.
func (p *program) Diagnose(context.Context) string { return "" }

// PluginToHost takes the address of the handshake. Both sides see the same file
// system; what is refused is an address that would lead elsewhere.
func (p *program) PluginToHost(network, address string) (string, string, error) {
	if err := p.dir.checkSocket(network, address); err != nil {
		return "", "", fmt.Errorf(
			"it wants to be reached at %q: %w; a plugin listens on a unix socket in the directory that "+
				"PLUGIN_UNIX_SOCKET_DIR names",
			shownText(network+" "+address, pluginlog.MaxLastLine),
			err,
		)
	}
	return network, address, nil
}

// HostToPlugin implements runner.AddrTranslator.
func (p *program) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
