package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// HostMarkVariable is in the environment of every process of every job of an
// agent that was given a HostMark, which is the value.
const HostMarkVariable = "FORGEYARD_HOST_MARK"

// How long the processes and the folder of a job that is over may resist before
// the agent complains, and how often it looks.
const (
	endPatience  = 10 * time.Second
	pollInterval = 20 * time.Millisecond
)

// job is one run of the command, from its first process until none is left.
type job struct {
	config Config
	cmd    *exec.Cmd
	group  *process.Group
	log    *jobLog
	folder string
	uid    int // of an isolated job's user, whose files in shared folders go too; 0: none
	begun  time.Time
	// worker says that the command is a scheduler's worker, stopRequested that it was
	// asked to stop.
	worker, stopRequested bool
	// stoppedByScheduler says that the scheduler itself stops the worker.
	stoppedByScheduler bool
	// stuck says which processes resist; nil: none.
	stuck atomic.Pointer[string]
}

// jobResult is how a job ended. Clean: no process of it is left.
type jobResult struct {
	exit    string
	failed  bool
	took    time.Duration
	clean   bool
	problem string // what couldn't be cleaned up; empty: nothing
}

// startJob runs the command in a new process group, in an empty folder, with a
// clean environment, as the user; nil: the agent's own. The history knows of it
// before it exists.
func startJob(c Config, h *history, d agentapi.Directive, u *isolation.User) (*job, error) {
	mark, err := newMark()
	if err != nil {
		return nil, err
	}
	j := &job{config: c, uid: u.IsolatedUID()}
	if j.folder, err = isolation.MakeJobFolder(c.host(), u); err != nil {
		return nil, err
	}
	if j.log, err = openJobLog(c.StateDir, c.LogLimit); err != nil {
		return nil, err
	}
	j.worker, j.stoppedByScheduler = d.Worker, d.StoppedByScheduler
	j.cmd = u.Command(c.host(), d.Command)
	j.cmd.Dir = j.folder
	j.cmd.Env = append(
		isolation.Environment(c.Path, j.folder, filepath.Join(j.folder, "tmp"), d.Env),
		process.MarkVariable+"="+mark,
	)
	j.cmd.Env = append(j.cmd.Env, InterruptionVariable+"="+interruptionPath(c, u))
	if c.HostMark != "" {
		j.cmd.Env = append(j.cmd.Env, HostMarkVariable+"="+c.HostMark)
	}
	j.cmd.Stdout, j.cmd.Stderr = j.log.in, j.log.in
	if u != nil {
		// Scripts open /dev/stdout by name, which asks for rights to the pipe again.
		if err := j.log.in.Chown(u.UID, u.GID); err != nil {
			j.log.close()
			return nil, fmt.Errorf("give the job its output: %w", err)
		}
	}

	record := jobRecord{JobProcesses: process.JobProcesses{Mark: mark, Boot: bootOfNow(), UID: j.uid}, Folder: j.folder}
	if err := h.begin(record, d.Cleanup); err != nil {
		j.log.close()
		return nil, err
	}
	j.begun = time.Now()
	if err := j.start(c, mark, u); err != nil {
		j.log.close()
		return nil, errors.Join(err, h.finish("did not start: "+err.Error(), false))
	}
	record.PID = j.cmd.Process.Pid
	record.Started, _ = process.Identify(record.PID)
	if err := h.begin(record, d.Cleanup); err != nil {
		// The mark finds the job too; losing only the pid is not a reason to stop it.
		c.Logger.Warn("could not record the job's process", "error", err)
	}
	return j, nil
}

func (j *job) start(c Config, mark string, u *isolation.User) error {
	if err := process.Start(j.cmd); err != nil {
		return fmt.Errorf("start %s: %w", j.cmd.Path, err)
	}
	_ = j.log.in.Close() // the job has its own
	var err error
	if j.group, err = process.NewGroup(
		j.cmd,
		process.Job{Mark: mark, UID: j.uid, EndAll: func() error { return u.EndAll(c.host()) }},
	); err != nil {
		_ = j.cmd.Process.Kill()
		_ = process.Wait(j.cmd)
		return err
	}
	return nil
}

// finish waits for the job and cleans up after it: every process that it left is
// ended and its folder removed. It returns without that only when ctx ends.
func (j *job) finish(ctx context.Context) jobResult {
	err := process.Wait(j.cmd)
	r := jobResult{exit: exitText(j.cmd, err), failed: err != nil, took: time.Since(j.begun)}
	r.clean = j.endProcesses(ctx)
	j.log.close()
	j.group.Close()
	if r.clean {
		if err := j.removeFolder(); err != nil {
			r.problem = "the files of a job could not be removed: " + err.Error()
		}
	} else {
		r.problem = *j.stuck.Load()
	}
	return r
}

// endProcesses ends what the job left until nothing is, however long that takes.
// Where something resists, stuck says so meanwhile; ctx gives up.
func (j *job) endProcesses(ctx context.Context) bool {
	for begun := time.Now(); ; {
		left, err := j.group.Members()
		if err == nil && len(left) == 0 {
			return true
		}
		err = errors.Join(err, j.group.Signal(true))
		wait := pollInterval
		if time.Since(begun) > endPatience {
			wait = time.Second
			text := stuckText(len(left), err)
			j.stuck.Store(&text)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			text := stuckText(len(left), err)
			j.stuck.Store(&text)
			return false
		}
	}
}

func stuckText(left int, err error) string {
	text := fmt.Sprintf("%d processes of a job can't be ended", left)
	if err != nil {
		text += ": " + err.Error()
	}
	return text
}

func (j *job) removeFolder() error {
	err := isolation.RemoveFolder(j.folder)
	for begun := time.Now(); err != nil && time.Since(begun) < time.Second; err = isolation.RemoveFolder(j.folder) {
		time.Sleep(pollInterval) // Windows lets go of files a moment after their process
	}
	if j.uid != 0 {
		err = errors.Join(err, isolation.SweepUser(j.config.host(), j.uid))
	}
	return err
}

func exitText(cmd *exec.Cmd, err error) string {
	if cmd.ProcessState == nil {
		return fmt.Sprintf("exit status unknown: %v", err)
	}
	return cmd.ProcessState.String()
}

func newMark() (string, error) {
	mark := make([]byte, 16)
	if _, err := rand.Read(mark); err != nil {
		return "", fmt.Errorf("make the job's mark: %w", err)
	}
	return hex.EncodeToString(mark), nil
}

// bootOfNow tells this start of the host from others.
func bootOfNow() string {
	_, boot := process.Identify(os.Getpid())
	return boot
}
