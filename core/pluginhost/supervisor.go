//go:build unix

package pluginhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

// SupervisorState is what a supervisor is doing.
//
//	starting → ready → waiting → starting → …     Restart makes ready waiting
//	starting → held     the file or the configuration is refused: only a person helps
//	waiting  → broken   too many deaths
//	held, broken → starting   by Retry and RetryStopped
type SupervisorState string

// The states. Only in SupervisorReady is there a process to call.
const (
	SupervisorStarting SupervisorState = "starting"
	SupervisorReady    SupervisorState = "ready"
	SupervisorWaiting  SupervisorState = "waiting"
	SupervisorHeld     SupervisorState = "held"
	SupervisorBroken   SupervisorState = "broken"
	SupervisorStopped  SupervisorState = "stopped"
)

// SupervisorStatus is a supervisor's condition at one moment.
type SupervisorStatus struct {
	Provider fleet.ProviderAddress
	State    SupervisorState
	// Generation counts the launches. What was learned from one process holds
	// for its generation only.
	Generation int
	// Process is set in SupervisorReady and nil otherwise.
	Process *Process
	// Account is what the credentials reach; empty until configured.
	Account string
	// Diagnostics are what the plugin says about its configuration.
	Diagnostics []fleet.PluginDiagnostic
	// Deaths is how many processes died within DeathWindow.
	Deaths int
	// NextStart is when the next launch comes, in SupervisorWaiting.
	NextStart time.Time
	// Err is the reason why there is no process; nil in SupervisorReady.
	Err error
}

// Supervision says what a supervisor keeps alive.
type Supervision struct {
	Launch        Launch
	Configuration Configuration
	// Resolve puts secrets in the place of their references, for one Configure:
	// the result is kept nowhere. nil: there are none.
	Resolve func(ctx context.Context, provider json.RawMessage) (secret.Resolved, error)
	// Changed is called with every new status, one at a time, from Run. It reports
	// the end of a process once, with its reason; the receiver logs it.
	Changed func(SupervisorStatus)
	// ConfigureTimeout bounds Configure; 0: one minute.
	ConfigureTimeout time.Duration
	// StopGrace is what a process gets to end in; 0: 5 s.
	StopGrace time.Duration
	// Noticed is called with what the plugin announces, one at a time but for hints.
	// It may block until ctx ends, which slows the plugin down. nil: the plugin
	// doesn't serve events, and isn't asked.
	Noticed func(ctx context.Context, n Notice)
	// Jitter gives numbers in [0, 1); nil: at random.
	Jitter func() float64
}

// supervised is what the supervisor needs of a process.
type supervised interface {
	Configure(context.Context, Configuration) (string, []fleet.PluginDiagnostic, error)
	Exited() <-chan struct{}
	ExitCause() error
	Stop(grace time.Duration) error
	Watch(ctx context.Context, handle func(Notice)) error
}

// Supervisor keeps one configured process running for one provider block. Run
// does the work; the other methods may be called from anywhere.
type Supervisor struct {
	supervision Supervision
	logger      *slog.Logger
	start       func(context.Context) (supervised, error)
	retry       chan struct{}
	restart     chan string
	// announcements belong to the watching goroutine, of which there is one at a time.
	announcements announcements

	mutex  sync.Mutex
	status SupervisorStatus
}

// NewSupervisor makes a supervisor that starts nothing before Run.
func NewSupervisor(s Supervision) *Supervisor {
	s.ConfigureTimeout = cmp.Or(s.ConfigureTimeout, time.Minute)
	s.StopGrace = cmp.Or(s.StopGrace, 5*time.Second)
	if s.Jitter == nil {
		s.Jitter = rand.Float64
	}
	if s.Changed == nil {
		s.Changed = func(SupervisorStatus) {}
	}
	s.Launch = s.Launch.withDefaults()
	return &Supervisor{
		supervision: s,
		logger:      s.Launch.Logger,
		start: func(ctx context.Context) (supervised, error) {
			process, err := Start(ctx, s.Launch)
			if err != nil {
				return nil, err // and no typed nil
			}
			return process, nil
		},
		retry:   make(chan struct{}, 1),
		restart: make(chan string, 1),
		status: SupervisorStatus{
			Provider: s.Launch.Provider,
			State:    SupervisorStarting,
			Err:      errors.New("it has not been started yet"),
		},
	}
}

// Status is the present condition.
func (s *Supervisor) Status() SupervisorStatus {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.status
}

// Current is the process to call with its generation, or the reason why there
// is none.
func (s *Supervisor) Current() (*Process, int, error) {
	status := s.Status()
	if status.State != SupervisorReady {
		return nil, status.Generation, fmt.Errorf(
			"%s has no process to call (%s): %w",
			s.supervision.Launch.title(),
			status.State,
			status.Err,
		)
	}
	return status.Process, status.Generation, nil
}

// Retry starts again at once what waits, is held or is broken, and forgets the
// deaths. Elsewhere it does nothing.
func (s *Supervisor) Retry() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch s.status.State {
	case SupervisorWaiting, SupervisorHeld, SupervisorBroken:
		select {
		case s.retry <- struct{}{}:
		default:
		}
	}
}

// RetryStopped is Retry for the states that only a person ends: SupervisorHeld and
// SupervisorBroken. A process that waits for its next start keeps waiting, so that an
// apply every minute doesn't keep a provider from being broken.
func (s *Supervisor) RetryStopped() {
	switch s.Status().State {
	case SupervisorHeld, SupervisorBroken:
		s.Retry()
	}
}

// Restart ends the process that serves now, whatever it is doing, and starts
// another: for one that lives and doesn't answer. It counts as a death. It
// doesn't wait, and where no process serves it does nothing.
func (s *Supervisor) Restart(reason string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.status.State == SupervisorReady {
		select {
		case s.restart <- reason:
		default:
		}
	}
}

// Run starts the process, configures it and starts it again when it dies, until
// the context ends. It returns when the last process is stopped.
func (s *Supervisor) Run(ctx context.Context) {
	var history deathHistory
	for generation := 1; ctx.Err() == nil; generation++ {
		s.set(SupervisorStatus{State: SupervisorStarting, Generation: generation, Err: errors.New("it is being started")})
		var next SupervisorStatus
		s.serve(ctx, generation, func(end ending) {
			next = s.after(&history, end)
			next.Generation, next.Diagnostics = generation, end.diagnostics
			s.set(next)
		})
		if ctx.Err() == nil && s.rest(ctx, next) {
			history = deathHistory{}
		}
	}
	s.set(
		SupervisorStatus{State: SupervisorStopped, Generation: s.Status().Generation, Err: errors.New("the manager stops")},
	)
}

// after decides what follows the end of a process.
func (s *Supervisor) after(history *deathHistory, end ending) SupervisorStatus {
	now := time.Now()
	if end.ready >= DeathWindow {
		*history = deathHistory{}
	}
	if end.kind == endedByDeath {
		history.died(now)
	}
	status := SupervisorStatus{Deaths: history.recent(now), Err: end.err}
	switch {
	case end.kind == endedForPerson:
		status.State = SupervisorHeld
	case status.Deaths >= DeathLimit:
		status.State = SupervisorBroken
		status.Err = fmt.Errorf(
			"it died %d times within %s and is not started again until it is told to (mend it and run: "+
				"forgeyard-fleet apply): %w",
			status.Deaths,
			DeathWindow,
			end.err,
		)
	default:
		status.State = SupervisorWaiting
		status.NextStart = now.Add(history.delay(s.supervision.Jitter()))
	}
	return status
}

// rest waits until the next start; true says that it was asked for.
func (s *Supervisor) rest(ctx context.Context, status SupervisorStatus) (asked bool) {
	var due <-chan time.Time
	if status.State == SupervisorWaiting {
		timer := time.NewTimer(time.Until(status.NextStart))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-due:
	case <-s.retry:
		return true
	}
	return false
}

// set publishes a status. A wish to retry or to restart doesn't outlive the
// state that it was made in.
func (s *Supervisor) set(status SupervisorStatus) {
	status.Provider = s.supervision.Launch.Provider
	s.mutex.Lock()
	s.status = status
	switch status.State {
	case SupervisorStarting:
		select {
		case <-s.retry:
		default:
		}
	case SupervisorReady:
	default:
		select {
		case <-s.restart:
		default:
		}
	}
	s.mutex.Unlock()
	s.supervision.Changed(status)
}
