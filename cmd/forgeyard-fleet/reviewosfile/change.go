package reviewosfile

import (
	"context"
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/scheduler/reviewos"
)

// Change is one thing that an instance has to do to be what the file says.
type Change struct {
	Words string
	Do    func(context.Context, *reviewos.Client) error
}

// Changes compares a file with an instance. What the file doesn't mention
// is drift, and not touched: no change removes anything.
func Changes(file File, shape reviewos.Shape) (changes []Change, drift []string) {
	for _, pool := range file.Pools {
		at := slices.IndexFunc(shape.Pools, func(p reviewos.ShapePool) bool { return p.Name == pool.Name })
		if at < 0 {
			changes = append(changes, newPool(pool))
			continue
		}
		there := shape.Pools[at]
		if pool.describes && pool.Description != there.Description ||
			pool.signs && pool.SignedSteps != there.RequireSignedSteps {
			changes = append(changes, changedPool(pool, there))
		}
		for _, queue := range pool.Queues {
			changes = append(changes, queueChanges(pool, queue, there)...)
		}
		for _, repository := range pool.Repositories {
			if !slices.Contains(there.Repositories, repository) {
				changes = append(changes, newRepository(pool, repository, there.ID))
			}
		}
	}
	return changes, driftOf(file, shape)
}

func newPool(pool Pool) Change {
	words := fmt.Sprintf("create the pool %q", pool.Name)
	if pool.SignedSteps {
		words += ", which requires signed steps"
	}
	for _, q := range pool.Queues {
		words += fmt.Sprintf("\n    with the queue %q", q.Name)
		if q.Paused {
			words += ", paused: " + q.Reason
		}
	}
	for _, repository := range pool.Repositories {
		words += "\n    for the repository " + repository
	}
	return Change{Words: words, Do: func(ctx context.Context, c *reviewos.Client) error {
		id, err := c.CreatePool(
			ctx,
			reviewos.ShapePool{Name: pool.Name, Description: pool.Description, RequireSignedSteps: pool.SignedSteps},
		)
		if err != nil {
			return err
		}
		inside, _ := Changes(
			File{Pools: []Pool{{Name: pool.Name, Queues: pool.Queues, Repositories: pool.Repositories}}},
			reviewos.Shape{Pools: []reviewos.ShapePool{{ID: id, Name: pool.Name}}},
		)
		for _, change := range inside {
			if err := change.Do(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}}
}

func changedPool(pool Pool, there reviewos.ShapePool) Change {
	wanted := there
	words := fmt.Sprintf("change the pool %q:", pool.Name)
	if pool.describes && pool.Description != there.Description {
		wanted.Description = pool.Description
		words += fmt.Sprintf("\n    description: %q → %q", there.Description, pool.Description)
	}
	if pool.signs && pool.SignedSteps != there.RequireSignedSteps {
		wanted.RequireSignedSteps = pool.SignedSteps
		words += fmt.Sprintf("\n    require_signed_steps: %t → %t", there.RequireSignedSteps, pool.SignedSteps)
	}
	return Change{
		Words: words,
		Do:    func(ctx context.Context, c *reviewos.Client) error { return c.UpdatePool(ctx, wanted) },
	}
}

func newRepository(pool Pool, repository string, id int64) Change {
	return Change{Words: fmt.Sprintf("let the repository %s use the pool %q", repository, pool.Name),
		Do: func(ctx context.Context, c *reviewos.Client) error { return c.AssignRepository(ctx, id, repository) }}
}

func queueChanges(pool Pool, queue Queue, there reviewos.ShapePool) []Change {
	at := slices.IndexFunc(there.Queues, func(q reviewos.ShapeQueue) bool { return q.Name == queue.Name })
	if at < 0 {
		words := fmt.Sprintf("create the queue %q in the pool %q", queue.Name, pool.Name)
		if queue.Paused {
			words += ", paused: " + queue.Reason
		}
		return []Change{{Words: words, Do: func(ctx context.Context, c *reviewos.Client) error {
			id, err := c.CreateQueue(ctx, there.ID, queue.Name)
			if err != nil || !queue.Paused {
				return err
			}
			return c.PauseQueue(ctx, id, queue.Name, queue.Reason)
		}}}
	}
	is := there.Queues[at]
	paused := is.State == reviewos.QueuePaused
	switch {
	case queue.Paused && (!paused || is.Reason != queue.Reason):
		return []Change{{Words: fmt.Sprintf("pause the queue %q: %s", queue.Name, queue.Reason),
			Do: func(ctx context.Context, c *reviewos.Client) error {
				return c.PauseQueue(ctx, is.ID, queue.Name, queue.Reason)
			}}}
	case queue.states && !queue.Paused && paused:
		return []Change{{Words: fmt.Sprintf("resume the queue %q, which was paused: %s", queue.Name, is.Reason),
			Do: func(ctx context.Context, c *reviewos.Client) error { return c.ResumeQueue(ctx, is.ID, queue.Name) }}}
	}
	return nil
}

// driftOf lists what an instance has and the file doesn't mention.
func driftOf(file File, shape reviewos.Shape) (drift []string) {
	for _, there := range shape.Pools {
		at := slices.IndexFunc(file.Pools, func(p Pool) bool { return p.Name == there.Name })
		if at < 0 {
			drift = append(drift, fmt.Sprintf("the pool %q", there.Name))
			continue
		}
		pool := file.Pools[at]
		for _, queue := range there.Queues {
			n := slices.IndexFunc(pool.Queues, func(q Queue) bool { return q.Name == queue.Name })
			switch {
			case n < 0:
				drift = append(drift, fmt.Sprintf("the queue %q of the pool %q", queue.Name, pool.Name))
			case queue.State == reviewos.QueuePaused && !pool.Queues[n].states:
				drift = append(drift, fmt.Sprintf("the pause of the queue %q (%s)", queue.Name, queue.Reason))
			}
		}
		for _, repository := range there.Repositories {
			if !slices.Contains(pool.Repositories, repository) {
				drift = append(drift, fmt.Sprintf("the repository %s of the pool %q", repository, pool.Name))
			}
		}
		if !pool.signs && there.RequireSignedSteps {
			drift = append(drift, fmt.Sprintf("require_signed_steps of the pool %q", pool.Name))
		}
	}
	return drift
}
