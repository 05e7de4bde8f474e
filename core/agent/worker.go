package agent

import (
	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// stopWorkerIfUnwanted tells a scheduler's worker, once, that no more jobs are to be
// taken: it ends after the job that it has, however long that takes. Only the
// worker's own process is told; its job continues. One whose scheduler tells it isn't
// told twice: what a signal would do to its job is unknown here.
func (r *runner) stopWorkerIfUnwanted() {
	unwanted := r.directive.Want == agentapi.WantStop || r.refused != nil || r.interruption() != nil
	if r.job == nil || !r.job.worker || r.job.stoppedByScheduler || r.job.stopRequested || !unwanted {
		return
	}
	r.job.stopRequested = true
	if err := process.Terminate(r.job.cmd.Process); err != nil {
		r.Logger.Warn("could not ask the worker to stop; waiting for it", "error", err)
		return
	}
	r.Logger.Info("asked the worker to stop after its current job")
}
