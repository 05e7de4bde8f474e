package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// IdleProof: no job is on an instance, and none can come to it.
type IdleProof struct {
	// Agent is the host's half of the proof, Scheduler its scheduler's; zero: it has no
	// scheduler.
	Agent     Reason `json:"agent"`
	Scheduler Reason `json:"scheduler,omitzero"`
}

// Text implements Detail.
func (d IdleProof) Text() string { return joined(d.Agent.Text(), d.Scheduler) }

// NeverEnrolled: no agent came from an instance, so it never had a job.
type NeverEnrolled struct{}

// Text implements Detail.
func (NeverEnrolled) Text() string { return "no agent enrolled, so it never ran a job" }

// NeverAdmitted: an instance's agent was never admitted, so it never had a job.
type NeverAdmitted struct{}

// Text implements Detail.
func (NeverAdmitted) Text() string { return "never admitted, so it never ran a job" }

// AgentStopped: an agent has stopped as it was told, and no process of a job is left.
type AgentStopped struct {
	Jobs int `json:"jobs"`
	// Worker says that its jobs are the scheduler's worker's, and it knows of none.
	Worker bool `json:"worker,omitempty"`
}

// Text implements Detail.
func (d AgentStopped) Text() string {
	after := text.Plural(d.Jobs, "job")
	if d.Worker {
		after = "its worker"
	}
	return fmt.Sprintf("the agent stopped after %s, and no process of a job is left", after)
}

// AgentSilent: an agent has been silent for so long that no job can be there.
type AgentSilent struct {
	For Duration `json:"for"`
}

// Text implements Detail.
func (d AgentSilent) Text() string { return "the agent has been silent for " + d.For.String() }

var idleReasons = []Detail{
	IdleProof{Of(AgentStopped{Jobs: 3}), Of(RunnerWithoutLease{7})},
	NeverEnrolled{},
	NeverAdmitted{},
	AgentStopped{Worker: true},
	AgentSilent{exampleMinute},
}
