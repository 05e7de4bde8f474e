package agentserver

import (
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
)

// passAnswered passes the points that lie after an answer to an agent.
func passAnswered(w http.ResponseWriter, answer any) {
	if !failpoint.Enabled {
		return
	}
	// The answer is in a buffer until then, and would die with the process.
	_ = http.NewResponseController(w).Flush()
	switch answer := answer.(type) {
	case agentapi.EnrollResponse:
		failpoint.EnrollmentAnswered.Hit()
	case agentapi.Certificate:
		failpoint.RenewalAnswered.Hit()
	case agentapi.HeartbeatResponse:
		if answer.Directive.Want == agentapi.WantStop {
			failpoint.StopTold.Hit()
		}
	}
}
