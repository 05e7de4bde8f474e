package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
)

const (
	// endRetry is how often processes of a job from before a crash are ended
	// at the first look, and firstLook how long that one lasts.
	endRetry  = 50 * time.Millisecond
	firstLook = 2 * time.Second
	// cleanRetry is how often it is tried again to remove what a job left.
	cleanRetry = time.Second
)

// hasRemains says that a job that is over left processes or files.
func (r *runner) hasRemains() bool {
	return r.job == nil && (r.history.record.Running != nil || r.history.record.Left != nil)
}

// cleanUp tries again and again to remove what jobs left. Until all of it is
// gone the agent says so and begins no job; then the complaint is over.
func (r *runner) cleanUp() {
	if !r.hasRemains() || r.problem != "" && time.Now().Before(r.cleanDue) {
		return
	}
	complaint := r.endJobProcesses()
	if complaint == "" {
		complaint = r.removeRemains()
	}
	if complaint != "" {
		r.cleanDue = time.Now().Add(cleanRetry)
	} else if r.problem != "" {
		r.Logger.Info("the remains of a job are removed", "problem", r.problem)
	}
	if complaint != "" && r.problem == "" {
		r.Logger.Warn("can't remove the remains of a job; no job starts until that succeeds", "problem", complaint)
	}
	r.problem = complaint
}

// holdUser is process.HoldUser.
func holdUser(uid int) (release func(), held bool, err error) {
	lock, err := isolation.HoldUID(uid)
	switch {
	case errors.As(err, new(*AlreadyRunningError)):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return lock.Release, true, nil
}

// endJobProcesses ends what a job left when this agent was killed. Until nothing
// is left the host isn't empty.
func (r *runner) endJobProcesses() (complaint string) {
	left := r.history.record.Running
	if left == nil {
		return ""
	}
	for begun := time.Now(); ; time.Sleep(endRetry) {
		gone, err := process.EndJobProcesses(left.JobProcesses, holdUser)
		if gone && err == nil {
			break
		}
		// At the first look the processes get a moment to end.
		if r.problem != "" || time.Since(begun) > firstLook {
			complaint = "processes of a job from before the agent was killed can't be ended"
			if err != nil {
				complaint += ": " + err.Error()
			}
			return complaint
		}
	}
	r.history.record.Left = &remains{Folder: left.Folder, UID: left.UID}
	r.Logger.Warn("ended the processes of a job that ran when the agent was killed")
	r.recordFinished("interrupted: the agent was killed while the job ran", true)
	return ""
}

func (r *runner) removeRemains() (complaint string) {
	left := r.history.record.Left
	if left == nil {
		return ""
	}
	err := r.remove(left.Folder)
	if left.UID != 0 {
		err = errors.Join(err, isolation.SweepUser(r.Config.host(), left.UID))
	}
	if err != nil {
		return fmt.Sprintf("the files of a job could not be removed: %v", err)
	}
	if err := r.history.clearRemains(); err != nil {
		// The record in memory is right; the next one that is written carries it.
		r.Logger.Error("could not record that the remains of a job are removed", "error", err)
	}
	return ""
}

// findRemains finds the files of a job that the previous agent could not
// remove, where its history doesn't tell of them.
func (r *runner) findRemains() {
	if r.history.record.Running != nil || r.history.record.Left != nil {
		return
	}
	for _, folder := range []string{isolation.JobFolder(r.Config.host(), nil),
		isolation.OtherUserFolder(r.Config.host())} {
		if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
			r.history.record.Left = &remains{Folder: folder}
		}
	}
}
