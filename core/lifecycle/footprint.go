package lifecycle

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Footprint says whether an instance counts against max and cost guardrails:
// everything that isn't proven gone, whether or not it can take work.
func Footprint(state fleet.CapacityInstanceState) bool { return state != fleet.Terminated }

// Capacity says whether an instance counts against demand: it can take work, or
// will within its deadline. Rows past their deadline have left these states, so
// dead rows never starve a fleet. A silent runner is footprint only.
func Capacity(state fleet.CapacityInstanceState, silent bool) bool {
	switch state {
	case fleet.Requested, fleet.Provisioning, fleet.Bootstrapping, fleet.Enrolling:
		return true
	case fleet.Healthy:
		return !silent
	}
	return false
}

// Settled says that the loop has nothing more to do about an instance.
func Settled(state fleet.CapacityInstanceState) bool {
	return state == fleet.Healthy || state == fleet.Quarantined || state == fleet.Terminated
}

// Deadline is how long an instance may stay in a state before the loop acts or
// raises an alarm; 0: no deadline. The drain deadline never ends a job: it only
// raises health.
func Deadline(state fleet.CapacityInstanceState, t fleet.Timeouts) time.Duration {
	switch state {
	case fleet.Provisioning:
		return t.Provision
	case fleet.Bootstrapping:
		return t.Boot
	case fleet.Enrolling:
		return t.Enroll
	case fleet.Draining:
		return t.Drain
	case fleet.Quarantined:
		return t.Quarantine
	case fleet.Terminating:
		return t.Terminate
	}
	return 0
}

// AcceptsEnrollment says whether a valid token may be spent in the state. An
// agent can be faster than the provider's answer, so Provisioning counts.
func AcceptsEnrollment(state fleet.CapacityInstanceState) bool {
	return state == fleet.Provisioning || state == fleet.Bootstrapping || state == fleet.Enrolling
}

// Instruction is what an agent is told.
type Instruction string

// Wait: not admitted, run nothing. Run: take work. Stop: finish the job that
// runs and begin no other.
const (
	Wait Instruction = "wait"
	Run  Instruction = "run"
	Stop Instruction = "stop"
)

// InstructionFor derives what an instance's agent is told only from its state,
// so that it is the same after every restart.
func InstructionFor(i fleet.CapacityInstance) Instruction {
	switch i.State {
	case fleet.Healthy:
		return Run
	case fleet.Requested, fleet.Provisioning, fleet.Bootstrapping, fleet.Enrolling:
		return Wait
	case fleet.Draining:
		if i.Drain == fleet.Cordoned {
			return Run // the drain can still be taken back
		}
	case fleet.Quarantined:
		if Cause(i.Cause) == RunnerLost {
			return Wait // it may come back with its job
		}
	}
	return Stop
}

// OrderOf names the instruction that an instance's agent gets now. Every move of
// the instance makes another.
func OrderOf(i fleet.CapacityInstance) string {
	return fmt.Sprintf("%s-%d", InstructionFor(i), i.Since.UnixMicro())
}
