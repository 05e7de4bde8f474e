package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// ErrNoScheduler says that the definition has no such scheduler block.
var ErrNoScheduler = errors.New("the definition has no such scheduler")

// observe asks a scheduler for its demand, and for its runners where the demand
// doesn't bring them along.
func (e *Executor) observe(ctx context.Context, effect loop.Observe) loop.Event {
	out := loop.Observed{Scheduler: effect.Scheduler}
	s, err := e.scheduler(effect.Scheduler)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, e.settings.Deadlines.Scheduler)
		defer cancel()
		err = look(ctx, s, &out)
	}
	observation := subject{what: "the look at " + string(effect.Scheduler)}
	if err != nil {
		out.Failure = schedulerFailure(err)
		e.failures.failed(
			slog.LevelWarn,
			observation,
			string(out.Failure.Class),
			"a scheduler can't be seen; its fleets keep what they have",
			"scheduler",
			effect.Scheduler,
			"error",
			err,
		)
		return out
	}
	e.failures.well(observation)
	return out
}

func look(ctx context.Context, s scheduler.Scheduler, out *loop.Observed) (err error) {
	if out.Snapshot, err = s.Demand(ctx); err != nil {
		return err
	}
	_, out.Uncordons = s.(scheduler.Uncordoner)
	lister, lists := s.(scheduler.RunnerLister)
	out.Lists = lists
	if !lists || out.Snapshot.Running != nil {
		return nil
	}
	listing, err := lister.Runners(ctx)
	if err != nil {
		return err
	}
	// The older of the two counts: what the listing shows holds from then on, too.
	out.Snapshot.Running, out.Snapshot.Revision = listing.Runners, min(out.Snapshot.Revision, listing.Revision)
	return nil
}

// tell says one thing about a runner.
func (e *Executor) tell(ctx context.Context, effect loop.CallScheduler) loop.Event {
	out := loop.SchedulerAnswered{Answer: effect.Answered()}
	err := e.tellWithinLimit(ctx, effect, &out)
	out.Gone, out.Unknown = errors.Is(err, ErrNoScheduler), errors.Is(err, scheduler.ErrUnknownRunner)
	telling := subject{what: fmt.Sprintf("%s at %s", effect.Kind, effect.Scheduler)}
	if err != nil && !out.Gone && !out.Unknown {
		out.Failure = schedulerFailure(err)
		refused, unsent := (*scheduler.RefusedError)(nil), (*scheduler.NotSentError)(nil)
		out.NotDone = errors.As(err, &refused) || errors.As(err, &unsent)
		e.failures.failed(
			slog.LevelWarn,
			telling,
			string(out.Failure.Class),
			"a scheduler could not be told of a runner; it is told again",
			"instance",
			effect.Instance,
			"error",
			err,
		)
		return out
	}
	e.failures.well(telling)
	return out
}

// tellWithinLimit waits until the call may go out; its deadline counts from then.
func (e *Executor) tellWithinLimit(ctx context.Context, effect loop.CallScheduler, out *loop.SchedulerAnswered) error {
	end, err := e.limits.acquire(ctx, effect.Scheduler)
	if err != nil {
		return &scheduler.NotSentError{Err: err}
	}
	defer end()
	s, err := e.scheduler(effect.Scheduler)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.settings.Deadlines.Scheduler)
	defer cancel()
	return e.say(ctx, s, effect, out)
}

func (e *Executor) say(
	ctx context.Context,
	s scheduler.Scheduler,
	effect loop.CallScheduler,
	out *loop.SchedulerAnswered,
) error {
	switch effect.Kind {
	case ci.Admit:
		admitted, err := s.Admit(ctx, effect.Runner)
		if err != nil {
			return err
		}
		out.Ref, out.Revision = admitted.Ref, admitted.Revision
		e.settings.Connected(effect.Instance, admitted)
		return nil
	case ci.Cordon:
		order := scheduler.StopOrder{Cause: effect.Cause, Force: effect.Force}
		if !effect.Deadline.IsZero() {
			order.Left = max(time.Second, effect.Deadline.Sub(e.settings.Clock())) // 0 would mean that it isn't known
		}
		ack, err := s.Stop(ctx, effect.Known, order)
		out.Revision = ack.Revision
		return err
	case ci.Uncordon:
		uncordoner, able := s.(scheduler.Uncordoner)
		if !able {
			return &scheduler.RefusedError{
				Doing:  "uncordon the runner " + string(effect.Instance),
				Answer: "it has no such call",
				Advice: "Replace the instance.",
			}
		}
		ack, err := uncordoner.Uncordon(ctx, effect.Known)
		out.Revision = ack.Revision
		return err
	case ci.Remove:
		remover, able := s.(scheduler.Remover)
		if !able {
			return nil // this scheduler takes no such reports
		}
		return remover.Remove(ctx, effect.Known, effect.Reason)
	}
	return fmt.Errorf("no way to tell a scheduler %q", effect.Kind)
}

func (e *Executor) scheduler(address fleet.SchedulerAddress) (scheduler.Scheduler, error) {
	if e.settings.Scheduler == nil {
		return nil, ErrNoScheduler
	}
	return e.settings.Scheduler(address)
}

// schedulerFailure classifies a scheduler's error: a refusal waits for a person,
// everything else is tried again.
func schedulerFailure(err error) *loop.Failure {
	f := &loop.Failure{Class: fleet.ErrorTransient, Message: err.Error()}
	if refused := (*scheduler.RefusedError)(nil); errors.As(err, &refused) {
		f.Class = fleet.ErrorPermission
	}
	return f
}
