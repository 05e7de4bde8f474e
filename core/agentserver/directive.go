package agentserver

import (
	"fmt"
	"maps"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// connectionLookup is Config.Connection.
type connectionLookup func(fleet.CapacityInstanceID) (Connection, bool)

// directiveFor is what the agent should do, and the name of this instruction. Only
// admitted runners get the command and its environment. One that reported that it
// leaves gets no more work, even before the loop has read that.
func directiveFor(subject fleet.EnrollmentSubject, connections connectionLookup, now time.Time) agentapi.Directive {
	policy := subject.Fleet.Runner
	d := agentapi.Directive{
		Want:          string(lifecycle.InstructionFor(subject.Instance)),
		Order:         lifecycle.OrderOf(subject.Instance),
		User:          policy.User,
		MaxJobs:       policy.MaxJobs,
		MaxAgeSeconds: int64((policy.MaxAge + time.Second - 1) / time.Second),
	}
	if i := subject.Instance.Interruption; i.TakesAway() {
		d.Interruption = &agentapi.Interruption{Detail: i.Detail}
		if !i.Deadline.IsZero() {
			left := i.Deadline.Sub(now).Seconds()
			d.Interruption.DeadlineSeconds = &left
		}
	}
	d.RequireIsolation = subject.Fleet.Admission.JobIsolation != fleet.JobIsolationNone
	if left := subject.Runner.Left; !left.IsZero() {
		// Not the instance's own order: that one may be to run.
		d.Want, d.Order = agentapi.WantStop, fmt.Sprintf("left-%d", left.UnixMicro())
	}
	switch {
	case d.Want != agentapi.WantRun:
	case subject.Fleet.Scheduler != "" || subject.Instance.Scheduling.Told():
		connect(subject, connections, &d)
	default:
		d.Command, d.Env, d.Cleanup = policy.Command, policy.Env, policy.Cleanup
	}
	return d
}

// connect makes a directive to run the scheduler's worker. Until the scheduler
// has admitted the runner there is nothing to run. Scheduler and planner limit its
// life: a worker runs for as long as it is wanted, and once where it takes a limited
// number of jobs.
func connect(subject fleet.EnrollmentSubject, connections connectionLookup, d *agentapi.Directive) {
	connection, taken := connections(subject.Instance.ID)
	policy, at := subject.Fleet.Runner, subject.Instance.Scheduling
	most := min(policy.MaxJobs, 1)
	if at.Leaves {
		most = 1
	}
	if !taken && at.Scheduler.AdmitsOnce() && at.Ref != "" {
		// Only an earlier manager process had the credential. A running worker continues,
		// and without a command none starts.
		d.Worker, d.MaxJobs, d.MaxAgeSeconds = true, most, 0
		return
	}
	if !taken {
		d.Want, d.Order = agentapi.WantWait, "unconnected-"+d.Order
		return
	}
	d.StoppedByScheduler = connection.StoppedByScheduler
	d.Worker, d.Command, d.Env, d.Cleanup = true, policy.Command, maps.Clone(policy.Env), policy.Cleanup
	if len(d.Command) == 0 {
		d.Command = connection.Command
	}
	if d.Env == nil {
		d.Env = map[string]string{}
	}
	maps.Copy(d.Env, connection.Environment)
	d.MaxJobs, d.MaxAgeSeconds = most, 0
}
