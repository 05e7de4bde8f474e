package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// mayStart says that a job is wanted and nothing but its time stands against it.
func (r *runner) mayStart() bool {
	return r.directive.Want == agentapi.WantRun && len(r.directive.Command) > 0 && r.refused == nil &&
		r.groupEmpty() && !r.hookDue() && r.jobUserSettled() && r.problem == "" && r.limitReached() == "" &&
		r.interruption() == nil
}

func (r *runner) startJobIfWanted() {
	if !r.mayStart() || time.Now().Before(r.jobNotBefore) {
		return
	}
	j, err := r.startJob()
	if err != nil {
		r.Logger.Error("the job could not be started", "error", err)
		r.history.record.LastExit = "did not start: " + err.Error()
		r.delayNextJob(true)
		return
	}
	r.Logger.Info("job started", "pid", j.cmd.Process.Pid)
	r.job = j
	go func() { r.jobOver <- j.finish(r.background) }()
	r.scheduleHeartbeatIfChanged()
}

// startJob starts a job as the settled user. Whether it is isolated is shown again
// each time: somebody may have taken away the routing rules.
func (r *runner) startJob() (*job, error) {
	var u *isolation.User
	if r.settled != nil {
		u = r.settled.User
	}
	if u.IsolatedUID() != 0 {
		if _, err := u.Prove(r.background, r.Config.host()); err != nil {
			u.Release()
			r.settled.User, r.settled.Err, r.settleDue = nil, err, time.Now().Add(probeRetry)
			return nil, fmt.Errorf("no longer isolated: %w", err)
		}
	}
	return startJob(r.Config, r.history, r.directive, u)
}

// keepResult takes note that job ended.
func (r *runner) keepResult(result jobResult) {
	r.problem, r.cleanDue = result.problem, time.Now().Add(cleanRetry)
	if result.clean {
		if result.problem != "" {
			r.history.record.Left = &remains{Folder: r.job.folder, UID: r.job.uid}
		}
		r.recordFinished(result.exit, true)
	}
	// A worker is meant to go on: one that ends at once is held back whatever it
	// says of itself.
	failed := result.failed || r.job.worker
	r.job = nil
	r.Logger.Info(
		"job ended",
		"exit",
		result.exit,
		"took",
		result.took.Round(time.Millisecond).String(),
		"problem",
		result.problem,
	)
	r.delayNextJob(failed && result.took < quickFailure)
	r.scheduleHeartbeatIfChanged()
}

func (r *runner) recordFinished(exit string, started bool) {
	if err := r.history.finish(exit, started); err != nil {
		// The record in memory is right; the next one that is written carries it.
		r.Logger.Error("could not record the end of a job", "error", err)
	}
}

// delayNextJob sets when the next job may begin.
func (r *runner) delayNextJob(failed bool) {
	wait := minJobInterval
	if failed {
		r.jobFailed++
		wait = max(wait, r.Restart.After(r.jobFailed))
	} else {
		r.jobFailed = 0
	}
	r.jobNotBefore = time.Now().Add(wait)
}

// endJob asks the job to end, forces it after the grace, and says whether
// nothing of it is left.
func (r *runner) endJob() bool {
	_ = r.job.group.Signal(false)
	for _, wait := range []time.Duration{r.Grace, endPatience} {
		select {
		case result := <-r.jobOver:
			r.keepResult(result)
			return result.clean
		case <-time.After(wait):
			_ = r.job.group.Signal(true)
		}
	}
	r.cancel()
	result := <-r.jobOver
	r.keepResult(result)
	return result.clean
}

// startProbes shows the capabilities that the manager asks for: all of them
// once, and those that failed again while the agent waits to be admitted.
func (r *runner) startProbes() {
	if r.probing || !r.probesMissing() || time.Now().Before(r.probeDue) {
		return
	}
	r.probing = true
	names := slices.Clone(r.probeNames)
	go func() { r.probed <- probeAll(r.background, r.Probes, names) }()
}

func (r *runner) probesMissing() bool {
	for _, name := range r.probeNames {
		shown, done := r.probeResults[name]
		if !done || !shown.OK && r.directive.Want == agentapi.WantWait {
			return true
		}
	}
	return false
}

func (r *runner) keepProbes(shown map[string]agentapi.Probe) {
	r.probing = false
	r.probeResults = shown
	r.probeDue = time.Now().Add(probeRetry)
}
