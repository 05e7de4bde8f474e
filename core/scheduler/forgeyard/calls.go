package forgeyard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// Demand reads the jobs that wait, and the runners as of the same revision.
func (c *Client) Demand(ctx context.Context) (fleet.CapacityDemandSnapshot, error) {
	const doing = "read the demand"
	began := c.clock()
	var answer Demand
	if err := c.call(ctx, doing, http.MethodGet, DemandPath, nil, &answer); err != nil {
		return fleet.CapacityDemandSnapshot{}, err
	}
	snapshot, err := answer.snapshot(began)
	if err != nil {
		return fleet.CapacityDemandSnapshot{}, &scheduler.NonsenseError{Doing: doing, Err: err}
	}
	return snapshot, nil
}

// Runners lists every admitted runner.
func (c *Client) Runners(ctx context.Context) (scheduler.Listing, error) {
	const doing = "list the runners"
	var answer Runners
	if err := c.call(ctx, doing, http.MethodGet, RunnersPath, nil, &answer); err != nil {
		return scheduler.Listing{}, err
	}
	if answer.Running == nil {
		return scheduler.Listing{}, &scheduler.NonsenseError{
			Doing: doing,
			Err:   errors.New("it has no \"running\": without a runner, that is an empty list"),
		}
	}
	listing := scheduler.Listing{Revision: answer.Revision, Runners: usage(answer.Running)}
	if err := fleet.CheckUsage(listing.Runners); err != nil {
		return scheduler.Listing{}, &scheduler.NonsenseError{Doing: doing, Err: err}
	}
	return listing, nil
}

// Admit tells of a verified runner. The scheduler's name for it is the capacity
// instance's id, so that a repeated call can't make two.
func (c *Client) Admit(ctx context.Context, r scheduler.Runner) (scheduler.Admitted, error) {
	doing := fmt.Sprintf("admit the runner %s", r.Name)
	class := r.Class
	body := Admit{
		Fleet: string(
			r.Fleet,
		),
		OS:           class.Platform.OS,
		Arch:         class.Platform.Arch,
		Capabilities: class.Capabilities,
		Trust:        class.Trust,
		Tenant:       r.Scope.Tenant,
		Project:      r.Scope.Project,
		Region:       r.Region,
		Toolchain:    class.Toolchain,
		Device:       class.Device,
		Isolation:    class.Isolation,
		Signing:      class.Signing,
		Confidential: class.Confidential,
		Hostile:      r.Hostile,
		Preemptible:  r.Lifetime == fleet.LifetimePreemptible,
		Slots:        class.Resources.Slots,
		MaxJobs:      r.MaxJobs,
		Resources: Resources{
			CPUMilli: class.Resources.CPUMilli, MemoryBytes: class.Resources.MemoryBytes, DiskBytes: class.Resources.DiskBytes,
			GPU: class.Resources.GPU, Named: class.Resources.Named,
		},
	}
	var answer Admitted
	if err := c.call(
		ctx,
		doing,
		http.MethodPut,
		fmt.Sprintf(RunnerPath, url.PathEscape(string(r.Name))),
		body,
		&answer,
	); err != nil {
		return scheduler.Admitted{}, err
	}
	return scheduler.Admitted{
		Ref:         fleet.SchedulerRunnerRef(r.Name),
		Revision:    answer.Revision,
		Environment: answer.Environment,
		Command:     answer.Command,
	}, nil
}

// Stop cordons a runner.
func (c *Client) Stop(
	ctx context.Context,
	r scheduler.Known,
	order scheduler.StopOrder,
) (scheduler.Acknowledgement, error) {
	var answer Acknowledgement
	err := c.call(ctx, fmt.Sprintf("cordon the runner %s", r.Name), http.MethodPost, pathOf(CordonPath, r),
		Cordon{Cause: order.Cause, Force: order.Force, DeadlineSeconds: order.Left.Seconds()}, &answer)
	return scheduler.Acknowledgement(answer), err
}

// Uncordon gives a runner new leases again.
func (c *Client) Uncordon(ctx context.Context, r scheduler.Known) (scheduler.Acknowledgement, error) {
	var answer Acknowledgement
	err := c.call(
		ctx,
		fmt.Sprintf("uncordon the runner %s", r.Name),
		http.MethodPost,
		pathOf(UncordonPath, r),
		nil,
		&answer,
	)
	return scheduler.Acknowledgement(answer), err
}

// Remove forgets a runner; one that is forgotten already is removed.
func (c *Client) Remove(ctx context.Context, r scheduler.Known, reason scheduler.RemovalReason) error {
	path := pathOf(RunnerPath, r) + "?reason=" + url.QueryEscape(string(reason))
	err := c.call(ctx, fmt.Sprintf("remove the runner %s", r.Name), http.MethodDelete, path, nil, nil)
	if errors.Is(err, scheduler.ErrUnknownRunner) {
		return nil
	}
	return err
}

// pathOf is a path of the contract for a runner, whose name here is the
// instance's own: a lost answer costs nothing.
func pathOf(path string, r scheduler.Known) string {
	return fmt.Sprintf(path, url.PathEscape(string(r.Name)))
}

// futureBy is how far a snapshot may lie in the future: its clock is the
// scheduler's own, and serves only to find a scheduler that has lost its mind.
const futureBy = 24 * time.Hour

func (d Demand) snapshot(began time.Time) (fleet.CapacityDemandSnapshot, error) {
	if d.ObservedAt.After(began.Add(futureBy)) {
		return fleet.CapacityDemandSnapshot{}, fmt.Errorf(
			"observed_at is %s, and here it is %s",
			d.ObservedAt.UTC().Format(time.RFC3339),
			began.UTC().Format(time.RFC3339),
		)
	}
	if d.Queued == nil {
		return fleet.CapacityDemandSnapshot{}, errors.New("it has no \"queued\": where no job waits, that is an empty list")
	}
	s := fleet.CapacityDemandSnapshot{
		Revision:   d.Revision,
		ObservedAt: began,
		Queued:     make([]fleet.QueuedDemand, 0, len(d.Queued)),
		Running:    usage(d.Running),
	}
	for n, q := range d.Queued {
		one, err := q.demand()
		if err != nil {
			return fleet.CapacityDemandSnapshot{}, fmt.Errorf("queued[%d]: %w", n, err)
		}
		s.Queued = append(s.Queued, one)
	}
	s.ID = fleet.DemandSnapshotID(fleet.Digest(s.Queued))
	return s, s.Check()
}

func (q Queued) demand() (fleet.QueuedDemand, error) {
	admissible := q.Count
	if q.Admissible != nil {
		admissible = *q.Admissible
	}
	const longest = float64(math.MaxInt64 / int64(time.Second))
	if q.OldestWaitSeconds > longest {
		return fleet.QueuedDemand{}, fmt.Errorf("oldest_wait_seconds is %g, longer than anything", q.OldestWaitSeconds)
	}
	r := q.Requirement
	requirement := fleet.SchedulingRequirementSet{
		OS:           r.OS,
		Arch:         r.Arch,
		Capabilities: r.Capabilities,
		Trust:        r.Trust,
		Tenant:       r.Tenant,
		Project:      r.Project,
		Regions:      r.Regions,
		Toolchain:    r.Toolchain,
		Device:       r.Device,
		Isolation:    r.Isolation,
		Signing:      r.Signing,
		Confidential: r.Confidential,
		Hostile:      r.Hostile,
		Unknown:      slices.Clone(r.Unknown),
	}
	for _, name := range q.Resources.Unknown {
		requirement.Unknown = append(requirement.Unknown, "resources."+name)
	}
	return fleet.QueuedDemand{
		Requirement: requirement,
		Resources: fleet.ResourceCapacity{
			CPUMilli: q.Resources.CPUMilli, MemoryBytes: q.Resources.MemoryBytes, DiskBytes: q.Resources.DiskBytes,
			GPU: q.Resources.GPU, Named: q.Resources.Named,
		},
		Count: q.Count, Admissible: admissible, OldestWait: time.Duration(q.OldestWaitSeconds * float64(time.Second)),
		Priority: q.Priority, PreemptibleAllowed: q.PreemptibleAllowed, Checkpoint: q.Checkpoint,
	}, nil
}

// usage keeps a list that isn't there apart from an empty one: the first says
// nothing of any runner.
func usage(running []Running) []fleet.RunningCapacityUsage {
	if running == nil {
		return nil
	}
	out := make([]fleet.RunningCapacityUsage, 0, len(running))
	for _, r := range running {
		out = append(
			out,
			fleet.RunningCapacityUsage{Runner: fleet.SchedulerRunnerRef(r.Runner), Leases: r.Leases, Cordoned: r.Cordoned},
		)
	}
	return out
}
