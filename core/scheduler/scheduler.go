package scheduler

import (
	"context"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Scheduler is a CI system as the fleet manager needs it. Every call may be sent
// again: the same runner is admitted, stopped and removed once, however often it
// is asked; but for admissions where fleet.SchedulerAddress.AdmitsOnce. An error
// without a more exact type says that the effect of the call is unknown.
type Scheduler interface {
	// Demand is one consistent look at the jobs that wait. An error, or a snapshot
	// that says impossible things, means "unobservable": no decision uses it.
	Demand(ctx context.Context) (fleet.CapacityDemandSnapshot, error)
	// Admit tells of a Verified runner and returns what its CI process needs to
	// connect. Only after it may the runner get a job.
	Admit(ctx context.Context, r Runner) (Admitted, error)
	// Stop asks for no new leases on the runner; the jobs that it has continue. The
	// acknowledgement says from which revision on that is so.
	Stop(ctx context.Context, r Known, order StopOrder) (Acknowledgement, error)
}

// RunnerLister is a scheduler that tells the state of every runner: which is what
// proves one idle.
type RunnerLister interface {
	// Runners is one consistent look at all admitted runners.
	Runners(ctx context.Context) (Listing, error)
}

// Uncordoner is a scheduler that can give a stopped runner new leases again.
// Without it a runner that was told to stop never comes back.
type Uncordoner interface {
	Uncordon(ctx context.Context, r Known) (Acknowledgement, error)
}

// Remover is a scheduler that wants to be told that a runner is gone for good.
type Remover interface {
	// Remove forgets a runner. Jobs that it still has were lost to the
	// infrastructure, and are run again (spec §40).
	Remove(ctx context.Context, r Known, reason RemovalReason) error
}

// Known names a runner that a scheduler was told of. Ref is empty where the
// answer was lost: then only the name finds it.
type Known struct {
	Name fleet.CapacityInstanceID
	Ref  fleet.SchedulerRunnerRef
}

// Runner is what a scheduler is told of an admitted runner. Everything in it was
// verified by the manager; nothing is the agent's own claim.
type Runner struct {
	// Name is the capacity instance's id: it makes the call safe to repeat.
	Name  fleet.CapacityInstanceID
	Fleet fleet.FleetAddress
	Class fleet.CapacityClass
	Scope fleet.FleetScope
	// Lifetime says whether the provider may take the host away.
	Lifetime fleet.LifetimeClass
	// Hostile says that it may run hostile jobs.
	Hostile bool
	// Region is where it is, as far as it is known.
	Region string
	// MaxJobs is how many jobs it takes in its life; 0: no limit.
	MaxJobs int
	// Attempt counts from 1 where an admission can't be asked for again: each needs
	// a name of its own. 0: it can be.
	Attempt int
	// IdleTimeout is after how much idle time the runner ends by itself; 0: it
	// doesn't, and is told when to.
	IdleTimeout time.Duration
}

// Admitted is what an admitted runner's CI process needs.
type Admitted struct {
	Ref fleet.SchedulerRunnerRef
	// Revision is the scheduler's as of the admission.
	Revision int64
	// Environment goes only to the CI process, over mutual TLS. It is secret:
	// never stored, logged or printed.
	Environment map[string]string
	// Command is what the agent runs; empty: what the fleet's file says.
	Command []string
	// StoppedByScheduler says that the scheduler stops the CI process itself, which ends
	// after the job that it has: nothing else may ask it to.
	StoppedByScheduler bool
}

// StopOrder says why a runner gets no new leases.
type StopOrder struct {
	// Cause is a word for the scheduler's own records.
	Cause string
	// Force takes the jobs away, too, and has them run again. It is only for the causes
	// of section 35: preemption, failure, a security incident.
	Force bool
	// Left is in how much time the host goes away; 0: unknown.
	Left time.Duration
}

// Acknowledgement says from which revision of the scheduler on an order holds.
type Acknowledgement struct {
	Revision int64
}

// Listing is every admitted runner as of a revision.
type Listing struct {
	Revision int64
	Runners  []fleet.RunningCapacityUsage
}

// RemovalReason says how a runner ended.
type RemovalReason string

// RemovedNormally is the end of an idle runner. RemovedInfrastructure: the host
// was lost, and jobs that it had didn't fail by themselves (spec §40).
const (
	RemovedNormally       RemovalReason = "normal"
	RemovedInfrastructure RemovalReason = "infrastructure"
)
