package loop

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
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

// Tell says one thing about one runner to its scheduler. Every kind may be said
// again: the row says what should be so, and it is said until it is acknowledged.
type Tell struct {
	Scheduler fleet.SchedulerAddress
	Instance  fleet.CapacityInstanceID
	What      Telling
	// Runner is what an admission tells; Known names it for the other kinds.
	Runner scheduler.Runner
	Known  scheduler.Known
	// Cause is why a runner is cordoned, Force that its jobs are taken away, Deadline
	// when its host goes; zero: nobody said.
	Cause    string
	Force    bool
	Deadline time.Time
	// Reason is how a removed runner ended.
	Reason scheduler.RemovalReason
}

// Telling is a kind of Tell.
type Telling string

// The kinds of Tell.
const (
	TellAdmit    Telling = "admit"
	TellCordon   Telling = "cordon"
	TellUncordon Telling = "uncordon"
	TellRemove   Telling = "remove"
)

// Told is the end of a Tell effect.
type Told struct {
	Scheduler fleet.SchedulerAddress
	Instance  fleet.CapacityInstanceID
	What      Telling
	// Ref is the scheduler's name for an admitted runner, Revision that of an
	// acknowledgement.
	Ref      fleet.SchedulerRunnerRef
	Revision int64
	// Unknown says that the scheduler doesn't know the runner, Gone that the
	// definition has no such scheduler any more.
	Unknown, Gone bool
	Failure       *Failure
	// NotDone says of a Failure that the call surely had no effect.
	NotDone bool
}

func (Observe) isEffect() {}
func (Tell) isEffect()    {}
func (Observed) isEvent() {}
func (Told) isEvent()     {}

// schedulerMemory is what is known of a scheduler. All of it may be lost.
type schedulerMemory struct {
	observing bool
	observed  time.Time
	// blind is why nothing may be concluded from it now; "": it can be seen.
	blind string
	// revision is of the last look, usage what it shows by runner; nil: it lists
	// none.
	revision int64
	// behind is since when its looks have been older than what it acknowledged.
	behind time.Time
	// looked is the step that took in the last look, searched the one whose look
	// was last searched for ghosts.
	looked, searched int
	ghosts           map[fleet.SchedulerRunnerRef]*ghost
	snapshot         fleet.CapacityDemandSnapshot
	usage            map[fleet.SchedulerRunnerRef]fleet.RunningCapacityUsage
	uncordons        bool
}

// notAnsweredYet is why a scheduler can't be seen before its first answer.
const notAnsweredYet = "it has not answered yet"

func (m *memory) scheduler(a fleet.SchedulerAddress) *schedulerMemory {
	s := m.schedulers[a]
	if s == nil {
		s = &schedulerMemory{blind: notAnsweredYet}
		m.schedulers[a] = s
	}
	return s
}
