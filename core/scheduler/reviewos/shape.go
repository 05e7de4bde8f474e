package reviewos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// Shape is what an instance has of pools and queues. That it can be read by a GET
// of FleetPath isn't on ReviewOS's page, and is taken for granted.
type Shape struct {
	Pools []ShapePool `json:"pools"`
}

// ShapePool is one pool.
type ShapePool struct {
	ID                 int64        `json:"id"`
	Name               string       `json:"name"`
	Description        string       `json:"description"`
	RequireSignedSteps bool         `json:"require_signed_steps"`
	Queues             []ShapeQueue `json:"queues"`
	Repositories       []string     `json:"repositories"`
}

// ShapeQueue is one queue of a pool.
type ShapeQueue struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// The states of a queue.
const (
	QueueActive = "active"
	QueuePaused = "paused"
)

// Shape reads the pools and queues that the token may see.
func (c *Client) Shape(ctx context.Context) (Shape, error) {
	const doing = "read the pools and queues"
	answer, err := c.send(ctx, doing, http.MethodGet, FleetPath, c.Fleet, nil, nil)
	if err != nil {
		return Shape{}, unreadable(err)
	}
	var shape Shape
	if err := understand(doing, http.MethodGet, FleetPath, answer, &shape); err != nil {
		return Shape{}, err
	}
	if shape.Pools == nil {
		return Shape{}, &scheduler.NonsenseError{Doing: doing, Err: errors.New("it has no \"pools\"")}
	}
	if err := shape.check(); err != nil {
		return Shape{}, &scheduler.NonsenseError{Doing: doing, Err: err}
	}
	return shape, nil
}

// unreadable adds to a refusal what the user can do.
func unreadable(err error) error {
	answer := (*StatusError)(nil)
	if errors.As(err, &answer) && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden) {
		return &scheduler.RefusedError{
			Doing:  answer.Doing,
			Answer: answer.Said,
			Advice: "The token must be a pool maintainer's.",
		}
	}
	return err
}

// check refuses what pools and queues can't be: a change would go to one that was
// guessed.
func (s Shape) check() error {
	pools := map[string]bool{}
	for n, p := range s.Pools {
		switch {
		case p.ID <= 0:
			return fmt.Errorf("pools[%d].id is %d, and numbers begin at 1", n, p.ID)
		case p.Name == "":
			return fmt.Errorf("pools[%d] has no name", n)
		case pools[p.Name]:
			return fmt.Errorf("two pools are called %.60q, and which is meant can't be told", p.Name)
		}
		pools[p.Name] = true
		queues := map[string]bool{}
		for m, q := range p.Queues {
			switch {
			case q.ID <= 0:
				return fmt.Errorf("pools[%d].queues[%d].id is %d, and numbers begin at 1", n, m, q.ID)
			case q.Name == "":
				return fmt.Errorf("pools[%d].queues[%d] has no name", n, m)
			case queues[q.Name]:
				return fmt.Errorf("two queues of the pool %.60q are called %.60q, and which is meant can't be told", p.Name, q.Name)
			}
			queues[q.Name] = true
		}
	}
	return nil
}

// pausesAgain is how often it is read which queues are paused.
const pausesAgain = 10 * time.Second

// pauses is which queues were paused when somebody last looked.
type pauses struct {
	read  time.Time
	names map[string]bool
}

// pausedQueues are the queues that are known to be paused. The metrics don't say
// it; where it can't be read, what was known holds.
func (c *Client) pausedQueues(ctx context.Context) map[string]bool {
	now := c.Clock()
	c.mu.Lock()
	known := c.paused
	c.mu.Unlock()
	if since := now.Sub(known.read); !known.read.IsZero() && since >= 0 && since < pausesAgain {
		return known.names
	}
	known.read = now
	if shape, err := c.Shape(ctx); err == nil {
		known.names = map[string]bool{}
		for _, pool := range shape.Pools {
			for _, queue := range pool.Queues {
				if queue.State == QueuePaused {
					known.names[queue.Name] = true
				}
			}
		}
	}
	c.mu.Lock()
	c.paused = known
	c.mu.Unlock()
	return known.names
}
