package agent

import (
	"os"
	"os/exec"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// ownProgram, as the first word of a command, means this very program, wherever
// it is: it has the worker of the reference scheduler in it.
const ownProgram = "forgeyard-runner"

func commandOf(d agentapi.Directive) *exec.Cmd {
	program := d.Command[0]
	if own, err := os.Executable(); program == ownProgram && err == nil {
		program = own
	}
	return exec.Command(program, d.Command[1:]...)
}

// askWorkerToEnd tells a scheduler's worker, once, that no more jobs are to be
// taken: it ends after the job that it has, however long that takes. Only the
// worker's own process is told; its job goes on.
func (r *runner) askWorkerToEnd() {
	unwanted := r.directive.Want == agentapi.WantStop || r.refused != nil
	if r.job == nil || !r.job.worker || r.job.asked || !unwanted {
		return
	}
	r.job.asked = true
	if err := askToEnd(r.job.cmd.Process); err != nil {
		r.Logger.Warn("the worker could not be asked to end; it is waited for", "error", err)
		return
	}
	r.Logger.Info("the worker was asked to end after the job that it has")
}
