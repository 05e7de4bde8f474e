package reviewos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// operation is the body of a POST to FleetPath.
type operation struct {
	Operation string `json:"operation"`
	Name      string `json:"name,omitempty"`
	Pool      int64  `json:"pool,omitempty"`
	Queue     int64  `json:"queue,omitempty"`
	Runner    int64  `json:"runner,omitempty"`
	Token     int64  `json:"token,omitempty"`
	Labels    string `json:"labels,omitempty"`
	Force     bool   `json:"force,omitempty"`
}

// createdRunner is the answer to create-runner. The token is in no other answer.
type createdRunner struct {
	Runner struct {
		ID    int64  `json:"id"`
		Token string `json:"token"`
		Queue int64  `json:"queue"`
	} `json:"runner"`
}

// Admit makes a runner with a name that is the instance's, in the queue that the
// file maps to its class, and returns the credential that its process needs. It
// can't be asked for again: the credential is in no other answer.
func (c *Client) Admit(ctx context.Context, r scheduler.Runner) (scheduler.Admitted, error) {
	name := runnerName(r)
	doing := fmt.Sprintf("create the runner %s", name)
	at := slices.IndexFunc(c.Queues, func(q fleet.SchedulerQueue) bool { return q.Class.Name == r.Class.Name })
	if at < 0 {
		return scheduler.Admitted{}, &scheduler.RefusedError{
			Doing:  doing,
			Answer: fmt.Sprintf("no queue is mapped to the class %q", r.Class.Name),
			Advice: "Give the scheduler block a queue block with this capacity_class, or the fleet another class.",
		}
	}
	queue := c.Queues[at]
	var answer createdRunner
	err := c.fleetCall(
		ctx,
		doing,
		operation{Operation: "create-runner", Name: name, Queue: queue.ID, Labels: labelsOf(queue)},
		&answer,
	)
	if errors.Is(err, scheduler.ErrUnknownRunner) {
		err = &scheduler.RefusedError{
			Doing:  doing,
			Answer: err.Error(),
			Advice: fmt.Sprintf("Is there a queue with the id %d?", queue.ID),
		}
	}
	if err != nil {
		return scheduler.Admitted{}, err
	}
	runner := answer.Runner
	if runner.ID <= 0 || runner.Token == "" {
		return scheduler.Admitted{}, &scheduler.NonsenseError{
			Doing: doing,
			Err:   errors.New("it has no runner with an id and a token"),
		}
	}
	if runner.Queue != queue.ID {
		doing := fmt.Sprintf("assign the runner %s to the queue %q", name, queue.Name)
		if err := c.fleetCall(
			ctx,
			doing,
			operation{Operation: "assign-runner", Runner: runner.ID, Queue: queue.ID},
			nil,
		); err != nil {
			// The runner was made, and its credential isn't used: not a certain no.
			return scheduler.Admitted{}, fmt.Errorf(
				"the runner %s was made and isn't used, since it is in no queue: %s",
				name,
				err.Error(),
			)
		}
	}
	return scheduler.Admitted{
		Ref:         fleet.SchedulerRunnerRef(strconv.FormatInt(runner.ID, 10)),
		Environment: environmentOf(c.URL, r, runner.Token), Command: commandOf(c.URL, r, queue), StoppedByScheduler: true,
	}, nil
}

// runnerName is the instance's id; a later attempt has a fresh one.
func runnerName(r scheduler.Runner) string {
	if r.Attempt > 1 {
		return fmt.Sprintf("%s-%d", r.Name, r.Attempt)
	}
	return string(r.Name)
}

// Stop asks for no new work on a runner, which is told the next time it asks, and
// ends after the job that it has. Nothing takes that back.
func (c *Client) Stop(
	ctx context.Context,
	r scheduler.Known,
	order scheduler.StopOrder,
) (scheduler.Acknowledgement, error) {
	return scheduler.Acknowledgement{}, c.stop(ctx, r, order.Force)
}

// Remove says that a runner is gone for good. There is no call to forget one;
// stopped, it isn't waited for.
func (c *Client) Remove(ctx context.Context, r scheduler.Known, _ scheduler.RemovalReason) error {
	err := c.stop(ctx, r, false)
	if errors.Is(err, scheduler.ErrUnknownRunner) {
		return nil
	}
	return err
}

func (c *Client) stop(ctx context.Context, r scheduler.Known, force bool) error {
	doing := fmt.Sprintf("stop the runner %s", r.Name)
	if r.Ref == "" {
		// The answer that named it was lost, and its credential with it: no process
		// has ever been able to use it.
		return fmt.Errorf("%s: %w: no number of it is known", doing, scheduler.ErrUnknownRunner)
	}
	id, err := strconv.ParseInt(string(r.Ref), 10, 64)
	if err != nil {
		return &scheduler.RefusedError{
			Doing:  doing,
			Answer: fmt.Sprintf("invalid runner number %.40q", r.Ref),
			Advice: "Stop it in ReviewOS.",
		}
	}
	return c.fleetCall(ctx, doing, operation{Operation: "stop-runner", Runner: id, Force: force}, nil)
}

// RegistrationToken lets machines join one pool, and nothing else.
type RegistrationToken struct {
	ID int64 `json:"id"`
	// Token is secret, and in no other answer.
	Token string `json:"token"`
}

// CreateToken makes a registration token for a pool, and a queue of it; 0: none.
func (c *Client) CreateToken(ctx context.Context, pool, queue int64, name string) (RegistrationToken, error) {
	doing := fmt.Sprintf("create the registration token %.60q", name)
	var answer struct {
		Token RegistrationToken `json:"token"`
	}
	if err := c.fleetCall(
		ctx,
		doing,
		operation{Operation: "create-token", Pool: pool, Queue: queue, Name: name},
		&answer,
	); err != nil {
		return RegistrationToken{}, err
	}
	if answer.Token.ID <= 0 || answer.Token.Token == "" {
		return RegistrationToken{}, &scheduler.NonsenseError{Doing: doing, Err: errors.New("it has no token with an id")}
	}
	return answer.Token, nil
}

// RevokeToken ends a registration token: no machine joins by it any more, and what
// runs on those that joined isn't interrupted.
func (c *Client) RevokeToken(ctx context.Context, id int64) error {
	return c.fleetCall(
		ctx,
		fmt.Sprintf("revoke the registration token %d", id),
		operation{Operation: "revoke-token", Token: id},
		nil,
	)
}

// Registration is what a machine says of itself when it joins.
type Registration struct {
	Name   string `json:"name"`
	Labels string `json:"labels,omitempty"`
	Tags   string `json:"tags,omitempty"`
}

// Register joins a machine by a registration token, as the machine does itself, and
// returns the runner's own credential.
func (c *Client) Register(
	ctx context.Context,
	registration Token,
	machine Registration,
) (credential string, err error) {
	doing := fmt.Sprintf("register the runner %.60q", machine.Name)
	content, err := json.Marshal(machine)
	if err != nil {
		return "", fmt.Errorf("%s: encode the request: %w", doing, err)
	}
	answer, err := c.send(
		ctx,
		doing,
		http.MethodPost,
		RegisterPath,
		registration,
		content,
		http.Header{"X-Runner-Protocol": {"1"}},
	)
	if err != nil {
		return "", err
	}
	var created createdRunner
	if err := understand(doing, http.MethodPost, RegisterPath, answer, &created); err != nil {
		return "", err
	}
	if created.Runner.Token == "" {
		return "", &scheduler.NonsenseError{Doing: doing, Err: errors.New("it has no token of the runner")}
	}
	return created.Runner.Token, nil
}
