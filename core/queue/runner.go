package queue

import (
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// Interruption is the cause of a cordon by which jobs on the runner are told to
// save their state: its provider takes the host away.
const Interruption = "interruption"

// runner is an admitted runner.
type runner struct {
	id       string
	has      forgeyard.Admit
	free     forgeyard.Resources
	cordoned bool
	// until is when the host goes away; zero: unknown.
	until time.Time
	begun int // leases in its life
	// session is the run of its worker that leases are given to; ended are those
	// before.
	session string
	ended   map[string]bool
	leases  map[leaseKey]*lease
	// returned are ids of leases that were given back before there was a job: a
	// request that comes late under such an id gets none.
	returned map[leaseKey]bool
}

func (r *runner) slots() int { return int(max(1, r.has.Slots)) }

// takesMore says that the runner may get a lease now, if a job suits it.
func (r *runner) takesMore() bool {
	return !r.cordoned && len(r.leases) < r.slots() && (r.has.MaxJobs == 0 || r.begun < r.has.MaxJobs)
}

// Admit takes a verified runner in. Repeated, it changes what is known of the
// runner where that differs, and neither its leases nor its cordon.
func (q *Queue) Admit(id string, has forgeyard.Admit) (revision int64, err error) {
	if err := checkAdmit(has); err != nil {
		return 0, refuse(Invalid, "%s", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.runners[id]
	switch {
	case r == nil && len(q.runners) >= fleet.MaxListedRunners:
		return 0, refuse(Full, "%d runners are admitted, and more can't be listed", len(q.runners))
	case r == nil:
		r = &runner{id: id, leases: map[leaseKey]*lease{}, ended: map[string]bool{}, returned: map[leaseKey]bool{}}
		q.runners[id] = r
	case reflect.DeepEqual(r.has, has):
		return q.revision, nil
	}
	r.has = has
	r.free = has.Resources
	r.free.Named = maps.Clone(has.Resources.Named)
	for _, l := range r.leases {
		take(&r.free, l.job.Resources, 1)
	}
	q.changed()
	q.dispatch()
	return q.revision, nil
}

// checkAdmit refuses what this queue doesn't understand of a runner: it could be
// a bound.
func checkAdmit(a forgeyard.Admit) error {
	for _, unknown := range a.Resources.Unknown {
		return fmt.Errorf("resources.%.64s: this queue knows no such resource; name it under \"named\"", unknown)
	}
	r := a.Resources
	if r.CPUMilli < 0 || r.MemoryBytes < 0 || r.DiskBytes < 0 || r.GPU < 0 || a.Slots < 0 || a.MaxJobs < 0 {
		return fmt.Errorf("resources, slots, max_jobs: none of them can be negative")
	}
	if a.Slots > maxSlots {
		return fmt.Errorf("slots: %d is more than %d", a.Slots, maxSlots)
	}
	for name, amount := range r.Named {
		if amount < 0 {
			return fmt.Errorf("resources.named[%.40q]: it can't be negative", name)
		}
	}
	return nil
}

const maxSlots = 1000

// timeToSave is how long jobs have to save their state on a host that goes away in
// so much time; 0: unknown.
func (q *Queue) timeToSave(left time.Duration) time.Duration {
	if left <= 0 {
		return q.CheckpointTime
	}
	return worker.TimeToSave(left)
}

// Cordon gives a runner no new lease from the returned revision on. With force
// its jobs are taken away and queued again. left is in how much time its host goes
// away, where the cause says that it does; 0: unknown.
func (q *Queue) Cordon(id, cause string, force bool, left time.Duration) (revision int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, err := q.runner(id)
	if err != nil {
		return 0, err
	}
	if !r.cordoned {
		r.cordoned = true
		q.changed()
	}
	until := q.Clock().Add(q.timeToSave(left))
	if cause == Interruption && (r.until.IsZero() || until.Before(r.until) && left > 0) {
		r.until = until
		for _, l := range r.leases {
			l.order()
		}
		q.changed()
	}
	if force {
		q.loseAll(r, fmt.Sprintf("its runner %s was taken away (%.64s)", r.id, cause))
	}
	return q.revision, nil
}

// Uncordon gives a runner leases again.
func (q *Queue) Uncordon(id string) (revision int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, err := q.runner(id)
	if err != nil {
		return 0, err
	}
	if r.cordoned {
		r.cordoned, r.until = false, time.Time{}
		q.changed()
		q.dispatch()
	}
	return q.revision, nil
}

// Remove forgets a runner. Jobs that it still has are queued again, whatever the
// reason: a runner that ended as it should has none.
func (q *Queue) Remove(id string, reason scheduler.RemovalReason) error {
	if reason != scheduler.RemovedNormally && reason != scheduler.RemovedInfrastructure {
		return refuse(
			Invalid,
			"reason: %.40q is neither %q nor %q",
			reason,
			scheduler.RemovedNormally,
			scheduler.RemovedInfrastructure,
		)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	r, err := q.runner(id)
	if err != nil {
		return err
	}
	r.cordoned = true // what is lost here must not come back to it
	delete(q.runners, id)
	q.changed()
	q.loseAll(r, fmt.Sprintf("its runner %s is gone (%s)", r.id, reason))
	return nil
}

func (q *Queue) runner(id string) (*runner, error) {
	if r := q.runners[id]; r != nil {
		return r, nil
	}
	return nil, refuse(UnknownRunner, "the runner %.64q isn't admitted here", id)
}
