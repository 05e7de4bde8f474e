package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
)

// hookDue says that the clean-up hook of the job that is over hasn't succeeded.
func (r *runner) hookDue() bool {
	return r.job == nil && len(r.history.record.Cleanup) > 0
}

// startHook runs the clean-up hook that the fleet file gave with the job that is
// over, once nothing else is left of it. It runs as the agent's own user, since it
// must be able to remove what a job left anywhere.
//
// A hook that failed is not run again: the host is for people to look at (spec §145).
func (r *runner) startHook() {
	if r.hookRunning || !r.hookDue() || r.hasRemains() || r.history.record.CleanupFailed != "" {
		return
	}
	r.hookRunning = true
	argv := r.history.record.Cleanup
	go func() { r.hookOver <- runHook(r.background, r.Config, argv) }()
}

func (r *runner) keepHook(err error) {
	r.hookRunning = false
	if r.background.Err() != nil {
		return // the agent ends; the next one runs it
	}
	failure := ""
	if err != nil {
		failure = "the clean-up hook failed: " + err.Error()
		r.Logger.Error("the clean-up hook failed; this host starts no more jobs", "error", err)
	}
	if err := r.history.recordCleanup(failure); err != nil {
		// The record in memory is right; the next one that is written carries it.
		r.Logger.Error("could not record the end of the clean-up hook", "error", err)
	}
	r.scheduleHeartbeatIfChanged()
}

// runHook gives why the hook failed, with the end of what it wrote.
func runHook(ctx context.Context, c Config, argv []string) error {
	ctx, cancel := context.WithTimeout(ctx, c.CleanupTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var output tail
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second
	cmd.Dir = os.TempDir()
	cmd.Env = isolation.Environment(c.Path, os.Getenv("HOME"), os.TempDir(), nil)
	process.InNewGroup(cmd)
	cmd.Cancel = func() error { return process.KillGroup(cmd) }
	err := process.Start(cmd)
	if err == nil {
		err = process.Wait(cmd)
	}
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return fmt.Errorf("%s did not finish within %v%s", argv[0], c.CleanupTime, output.quoted())
	case err != nil:
		return fmt.Errorf("%s: %w%s", argv[0], err, output.quoted())
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-evidenceLimit):]
	return len(p), nil
}

func (t *tail) quoted() string {
	text := strings.TrimSpace(string(t.kept))
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (end of its output: %q)", text)
}
