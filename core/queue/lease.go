package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
)

// leaseKey names a lease: its id was made up by the runner's worker.
type leaseKey struct{ runner, id string }

// lease is a job in the hands of one runner. A job has one or none.
type lease struct {
	key     leaseKey
	runner  *runner
	job     *job
	expires time.Time
	// ordered is closed, and replaced, when there is something to tell the worker.
	ordered chan struct{}
}

// order wakes the worker's call that waits for orders. The queue's lock is held.
func (l *lease) order() {
	close(l.ordered)
	l.ordered = make(chan struct{})
}

// poll is a worker's call that waits for a job.
type poll struct {
	key     leaseKey
	runner  *runner
	granted chan struct{} // closed, once the lease is there or can't come any more
}

// Lease gives the runner's worker a job under the id, waiting for one until ctx
// ends; false: there was none. Asked again under the same id it answers the same
// job, and under the id of a lease that has ended, none.
func (q *Queue) Lease(ctx context.Context, runnerID, session, id string) (worker.Lease, bool, error) {
	key := leaseKey{runnerID, id}
	p, answer, err := q.ask(key, session)
	if p == nil {
		return answer, err == nil && answer.Job != "", err
	}
	select {
	case <-p.granted:
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.polls = slices.DeleteFunc(q.polls, func(other *poll) bool { return other == p })
	l := q.leases[key]
	switch {
	case l != nil:
		return q.shown(l), true, nil
	case q.past[key] != nil:
		return worker.Lease{}, false, void(key)
	case q.runners[runnerID] == nil:
		return worker.Lease{}, false, refuse(UnknownRunner, "the runner %.64q isn't admitted here any more", runnerID)
	case p.runner.session != session:
		return worker.Lease{}, false, superseded(runnerID)
	}
	return worker.Lease{}, false, nil
}

// ask answers a request for a lease at once, or leaves a poll that waits.
func (q *Queue) ask(key leaseKey, session string) (*poll, worker.Lease, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, err := q.runner(key.runner)
	if err != nil {
		return nil, worker.Lease{}, err
	}
	if r.ended[session] {
		return nil, worker.Lease{}, superseded(key.runner)
	}
	if l := q.leases[key]; l != nil && r.session == session {
		return nil, q.shown(l), nil
	}
	if q.past[key] != nil || r.returned[key] {
		return nil, worker.Lease{}, void(key)
	}
	q.begins(r, session)
	p := &poll{key: key, runner: r, granted: make(chan struct{})}
	if l := q.grant(p); l != nil {
		return nil, q.shown(l), nil
	}
	q.polls = append(q.polls, p)
	return p, worker.Lease{}, nil
}

// begins takes note of a new run of a runner's worker: what the one before had
// was lost with it. The lock is held.
func (q *Queue) begins(r *runner, session string) {
	if r.session == session {
		return
	}
	if r.session != "" {
		r.ended[r.session] = true
	}
	r.session = session
	q.endPolls(r)
	q.loseAll(r, fmt.Sprintf("the worker of its runner %s was restarted", r.id))
}

// endPolls wakes the calls that wait for a job for a runner. The lock is held.
func (q *Queue) endPolls(r *runner) {
	q.polls = slices.DeleteFunc(q.polls, func(p *poll) bool {
		if p.runner == r {
			close(p.granted)
		}
		return p.runner == r
	})
}

// dispatch leases waiting jobs to waiting runners. The lock is held.
func (q *Queue) dispatch() {
	if len(q.groups) == 0 || len(q.polls) == 0 {
		return
	}
	q.polls = slices.DeleteFunc(q.polls, func(p *poll) bool {
		if len(q.groups) == 0 || q.grant(p) == nil {
			return false
		}
		close(p.granted)
		return true
	})
}

// grant leases the first job that suits the runner, if there is one. It is the
// only place where a lease begins. The lock is held.
func (q *Queue) grant(p *poll) *lease {
	r := p.runner
	if !r.takesMore() {
		return nil
	}
	var best *group
	for _, g := range q.groups {
		if (best == nil || g.before(best)) && fits(g.resources, r.free) && eligible(g, r.has) && q.withinLimit(g) {
			best = g
		}
	}
	if best == nil {
		return nil
	}
	j := best.jobs[0]
	q.noLongerWaits(j)
	now := q.Clock()
	l := &lease{key: p.key, runner: r, job: j, expires: now.Add(q.LeaseTime), ordered: make(chan struct{})}
	q.leases[p.key], r.leases[p.key] = l, l
	j.State, j.lease, j.Runner, j.Started, j.tail, j.Reason = Leased, l, r.id, now.UTC(), "", ""
	j.Attempts++
	r.begun++
	take(&r.free, j.Resources, 1)
	if _, limited := q.TenantLimits[j.Requirement.Tenant]; limited {
		q.running[j.Requirement.Tenant]++
	}
	q.changed()
	return l
}

// end takes a lease from its runner: the only place where one ends. The lock is
// held.
func (q *Queue) end(l *lease) {
	delete(q.leases, l.key)
	delete(l.runner.leases, l.key)
	q.past[l.key] = l.job
	l.job.leases = append(l.job.leases, l.key)
	l.job.lease = nil
	take(&l.runner.free, l.job.Resources, -1)
	if tenant := l.job.Requirement.Tenant; q.running[tenant] > 0 {
		q.running[tenant]--
	}
	l.order()
	q.changed()
}

// lose ends a lease without a result and queues its job again, unless that has
// happened too often. The lock is held.
func (q *Queue) lose(l *lease, why string) {
	j := l.job
	q.end(l)
	j.Losses++
	switch {
	case j.CancelRequested:
		q.finish(j, Cancelled, nil, "cancelled; "+why)
	case j.Losses > q.MostLosses:
		q.finish(j, Failed, nil, fmt.Sprintf("lost %d times to the infrastructure, and not tried again: %s", j.Losses, why))
	default:
		j.Reason = "lost to the infrastructure, and run again: " + why
		q.wait(j)
	}
}

func (q *Queue) loseAll(r *runner, why string) {
	for _, l := range r.leases {
		q.lose(l, why)
	}
	if q.runners[r.id] != r {
		q.endPolls(r)
	}
	q.dispatch()
}

// Expire takes the leases away that weren't renewed in time. The
// queue's server calls it now and then.
func (q *Queue) Expire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, lost := q.Clock(), false
	for _, l := range q.leases {
		if !l.expires.After(now) {
			q.lose(l, fmt.Sprintf("its runner %s didn't renew the lease in time", l.runner.id))
			lost = true
		}
	}
	if lost {
		q.dispatch()
	}
}

func (q *Queue) shown(l *lease) worker.Lease {
	j := l.job
	return worker.Lease{
		Job:           j.ID,
		Command:       j.Command,
		Env:           j.env,
		Checkpoint:    j.Checkpoint,
		Attempt:       j.Attempts,
		ExpireSeconds: q.LeaseTime.Seconds(),
	}
}

func void(key leaseKey) error {
	return refuse(
		Void,
		"the lease %.64q isn't the runner %s's any more; what it runs for it has to end",
		key.id,
		key.runner,
	)
}

func superseded(runner string) error {
	return refuse(Superseded, "another process works for the runner %s by now", runner)
}
