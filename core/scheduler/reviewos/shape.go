package reviewos

import (
	"context"
	"errors"
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
		return Shape{}, err
	}
	var shape Shape
	if err := understand(doing, http.MethodGet, FleetPath, answer, &shape); err != nil {
		return Shape{}, err
	}
	if shape.Pools == nil {
		return Shape{}, &scheduler.NonsenseError{Doing: doing, Err: errors.New("it has no \"pools\"")}
	}
	return shape, nil
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
