package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
)

// history is what must survive the agent's process: how many jobs this host has
// run, so that a one-job host stays one, and which processes a job may have
// left behind.
type history struct {
	path   string
	record historyRecord
}

// historyRecord is jobs.json.
type historyRecord struct {
	// Begun counts jobs when they begin: one that the agent's crash cut off has
	// been run too.
	Begun    int        `json:"begun"`
	LastExit string     `json:"last_exit,omitempty"`
	Running  *jobRecord `json:"running,omitempty"`
	// Left is what a job that is over left and couldn't be removed yet.
	Left *remains `json:"left,omitempty"`
	// Cleanup is the hook that must succeed before another job begins; none: it has.
	// It comes with the job, so that the host is cleaned as was said when it began.
	Cleanup []string `json:"cleanup,omitempty"`
	// CleanupFailed is why it failed: this host runs no job any more.
	CleanupFailed string `json:"cleanup_failed,omitempty"`
}

// jobRecord finds the processes and the files of a job again after the agent was killed.
type jobRecord struct {
	process.JobProcesses
	Folder string `json:"folder"`
}

// remains finds what a job left when none of its processes is there any more.
type remains struct {
	Folder string `json:"folder"`
	// UID is of the isolated job's user, who may have left things elsewhere; 0: the
	// job wasn't isolated.
	UID int `json:"uid,omitempty"`
}

func openHistory(folder string) (*history, error) {
	h := &history{path: filepath.Join(folder, "jobs.json")}
	content, err := os.ReadFile(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which jobs this host has run: %w", err)
	}
	if err := json.Unmarshal(content, &h.record); err != nil {
		return nil, fmt.Errorf(
			"read which jobs this host has run: %s is damaged; this host must be replaced: %w",
			h.path,
			err,
		)
	}
	return h, nil
}

// begin records a job before its process exists, and again when it is known.
func (h *history) begin(r jobRecord, cleanup []string) error {
	if h.record.Running == nil {
		h.record.Begun++
	}
	h.record.Cleanup = cleanup
	h.record.Running = &r
	return writeStateJSON(h.path, h.record)
}

// finish records that no process of the job is left. A job that never started
// doesn't count.
func (h *history) finish(exit string, started bool) error {
	if !started {
		h.record.Begun--
		h.record.Cleanup = nil
	}
	h.record.Running, h.record.LastExit = nil, exit
	return writeStateJSON(h.path, h.record)
}

// clearRemains records that nothing is left.
func (h *history) clearRemains() error {
	h.record.Left = nil
	return writeStateJSON(h.path, h.record)
}

// recordCleanup records how the clean-up hook ended; an empty failure: well.
func (h *history) recordCleanup(failure string) error {
	h.record.CleanupFailed = failure
	if failure == "" {
		h.record.Cleanup = nil
	}
	return writeStateJSON(h.path, h.record)
}
