package worker

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// process is a job's first process with its group.
type process struct {
	cmd    *exec.Cmd
	folder string
	notice string
	tail   *tail
	// over is closed when the first process has ended and its group with it.
	over chan struct{}
}

// outputTime is how long after a job's end its output is still read: a process
// that left the group may hold it open for ever.
const outputTime = time.Second

func (p *process) start(command []string, folder string, env []string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe for the job's output: %w", err)
	}
	defer write.Close()
	p.tail, p.over = &tail{}, make(chan struct{})
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = folder, env, write, write
	inNewGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		_ = read.Close()
		return err
	}
	copied := make(chan struct{})
	go func() { defer close(copied); p.tail.copy(read) }()
	go func() {
		defer close(p.over)
		_ = p.cmd.Wait()
		p.signal(kill) // what is left of its group
		select {
		case <-copied:
		case <-time.After(outputTime):
		}
		_ = read.Close()
		<-copied
	}()
	return nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// exitStatus is the command's own; -1: a signal ended it.
func (p *process) exitStatus() int { return p.cmd.ProcessState.ExitCode() }

func (p *process) exitText() string { return p.cmd.ProcessState.String() }

// interrupt tells a job that saves its state how long it has, and then that it is
// time.
func (p *process) interrupt(left time.Duration) error {
	text := strconv.FormatFloat(left.Seconds(), 'f', 0, 64) + "\n"
	if err := os.WriteFile(p.notice, []byte(text), 0o600); err != nil {
		return err
	}
	return p.signalCheckpoint()
}

// removeFolder removes a job's files even where it took away its own right to
// write, as module caches do.
func (p *process) removeFolder() error {
	if os.RemoveAll(p.folder) == nil {
		return nil
	}
	_ = filepath.WalkDir(p.folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(p.folder)
}

// tail keeps the end of an output.
type tail struct {
	mu      sync.Mutex
	content []byte
}

func (t *tail) copy(from *os.File) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		t.add(buffer[:n])
		if err != nil {
			return
		}
	}
}

func (t *tail) add(more []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.content = append(t.content, more...)
	if over := len(t.content) - MaxTailBytes; over > 0 {
		t.content = append(t.content[:0], t.content[over:]...)
	}
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.content)
}
