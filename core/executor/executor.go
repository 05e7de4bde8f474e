package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/reconcile"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// Provider is a configured plugin process; *pluginhost.Process is one.
type Provider interface {
	Inspect(ctx context.Context, keys []fleet.OperationID) (fleet.Inspection, error)
	Provision(ctx context.Context, request pluginhost.ProvisionRequest, answer func(pluginhost.ProvisionAnswer)) error
	Terminate(ctx context.Context, refs []pluginhost.TerminateRef, force bool, answer func(pluginhost.TerminateAnswer)) error
}

// Loop is the step function that is driven; *reconcile.Loop is one.
type Loop interface {
	Step(ctx context.Context, now time.Time, events []reconcile.Event) (reconcile.Result, error)
	Absorb(ctx context.Context, now time.Time, events []reconcile.Event) error
	Abandon(ctx context.Context, now time.Time) error
}

// Settings are what an Executor works with. All fields but the deadlines are
// required.
type Settings struct {
	Loop Loop
	// Provider returns the process that serves a provider block, or the reason
	// why there is none.
	Provider func(fleet.ProviderAddress) (Provider, error)
	// Token makes the enrollment token of a provision operation. It is secret
	// and made anew whenever the request goes out.
	Token func(fleet.Operation) string
	Clock func() time.Time
	Log   *slog.Logger
	// Observe gets the result of every step, on the loop's goroutine.
	Observe func(reconcile.Result)
	// Deadlines bound the calls; zero values: DefaultDeadlines.
	Deadlines Deadlines
}

// Deadlines bound how long an answer is waited for. After them the outcome is
// unknown, and the call may still be running.
type Deadlines struct {
	Inspect, Provision, Terminate time.Duration
}

// DefaultDeadlines are generous: a wait costs little, an unknown outcome costs
// an inspection.
var DefaultDeadlines = Deadlines{Inspect: 2 * time.Minute, Provision: 5 * time.Minute, Terminate: 2 * time.Minute}

// Executor drives one loop.
type Executor struct {
	settings Settings
	events   chan reconcile.Event
	wake     chan struct{}
	calls    sync.WaitGroup
}

// New makes an executor that does nothing before Run.
func New(s Settings) *Executor {
	if s.Deadlines == (Deadlines{}) {
		s.Deadlines = DefaultDeadlines
	}
	return &Executor{settings: s, events: make(chan reconcile.Event, 256), wake: make(chan struct{}, 1)}
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
func (e *Executor) Send(ctx context.Context, event reconcile.Event) {
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
	if err := e.plan(planning, calls); err != nil {
		cancel() // nobody may commit their answers any more
		e.discard()
		return err
	}
	return e.drain(calls)
}

// plan is the working life: step, run the effects, wait for something to do.
func (e *Executor) plan(planning, calls context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var events []reconcile.Event
		select {
		case <-planning.Done():
			return nil
		case event := <-e.events:
			events = append(events, event)
		case <-e.wake:
		case <-timer.C:
		}
		result, err := e.settings.Loop.Step(calls, e.settings.Clock(), e.more(events))
		if fenced := (*store.FencedError)(nil); errors.As(err, &fenced) {
			return err
		}
		if err != nil {
			e.settings.Log.Error("a step of the reconcile loop failed; nothing was changed, and it is tried again", "error", err)
			timer.Reset(retryStep)
			continue
		}
		for _, t := range result.Transitions {
			e.settings.Log.Info("instance moved", "instance", t.Instance, "fleet", t.Fleet, "from", t.From, "to", t.To, "reason", t.Reason)
		}
		e.settings.Observe(result)
		for _, effect := range result.Effects {
			e.calls.Go(func() { e.carryOut(calls, effect) })
		}
		timer.Reset(max(0, result.Wake.Sub(e.settings.Clock())))
	}
}

// more takes whatever else has arrived, so that a burst is one step.
func (e *Executor) more(events []reconcile.Event) []reconcile.Event {
	for {
		select {
		case event := <-e.events:
			events = append(events, event)
		default:
			return events
		}
	}
}

// drain commits the answers that still come.
func (e *Executor) drain(calls context.Context) error {
	over := e.over()
	// The store must take the last answers even when the time for calls is up.
	commit := context.WithoutCancel(calls)
	for waiting := true; waiting; {
		var events []reconcile.Event
		select {
		case event := <-e.events:
			events = append(events, event)
		case <-over:
			waiting = false
		}
		if err := e.settings.Loop.Absorb(commit, e.settings.Clock(), e.more(events)); err != nil {
			e.discard()
			return fmt.Errorf("commit the last answers: %w", err)
		}
	}
	if err := e.settings.Loop.Abandon(commit, e.settings.Clock()); err != nil {
		return fmt.Errorf("mark what had no answer as unknown: %w", err)
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
