package agent

import (
	"os"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// ownProgram, as the first word of a command, means this very program, wherever
// it is: it has the worker of the reference scheduler in it.
const ownProgram = "forgeyard-runner"

// programOf is a command with this program in the place of its name. Where jobs
// are isolated the helper does that, since their user may not enter the folder
// that this program is in.
func programOf(command []string, u *jobUser) []string {
	if own, err := os.Executable(); command[0] == ownProgram && err == nil && u.isolatedUID() == 0 {
		return append([]string{own}, command[1:]...)
	}
	return command
}

// askWorkerToEnd tells a scheduler's worker, once, that no more jobs are to be
// taken: it ends after the job that it has, however long that takes. Only the
// worker's own process is told; its job goes on. One whose scheduler tells it isn't
// told twice: nobody here knows what a signal would do to its job.
func (r *runner) askWorkerToEnd() {
	unwanted := r.directive.Want == agentapi.WantStop || r.refused != nil || r.interruption() != nil
	if r.job == nil || !r.job.worker || r.job.hearsItself || r.job.asked || !unwanted {
		return
	}
	r.job.asked = true
	if err := askToEnd(r.job.cmd.Process); err != nil {
		r.Logger.Warn("the worker could not be asked to end; it is waited for", "error", err)
		return
	}
	r.Logger.Info("the worker was asked to end after the job that it has")
}
