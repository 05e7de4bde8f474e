package queue

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// Options are what a queue needs from outside.
type Options struct {
	Clock func() time.Time
	// NewID gives a job's name, never the same twice.
	NewID func() string
	// LeaseTime is how long a lease holds without being renewed; 0: 30 s.
	LeaseTime time.Duration
	// CheckpointTime is how long jobs have to save their state when their host is
	// interrupted without a deadline; 0: worker.UsualTimeToSave.
	CheckpointTime time.Duration
	// MostLosses is how often a job that was lost with its runner is run again; 0: 3.
	MostLosses int
	// TenantLimits bounds how many jobs of a tenant run at once. Waiting jobs beyond
	// it are counted, but not as admissible.
	TenantLimits map[string]int
}

// What is kept at most. Jobs that are over are forgotten, the oldest first.
const (
	maxWaiting = 200_000
	keptOver   = 2_000
)

// Queue holds jobs, runners and leases. All of it changes under one lock and is
// numbered by one revision, so that a listing and an acknowledgement can be
// compared.
type Queue struct {
	Options

	mu sync.Mutex
	// revision grows with every change. It begins at the start time in
	// microseconds: no process makes a million changes a second, so that it grows
	// from one process of the queue to the next one, too.
	revision int64
	sequence int64
	jobs     map[string]*job
	order    []*job // by submission
	over     int
	groups   map[string]*group
	waiting  int
	runners  map[string]*runner
	polls    []*poll // that wait for a job, the longest first
	leases   map[leaseKey]*lease
	// past are leases that have ended, for as long as their job is kept.
	past    map[leaseKey]*job
	running map[string]int // by tenant, where it has a limit
}

// New makes an empty queue.
func New(o Options) *Queue {
	o.LeaseTime = cmp.Or(o.LeaseTime, 30*time.Second)
	o.CheckpointTime = cmp.Or(o.CheckpointTime, worker.UsualTimeToSave)
	o.MostLosses = cmp.Or(o.MostLosses, 3)
	return &Queue{
		Options: o, revision: o.Clock().UnixMicro(),
		jobs: map[string]*job{}, groups: map[string]*group{}, runners: map[string]*runner{},
		leases: map[leaseKey]*lease{}, past: map[leaseKey]*job{}, running: map[string]int{},
	}
}

// changed numbers a change. The lock is held.
func (q *Queue) changed() { q.revision++ }

// Submit puts a job into the queue.
func (q *Queue) Submit(s Submission) (Job, error) {
	if err := s.check(); err != nil {
		return Job{}, refuse(Invalid, "%s", err)
	}
	s = s.normal()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= maxWaiting {
		return Job{}, refuse(Full, "%d jobs wait, and more are not taken; try again later", q.waiting)
	}
	if key := groupKey(s); q.groups[key] == nil && len(q.groups) >= fleet.MaxDemandClasses {
		return Job{}, refuse(
			Full,
			"waiting jobs differ in %d ways, and more can't be told to the fleet manager; try again later",
			len(q.groups),
		)
	}
	q.sequence++
	j := &job{sequence: q.sequence, env: s.Env, Job: Job{
		ID:                 q.NewID(),
		State:              Waiting,
		Requirement:        s.Requirement,
		Resources:          s.Resources,
		Command:            s.Command,
		Priority:           s.Priority,
		PreemptibleAllowed: s.PreemptibleAllowed,
		Checkpoint:         s.Checkpoint,
		Submitted:          q.Clock().UTC(),
	}}
	q.jobs[j.ID] = j
	q.order = append(q.order, j)
	q.wait(j)
	q.changed()
	q.dispatch()
	return j.Job, nil
}

// Job shows a job.
func (q *Queue) Job(id string) (Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j, err := q.job(id)
	if err != nil {
		return Job{}, err
	}
	return j.Job, nil
}

// Tail is the end of a job's output, as far as its runner has shown it.
func (q *Queue) Tail(id string) (string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j, err := q.job(id)
	if err != nil {
		return "", err
	}
	return j.tail, nil
}

// List shows all jobs, the oldest first.
func (q *Queue) List() Jobs {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := Jobs{Revision: q.revision, Jobs: make([]Job, 0, len(q.order))}
	for _, j := range q.order {
		all.Jobs = append(all.Jobs, j.Job)
	}
	return all
}

// Cancel takes a waiting job away, and asks the runner of a leased one to end it.
// One that is over stays as it is.
func (q *Queue) Cancel(id string) (Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j, err := q.job(id)
	if err != nil {
		return Job{}, err
	}
	switch {
	case j.State == Waiting:
		q.noLongerWaits(j)
		q.finish(j, Cancelled, nil, "cancelled before it began")
		q.changed()
	case j.State == Leased && !j.CancelRequested:
		j.CancelRequested = true
		j.lease.order()
		q.changed()
	}
	return j.Job, nil
}

func (q *Queue) job(id string) (*job, error) {
	if j := q.jobs[id]; j != nil {
		return j, nil
	}
	return nil, refuse(
		UnknownJob,
		"job %.64q not found; the queue forgets jobs some time after their end, and when it restarts",
		id,
	)
}

// finish ends a job for good. The lock is held, and the job neither waits nor is
// leased.
func (q *Queue) finish(j *job, state State, status *int, reason string) {
	j.State, j.ExitStatus, j.Reason, j.Ended = state, status, reason, q.Clock().UTC()
	j.env = nil
	if q.over++; q.over <= keptOver+keptOver/4 {
		return
	}
	// Forget some at once: going through all of them for each would be slow.
	forget := q.over - keptOver
	q.over = keptOver
	q.order = slices.DeleteFunc(q.order, func(old *job) bool {
		if forget == 0 || !old.State.Over() {
			return false
		}
		forget--
		delete(q.jobs, old.ID)
		for _, key := range old.leases {
			delete(q.past, key)
		}
		return true
	})
}

// Demand is what waits and who runs, as of one revision.
func (q *Queue) Demand() forgeyard.Demand {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.Clock()
	return forgeyard.Demand{Revision: q.revision, ObservedAt: now.UTC(), Queued: q.queued(now), Running: q.usage()}
}

// Runners is who runs, as of one revision.
func (q *Queue) Runners() forgeyard.Runners {
	q.mu.Lock()
	defer q.mu.Unlock()
	return forgeyard.Runners{Revision: q.revision, Running: q.usage()}
}

func (q *Queue) usage() []forgeyard.Running {
	all := make([]forgeyard.Running, 0, len(q.runners))
	for _, r := range q.runners {
		all = append(all, forgeyard.Running{Runner: r.id, Leases: len(r.leases), Cordoned: r.cordoned})
	}
	slices.SortFunc(all, func(a, b forgeyard.Running) int { return cmp.Compare(a.Runner, b.Runner) })
	return all
}
