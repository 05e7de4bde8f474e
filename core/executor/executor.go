package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// Provider is a configured plugin process; *pluginhost.Process is one.
type Provider interface {
	Inspect(ctx context.Context, keys []fleet.OperationID) (fleet.Inspection, error)
	Provision(ctx context.Context, request pluginhost.ProvisionRequest, answer func(pluginhost.ProvisionAnswer)) error
	Offers(ctx context.Context, instance json.RawMessage) (fleet.OfferList, error)
	Terminate(
		ctx context.Context,
		refs []pluginhost.TerminateRef,
		force bool,
		answer func(pluginhost.TerminateAnswer),
	) error
}

// Loop is the step function that is driven; *loop.Loop is one.
type Loop interface {
	Step(ctx context.Context, now time.Time, events []loop.Event) (loop.Result, error)
	Absorb(ctx context.Context, now time.Time, events []loop.Event) error
	Abandon(ctx context.Context, now time.Time) error
}

// Settings are what an Executor works with. Fields are required where they
// don't say what happens without them.
type Settings struct {
	Loop Loop
	// Provider returns the process that serves a provider block, or the reason
	// why there is none.
	Provider func(fleet.ProviderAddress) (Provider, error)
	// Scheduler returns the client of a scheduler block; ErrNoScheduler: the
	// definition has no such block any more. nil: there is none at all.
	Scheduler func(fleet.SchedulerAddress) (scheduler.Scheduler, error)
	// Connected gets what a scheduler gave for an admitted runner, before the loop
	// hears of it. It is secret.
	Connected func(fleet.CapacityInstanceID, scheduler.Admitted)
	// Token makes the enrollment token of a provision operation. It is secret
	// and generated again for every attempt.
	Token func(fleet.Operation) string
	Clock func() time.Time
	Log   *slog.Logger
	// Observe gets the result of every step, on the loop's goroutine.
	Observe func(loop.Result)
	// Hung is told of a provider whose process lives and let the deadline of two
	// inspections in a row pass: only its end makes sure that its calls are over.
	// It must not block. nil: such a process isn't ended.
	Hung func(fleet.ProviderAddress)
	// Prune forgets what ended long ago. It is called at the start and then every
	// PruneInterval, beside the loop. nil: nothing is ever forgotten.
	Prune func(ctx context.Context, now time.Time) error
	// Deadlines bound the calls; zero values: DefaultDeadlines.
	Deadlines Deadlines
}

// Deadlines bound how long an answer is waited for. After them the outcome is
// unknown, and the call may still be running.
type Deadlines struct {
	Inspect, Provision, Terminate, Offers, Scheduler time.Duration
}

// DefaultDeadlines are generous: a wait costs little, an unknown outcome costs
// an inspection.
var DefaultDeadlines = Deadlines{
	Inspect:   2 * time.Minute,
	Provision: 5 * time.Minute,
	Terminate: 2 * time.Minute,
	Offers:    time.Minute,
	Scheduler: 30 * time.Second,
}

// Executor drives one loop.
type Executor struct {
	settings    Settings
	events      chan loop.Event
	wake        chan struct{}
	calls       sync.WaitGroup
	failures    *changeLog
	inspections *lateInspections
	limits      *callLimits
}

// New makes an executor that does nothing before Run.
func New(s Settings) *Executor {
	if s.Deadlines == (Deadlines{}) {
		s.Deadlines = DefaultDeadlines
	}
	return &Executor{
		settings: s, events: make(chan loop.Event, 256), wake: make(chan struct{}, 1),
		failures: newChangeLog(s.Log, s.Clock), inspections: newLateInspections(), limits: newCallLimits(),
	}
}

// Wake makes a step happen soon: facts in the store have changed. It never
// blocks, and many wakes at once are one.
func (e *Executor) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Send hands an event to the loop. It blocks while the loop is busy.
func (e *Executor) Send(ctx context.Context, event loop.Event) {
	select {
	case e.events <- event:
	case <-ctx.Done():
	}
}

// retryStep is how long to wait after a step that failed.
const retryStep = time.Second

// Run steps the loop until planning ends or another writer took over the store.
// Then no new call begins, and the answers of those under way are committed
// until drained ends; what is left is marked unknown. planning should end
// before drained. The error is nil after an ordered stop.
func (e *Executor) Run(planning, drained context.Context) error {
	calls, cancel := context.WithCancel(drained)
	defer cancel()
	stopHousekeeping := e.keepHouse(planning)
	left, err := e.plan(planning, calls)
	stopHousekeeping()
	if err != nil {
		cancel() // their answers must not be committed any more
		e.discard()
		return err
	}
	return e.drain(calls, left)
}

// step is what the log calls one step of the loop.
var step = subject{what: "a step of the reconcile loop"}

// plan is the working life: step, run the effects, wait for something to do.
// It returns the events that came too late for a step.
func (e *Executor) plan(planning, calls context.Context) (left []loop.Event, err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Time
	for {
		var events []loop.Event
		select {
		case <-planning.Done():
			return nil, nil
		case event := <-e.events:
			events = append(events, event)
		case <-e.wake:
		case <-timer.C:
		}
		// Where several things are ready, select takes any of them. A step may begin
		// new calls, and none begins after the end of planning.
		if planning.Err() != nil {
			return events, nil
		}
		now := e.settings.Clock()
		if by := setBy(last, now, now.Sub(last)); by != 0 {
			events = append(events, loop.ClockSet{By: by})
		}
		last = now
		result, err := e.settings.Loop.Step(calls, now, e.more(events))
		if fenced := (*store.FencedError)(nil); errors.As(err, &fenced) {
			return nil, err
		}
		if err != nil {
			e.failures.failed(
				slog.LevelError,
				step,
				"",
				"a step of the reconcile loop failed; nothing was changed, and it is tried again",
				"error",
				err,
			)
			timer.Reset(retryStep)
			continue
		}
		e.failures.well(step)
		for _, t := range result.Transitions {
			e.settings.Log.Info(
				"instance moved",
				"instance",
				t.Instance,
				"fleet",
				t.Fleet,
				"from",
				t.From,
				"to",
				t.To,
				"reason",
				t.Reason,
			)
		}
		e.settings.Observe(result)
		for _, effect := range result.Effects {
			e.calls.Go(func() { e.carryOut(calls, effect) })
		}
		timer.Reset(max(0, result.Wake.Sub(e.settings.Clock())))
	}
}

// clockSlack is by how much two clocks of a machine may differ over one step.
const clockSlack = time.Second

// setBy is by how much the clock was set between two readings of it: it advanced by
// more or less than the time that passed. 0: it wasn't, or there is one reading.
func setBy(last, now time.Time, passed time.Duration) time.Duration {
	by := now.Round(0).Sub(last.Round(0)) - passed // of the wall clock only
	if last.IsZero() || by.Abs() < clockSlack {
		return 0
	}
	return by
}

// more takes whatever else has arrived, so that a burst is one step.
func (e *Executor) more(events []loop.Event) []loop.Event {
	for {
		select {
		case event := <-e.events:
			events = append(events, event)
		default:
			return events
		}
	}
}

// drain commits the events that are left and the answers that still come.
func (e *Executor) drain(calls context.Context, left []loop.Event) error {
	over := e.over()
	// The store must take the last answers even when the time for calls is up.
	commit := context.WithoutCancel(calls)
	if len(left) > 0 {
		if err := e.absorb(commit, left); err != nil {
			return err
		}
	}
	for waiting := true; waiting; {
		var events []loop.Event
		select {
		case event := <-e.events:
			events = append(events, event)
		case <-over:
			waiting = false
		}
		if err := e.absorb(commit, events); err != nil {
			return err
		}
	}
	if err := e.settings.Loop.Abandon(commit, e.settings.Clock()); err != nil {
		return fmt.Errorf("mark what had no answer as unknown: %w", err)
	}
	return nil
}

func (e *Executor) absorb(ctx context.Context, events []loop.Event) error {
	if err := e.settings.Loop.Absorb(ctx, e.settings.Clock(), e.more(events)); err != nil {
		e.discard()
		return fmt.Errorf("commit the last answers: %w", err)
	}
	return nil
}

// discard lets the calls under way end without anybody to take their answers:
// the next writer finds their operations in progress and inspects.
func (e *Executor) discard() {
	over := e.over()
	for {
		select {
		case <-e.events:
		case <-over:
			return
		}
	}
}

// over is closed once no call is under way.
func (e *Executor) over() <-chan struct{} {
	over := make(chan struct{})
	go func() { e.calls.Wait(); close(over) }()
	return over
}
