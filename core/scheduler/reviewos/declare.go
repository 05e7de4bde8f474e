package reviewos

import (
	"context"
	"errors"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// declaration is the body of an operation on pools and queues. Of these
// only assign-repository is named on ReviewOS's page; the names of the others are
// taken for granted, after it.
type declaration struct {
	Operation          string `json:"operation"`
	Name               string `json:"name,omitempty"`
	Description        string `json:"description,omitempty"`
	RequireSignedSteps *bool  `json:"require_signed_steps,omitempty"`
	Pool               int64  `json:"pool,omitempty"`
	Queue              int64  `json:"queue,omitempty"`
	Repository         string `json:"repository,omitempty"`
	Reason             string `json:"reason,omitempty"`
}

// made is the answer of an operation that makes something.
type made struct {
	ID int64 `json:"id"`
}

var errNoNumber = errors.New("it has no number of what was made")

// CreatePool makes a pool without queues and returns its number.
func (c *Client) CreatePool(ctx context.Context, p ShapePool) (int64, error) {
	doing := fmt.Sprintf("create the pool %.60q", p.Name)
	var answer struct {
		Pool made `json:"pool"`
	}
	body := declaration{
		Operation:          "create-pool",
		Name:               p.Name,
		Description:        p.Description,
		RequireSignedSteps: &p.RequireSignedSteps,
	}
	if err := c.declare(ctx, doing, body, &answer); err != nil {
		return 0, err
	}
	if answer.Pool.ID <= 0 {
		return 0, &scheduler.NonsenseError{Doing: doing, Err: errNoNumber}
	}
	return answer.Pool.ID, nil
}

// UpdatePool gives a pool its description, and says whether steps must be signed.
func (c *Client) UpdatePool(ctx context.Context, p ShapePool) error {
	return c.declare(
		ctx,
		fmt.Sprintf("change the pool %.60q", p.Name),
		declaration{
			Operation:          "update-pool",
			Pool:               p.ID,
			Description:        p.Description,
			RequireSignedSteps: &p.RequireSignedSteps,
		},
		nil,
	)
}

// CreateQueue makes a queue in a pool and returns its number.
func (c *Client) CreateQueue(ctx context.Context, pool int64, name string) (int64, error) {
	doing := fmt.Sprintf("create the queue %.60q", name)
	var answer struct {
		Queue made `json:"queue"`
	}
	if err := c.declare(ctx, doing, declaration{Operation: "create-queue", Pool: pool, Name: name}, &answer); err != nil {
		return 0, err
	}
	if answer.Queue.ID <= 0 {
		return 0, &scheduler.NonsenseError{Doing: doing, Err: errNoNumber}
	}
	return answer.Queue.ID, nil
}

// PauseQueue lets no job of a queue begin, and says why.
func (c *Client) PauseQueue(ctx context.Context, queue int64, name, reason string) error {
	return c.declare(
		ctx,
		fmt.Sprintf("pause the queue %.60q", name),
		declaration{Operation: "pause-queue", Queue: queue, Reason: reason},
		nil,
	)
}

// ResumeQueue takes a pause back.
func (c *Client) ResumeQueue(ctx context.Context, queue int64, name string) error {
	return c.declare(
		ctx,
		fmt.Sprintf("resume the queue %.60q", name),
		declaration{Operation: "resume-queue", Queue: queue},
		nil,
	)
}

// AssignRepository lets a repository use a pool.
func (c *Client) AssignRepository(ctx context.Context, pool int64, repository string) error {
	return c.declare(ctx, fmt.Sprintf("let the repository %.60q use the pool", repository),
		declaration{Operation: "assign-repository", Pool: pool, Repository: repository}, nil)
}

// declare does one of them. A missing pool or queue isn't a missing runner.
func (c *Client) declare(ctx context.Context, doing string, body declaration, out any) error {
	err := c.fleetCall(ctx, doing, body, out)
	if answer := (*StatusError)(nil); errors.Is(err, scheduler.ErrUnknownRunner) && errors.As(err, &answer) {
		return answer
	}
	return err
}
