package queue

import (
	"cmp"
	"context"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
)

// Renew keeps a lease and shows the end of the job's output. It answers when
// there is an order for the worker, or when ctx ends.
func (q *Queue) Renew(ctx context.Context, runnerID, id, tail string) (worker.Orders, error) {
	key := leaseKey{runnerID, id}
	before, ordered, err := q.renew(key, tail)
	if err != nil || before != (worker.Orders{}) {
		return before, err
	}
	select {
	case <-ordered:
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l, err := q.lease(key)
	if err != nil {
		return worker.Orders{}, err
	}
	return q.orders(l), nil
}

func (q *Queue) renew(key leaseKey, tail string) (worker.Orders, <-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, err := q.lease(key)
	if err != nil {
		return worker.Orders{}, nil, err
	}
	l.expires = q.Clock().Add(q.LeaseTime)
	l.job.tail = bounded(tail)
	return q.orders(l), l.ordered, nil
}

func (q *Queue) orders(l *lease) worker.Orders {
	o := worker.Orders{Cancel: l.job.CancelRequested}
	if until := l.runner.until; !until.IsZero() && l.job.Checkpoint {
		o.Interrupted = true
		o.DeadlineSeconds = max(0, until.Sub(q.Clock()).Seconds())
	}
	return o
}

// Finish takes a job's result. A lease that has ended with a result takes none
// again, and says so by no error.
func (q *Queue) Finish(runnerID, id string, result worker.Result) error {
	key := leaseKey{runnerID, id}
	q.mu.Lock()
	defer q.mu.Unlock()
	l, err := q.lease(key)
	if err != nil {
		if j := q.past[key]; j != nil && j.State.Over() && j.leases[len(j.leases)-1] == key {
			return nil // the answer to the first one was lost
		}
		return err
	}
	j := l.job
	j.tail = bounded(result.Tail)
	if result.Interrupted && !j.CancelRequested {
		q.lose(l, "its runner "+runnerID+" was interrupted")
		q.dispatch()
		return nil
	}
	q.end(l)
	reason := printable(cmp.Or(result.Reason, "ended"))
	switch {
	case j.CancelRequested:
		q.finish(j, Cancelled, &result.ExitStatus, reason)
	case result.ExitStatus == 0:
		q.finish(j, Succeeded, &result.ExitStatus, reason)
	default:
		q.finish(j, Failed, &result.ExitStatus, reason)
	}
	q.dispatch()
	return nil
}

// maxReturned bounds what is remembered of leases that were given back before
// there was a job.
const maxReturned = 64

// Return gives a lease back whose job was not begun, and takes care that none
// comes under its id any more. The job is none the worse for it.
func (q *Queue) Return(runnerID, id string) error {
	key := leaseKey{runnerID, id}
	q.mu.Lock()
	defer q.mu.Unlock()
	r, err := q.runner(runnerID)
	if err != nil {
		return err
	}
	if l := q.leases[key]; l != nil {
		j := l.job
		q.end(l)
		r.begun--
		if j.CancelRequested {
			q.finish(j, Cancelled, nil, "cancelled before it began")
		} else {
			j.Attempts--
			q.wait(j)
		}
		q.dispatch()
		return nil
	}
	if len(r.returned) >= maxReturned {
		clear(r.returned)
	}
	r.returned[key] = true
	for _, p := range q.polls {
		if p.key == key {
			q.endPolls(r)
			break
		}
	}
	return nil
}

// lease finds a lease that holds.
func (q *Queue) lease(key leaseKey) (*lease, error) {
	if l := q.leases[key]; l != nil {
		return l, nil
	}
	if _, err := q.runner(key.runner); err != nil {
		return nil, err
	}
	return nil, void(key)
}

// bounded is the end of an output.
func bounded(tail string) string {
	if len(tail) > worker.MaxTailBytes {
		tail = tail[len(tail)-worker.MaxTailBytes:]
	}
	return strings.ToValidUTF8(tail, "\uFFFD")
}

// printable bounds a worker's words to one line.
func printable(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, ""))
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return strings.TrimSpace(s)
}
