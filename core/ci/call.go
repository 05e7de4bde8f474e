package ci

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// Call says one thing about one runner to its scheduler. Every kind may be sent
// again: the instance says what should be so, and it is sent until it is acknowledged.
type Call struct {
	Scheduler fleet.SchedulerAddress
	Instance  fleet.CapacityInstanceID
	Kind      CallKind
	// Runner is what an admission tells; Known names it for the other kinds.
	Runner scheduler.Runner
	Known  scheduler.Known
	// Cause is why a runner is cordoned, Force that its jobs are taken away, Deadline
	// when its host goes; zero: no one said.
	Cause    string
	Force    bool
	Deadline time.Time
	// Reason is how a removed runner ended.
	Reason scheduler.RemovalReason
}

// CallKind is what a call asks for.
type CallKind string

// The kinds of call.
const (
	Admit    CallKind = "admit"
	Cordon   CallKind = "cordon"
	Uncordon CallKind = "uncordon"
	Remove   CallKind = "remove"
)

// MaxCalls bounds the calls under way at one scheduler. It is more than the calls
// that the executor makes at once, so that each step takes many answers.
const MaxCalls = 256

// Answer is what a scheduler answered to a call.
type Answer struct {
	Scheduler fleet.SchedulerAddress
	Instance  fleet.CapacityInstanceID
	Kind      CallKind
	// Ref is the scheduler's name for an admitted runner, Revision that of an
	// acknowledgement.
	Ref      fleet.SchedulerRunnerRef
	Revision int64
	// Unknown says that the scheduler doesn't know the runner, Gone that the
	// definition has no such scheduler any more.
	Unknown, Gone bool
	// NotDone says of a call that failed that it surely had no effect.
	NotDone bool
}

// Answered is an acknowledgement of the call, without what only the scheduler knows.
func (c Call) Answered() Answer {
	return Answer{Scheduler: c.Scheduler, Instance: c.Instance, Kind: c.Kind}
}

// same says that two calls say the same.
func (c Call) same(other Call) bool {
	return c.Kind == other.Kind && c.Scheduler == other.Scheduler && c.Cause == other.Cause && c.Force == other.Force
}

// Subject is what is known of the instance that a call is about.
type Subject struct {
	Instance *fleet.CapacityInstance
	Fleet    *fleet.ManagedFleet
	// Agent is nil while no agent has enrolled.
	Agent *fleet.Runner
	// Leases is how many jobs the runner has, as far as its scheduler showed.
	Leases int
	// TakesBack says that its jobs must be taken back before its machine ends, and
	// KeepsJobs that the machine runs on with its jobs although it is to end.
	TakesBack, KeepsJobs bool
}

// NextCall is the next thing that the scheduler at an address must be told of an
// instance; false: nothing. What an admission tells is left to the caller. s may be
// nil while the scheduler was never observed.
func NextCall(address fleet.SchedulerAddress, s *Scheduler, m *Runner, x Subject, now time.Time) (Call, bool) {
	i, at := x.Instance, x.Instance.Scheduling
	c := Call{Scheduler: address, Instance: i.ID, Known: scheduler.Known{Name: i.ID, Ref: at.Ref}, Cause: i.Cause}
	u, listed, known := s.Usage(i)
	switch i.State {
	case fleet.Healthy:
		switch {
		case address == "" || at.Removed:
			return c, false
		case wantsAdmission(address, s, m, i):
			c.Kind = Admit
			return c, true
		case address.AdmitsOnce():
			return c, false
		case at.Cordoned || known && u.Cordoned:
			c.Kind = Uncordon
			return c, true
		}
	case fleet.Draining, fleet.Quarantined:
		interrupted := i.Interruption.TakesAway()
		if at.Told() &&
			(!at.Cordoned || known && listed && !u.Cordoned || interrupted && !at.Interrupted || m.stopAgain(at, x.Agent, now)) {
			c.Kind = Cordon
			if interrupted {
				c.Cause, c.Deadline = string(lifecycle.ForInterruption), i.Interruption.Deadline
			}
			return c, true
		}
	case fleet.Terminating, fleet.Terminated:
		if x.KeepsJobs {
			return c, false
		}
		if x.TakesBack {
			c.Kind, c.Force = Cordon, true
			return c, true
		}
		if at.Told() {
			c.Kind, c.Reason = Remove, removalReason(s, x)
			return c, true
		}
	}
	return c, false
}

// removalReason says how a runner ended: whatever wasn't proven idle was lost to
// the infrastructure, and its jobs didn't fail by themselves (spec §40).
func removalReason(s *Scheduler, x Subject) scheduler.RemovalReason {
	if x.Leases > 0 {
		return scheduler.RemovedInfrastructure
	}
	switch lifecycle.Cause(x.Instance.Ended) {
	case lifecycle.IdleProven, lifecycle.Withdrawn:
		return scheduler.RemovedNormally
	case lifecycle.RunnerLeft:
		// It says that it had no job; its scheduler knows whether that is so.
		if u, listed, known := s.Usage(x.Instance); known && (!listed || u.Leases == 0) {
			return scheduler.RemovedNormally
		}
	}
	return scheduler.RemovedInfrastructure
}
