package loop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// Store is the durable truth as the loop needs it. Commit is one transaction
// and fails as a whole; it fails for good once another writer took over.
type Store interface {
	Load(ctx context.Context) (snapshot.State, error)
	Commit(ctx context.Context, c store.Change) error
	// Recall finds instances, live or ended, by the keys that made them or by
	// their ids.
	Recall(ctx context.Context, keys []fleet.OperationID, ids []fleet.CapacityInstanceID) ([]store.Recalled, error)
}

// Enrollment gives new hosts their way in.
type Enrollment interface {
	// Issue makes the nonce of an operation's single-use token, and the hash to
	// store.
	Issue(op fleet.OperationID) (nonce []byte, hash string, err error)
	// Bootstrap is the first-boot document for a provider's host of the platform,
	// without its token. It fails where there is no agent for the platform.
	Bootstrap(provider fleet.ProviderAddress, kind string, p fleet.Platform) (fleet.BootstrapIntent, error)
}

// Settings are fixed for the life of a Loop.
type Settings struct {
	Installation string
	// AgentVersion is the version that hosts must run.
	AgentVersion string
	// NewID makes a ULID for a time.
	NewID func(time.Time) (string, error)
	// Started is when this process began: no silence is counted before it.
	Started time.Time
	// Ownership returns the keys that prove resources to be ours. It is asked in
	// every step, since a rotation may come in between.
	Ownership func() ownership.Keyring
	// OrphanGrace is how long an orphan must have been seen without a gap before it
	// is removed; 0: inventory.DefaultOrphanGrace.
	OrphanGrace time.Duration
	// CallLimit bounds the calls under way per provider; 0: DefaultCallLimit.
	CallLimit int
	// Random gives numbers in [0, 1), so that not all who wait try again at once;
	// nil: always 0.
	Random func() float64
	// Needed reads what fleets needed before, for their forecasts; nil: nothing is
	// kept.
	Needed func(context.Context, []fleet.RunnerFleetID) (map[fleet.RunnerFleetID][]forecast.Run, error)
	// Planner decides what each fleet needs; nil: planner.Plan.
	Planner func(snapshot.Snapshot) planner.Output
}

// DefaultCallLimit bounds the provision and terminate calls under way on one
// provider.
const DefaultCallLimit = 16

// Loop drives the step function. It isn't safe for concurrent use.
type Loop struct {
	store      Store
	enrollment Enrollment
	settings   Settings
	memory
	// backlog holds events whose step could not be committed.
	backlog []Event
}

// New makes a loop that knows nothing yet: its first step inspects.
func New(s Store, e Enrollment, settings Settings) *Loop {
	if settings.CallLimit <= 0 {
		settings.CallLimit = DefaultCallLimit
	}
	if settings.OrphanGrace <= 0 {
		settings.OrphanGrace = inventory.DefaultOrphanGrace
	}
	if settings.Random == nil {
		settings.Random = func() float64 { return 0 }
	}
	if settings.Planner == nil {
		settings.Planner = planner.Plan
	}
	return &Loop{store: s, enrollment: e, settings: settings, memory: newMemory(settings.Started)}
}

// Result is what a step leads to.
type Result struct {
	Effects []Effect
	// Wake is when the next step is due if nothing happens before.
	Wake time.Time
	// Serial is of the definition that the step worked with.
	Serial int64
	// Plan is what the planner said.
	Plan planner.Output
	// Transitions are the moves of this step, for logs and progress.
	Transitions []Transition
	// Instances are the live instances and those that ended in this step.
	Instances []fleet.CapacityInstance
	// Settled says that everything was seen and nothing is on its way: no
	// instance between two states, no unknown outcome, no fleet that waits.
	Settled bool
	// Unresolved counts operations whose outcome is unknown.
	Unresolved int
	// Calls counts the provider calls under way, inspections aside.
	Calls int
	// Observations are what is known beyond the store as the step leaves it.
	Observations snapshot.Observations
	// Silent are the live instances whose agents have missed their heartbeats.
	Silent []fleet.CapacityInstanceID
	// Damaged names the rows of the store that make no sense, with the reason.
	// They are left alone, and their fleets start nothing.
	Damaged []reason.Reason
	// Orders are the decisions of people that were carried out or refused.
	Orders []OrderOutcome
}

// Transition is one move of one instance.
type Transition struct {
	Instance fleet.CapacityInstanceID    `json:"instance"`
	Fleet    fleet.FleetAddress          `json:"fleet"`
	From     fleet.CapacityInstanceState `json:"from,omitempty"`
	To       fleet.CapacityInstanceState `json:"to"`
	Reason   reason.Reason               `json:"reason"`
}

// Step takes in events and returns what to do next. If it fails nothing must be
// done; the events are kept for the next step, which finds out what of this one
// was stored.
func (l *Loop) Step(ctx context.Context, now time.Time, events []Event) (Result, error) {
	l.backlog = append(l.backlog, events...)
	l.beginStep(now, slices.ContainsFunc(l.backlog, func(e Event) bool { _, set := e.(ClockSet); return set }))
	w, err := l.load(ctx, now)
	if err != nil {
		return Result{}, err
	}
	l.applyEvents(w, l.backlog)
	l.markUnknown(w, reason.AnswerLost{})
	l.detectMassSilence(w)
	if err := l.classifyUnrecorded(ctx, w); err != nil {
		return Result{}, fmt.Errorf("loop: look up what has no live record: %w", err)
	}
	if err := l.findUnknownRunners(ctx, w); err != nil {
		return Result{}, fmt.Errorf("loop: look up runners that a scheduler lists and no one has: %w", err)
	}
	if err := l.applyOrders(w); err != nil {
		return Result{}, fmt.Errorf("loop: carry out what was ordered: %w", err)
	}
	if err := l.collectOrphans(w); err != nil {
		return Result{}, fmt.Errorf("loop: take orphans onto the books: %w", err)
	}
	l.applyAgentFacts(w)
	l.applyQuarantines(w)
	l.admit(w)
	l.applyNotices(w)
	l.countLeases(w)
	l.checkCredentials(w)
	l.expireDeadlines(w)
	l.withdrawOutdated(w)
	l.countFailures(w)
	w.advanceCircuits()
	l.updateForecasts(ctx, w)
	plan := l.plan(w)
	l.recordNeeds(w, plan)
	if err := l.enact(w, plan); err != nil {
		return Result{}, fmt.Errorf("loop: enact the plan: %w", err)
	}
	l.advanceDrains(w)
	if err := l.intendTerminations(w); err != nil {
		return Result{}, fmt.Errorf("loop: terminate: %w", err)
	}
	effects := l.send(w)
	l.retireFleets(w)
	if err := l.commit(ctx, w); err != nil {
		return Result{}, err
	}
	l.forgetEnded(w)
	l.forgetAppliedOrders(w)
	result := l.result(w, plan, effects)
	l.noteEffects(effects, now, result.Wake)
	return result, nil
}
