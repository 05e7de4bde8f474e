package loop

import (
	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Observe asks a scheduler for its demand and its runners.
type Observe struct {
	Scheduler fleet.SchedulerAddress
}

// Observed is the end of an Observe effect. With a Failure nothing was seen.
type Observed struct {
	Scheduler fleet.SchedulerAddress
	Snapshot  fleet.CapacityDemandSnapshot
	// Lists says that Snapshot.Running is every admitted runner, Uncordons that a
	// cordon can be taken back.
	Lists, Uncordons bool
	Failure          *Failure
}

// CallScheduler says one thing about one runner to its scheduler.
type CallScheduler struct{ ci.Call }

// SchedulerAnswered is the end of a CallScheduler effect.
type SchedulerAnswered struct {
	ci.Answer
	// Failure is set where the scheduler gave no answer or refused; a runner or a
	// scheduler that isn't known is not a failure.
	Failure *Failure
}

func (Observe) isEffect()          {}
func (CallScheduler) isEffect()    {}
func (Observed) isEvent()          {}
func (SchedulerAnswered) isEvent() {}

func (m *memory) scheduler(a fleet.SchedulerAddress) *ci.Scheduler {
	s := m.schedulers[a]
	if s == nil {
		s = ci.NewScheduler()
		m.schedulers[a] = s
	}
	return s
}
