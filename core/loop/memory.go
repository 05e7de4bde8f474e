package loop

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/market"
)

// memory is what the loop knows beyond the store. All of it may be lost at any
// instruction: the next process inspects, and listens for a while before it
// calls anybody silent.
type memory struct {
	providers  map[fleet.ProviderAddress]*inventory.Provider
	schedulers map[fleet.SchedulerAddress]*ci.Scheduler
	rows       map[fleet.CapacityInstanceID]*rowMemory
	backoffs   map[fleet.RunnerFleetID]backoff
	// circuits say where providers had no room.
	circuits market.Circuits
	// markets are what providers offer for instance blocks.
	markets market.Lists
	// calls are the operations with a provision or terminate call under way.
	calls map[fleet.OperationID]fleet.ProviderAddress
	// batches are those of them that are one call with others, by the batch's key.
	batches map[fleet.OperationID]fleet.OperationID
	// schedulerCallsUnderWay are the instances about which a call to their scheduler
	// is under way.
	schedulerCallsUnderWay map[fleet.CapacityInstanceID]fleet.SchedulerAddress
	// scaled is when fleets last changed their size.
	scaled map[fleet.RunnerFleetID]time.Time
	// surplus is since when fleets have had more capacity than they need, without a
	// gap.
	surplus map[fleet.RunnerFleetID]time.Time
	// needs are those of the fleets with a forecast.
	needs map[fleet.RunnerFleetID]*need
	// orders are people's decisions that wait for an inspection.
	orders []pendingOrder
	// steps counts the steps of this process. What must come after something
	// else is compared by it, since clocks get set.
	steps int
	// listeningSince is since when this process has listened without a gap.
	listeningSince time.Time
	// last and wake are the time of the last step and when the next was due.
	last, wake time.Time
}

func newMemory(started time.Time) memory {
	return memory{
		providers:              map[fleet.ProviderAddress]*inventory.Provider{},
		rows:                   map[fleet.CapacityInstanceID]*rowMemory{},
		backoffs:               map[fleet.RunnerFleetID]backoff{},
		circuits:               market.Circuits{},
		calls:                  map[fleet.OperationID]fleet.ProviderAddress{},
		batches:                map[fleet.OperationID]fleet.OperationID{},
		schedulers:             map[fleet.SchedulerAddress]*ci.Scheduler{},
		schedulerCallsUnderWay: map[fleet.CapacityInstanceID]fleet.SchedulerAddress{},
		scaled:                 map[fleet.RunnerFleetID]time.Time{},
		surplus:                map[fleet.RunnerFleetID]time.Time{},
		needs:                  map[fleet.RunnerFleetID]*need{},
		listeningSince:         started,
	}
}

// rowMemory is what is known of an instance.
type rowMemory struct {
	// seen is when the last inspection that showed it began, missing when the
	// first of those since that didn't; zero: none.
	seen, missing time.Time
	// kept is when a freeze last kept its calls from going out.
	kept time.Time
	// unfit is since when its agent has complained.
	unfit time.Time
	// intent is the step that stored the intent to terminate it, answered the one
	// that took in the last answer to that. 0: before this process.
	intent, answered int
	// removals is how it goes with what the instance left behind.
	removals inventory.Removals
	// runner is what is known of it at its scheduler.
	runner ci.Runner
}

func (m *memory) provider(a fleet.ProviderAddress) *inventory.Provider {
	p := m.providers[a]
	if p == nil {
		p = inventory.NewProvider()
		m.providers[a] = p
	}
	return p
}

func (m *memory) row(id fleet.CapacityInstanceID) *rowMemory {
	r := m.rows[id]
	if r == nil {
		r = &rowMemory{}
		m.rows[id] = r
	}
	return r
}

// callsOn counts the calls under way on a provider: a batch is one.
func (m *memory) callsOn(a fleet.ProviderAddress) int {
	n := 0
	counted := map[fleet.OperationID]bool{}
	for op, on := range m.calls {
		batch := m.batches[op]
		if on != a || counted[batch] {
			continue
		}
		n++
		if batch != "" {
			counted[batch] = true
		}
	}
	return n
}

// callOver notes that no call for an operation is under way any more.
func (m *memory) callOver(op fleet.OperationID) {
	delete(m.calls, op)
	delete(m.batches, op)
}

// maxStepDelay is how late a step may be before the time in between doesn't count
// as listened: the machine slept, or its clock was set.
const maxStepDelay = time.Minute

// beginStep notes that the loop runs again. After a gap no one is called silent, and
// nothing late, for what happened in it.
func (m *memory) beginStep(now time.Time, clockSet bool) {
	m.steps++
	if clockSet ||
		!m.last.IsZero() && (now.Before(m.last) || now.Sub(m.wake) > maxStepDelay && now.Sub(m.last) > maxStepDelay) {
		m.listeningSince = now
	}
	if now.Before(m.last) {
		m.makeAllDue()
	}
	m.last = now
}

// makeAllDue makes everything that is spaced by the clock due now: the clock was set
// back, and what was done last has a time in the future.
func (m *memory) makeAllDue() {
	for _, p := range m.providers {
		p.MakeDue()
	}
	for _, s := range m.schedulers {
		s.MakeDue()
	}
	for _, r := range m.rows {
		r.removals.MakeDue()
		r.runner.MakeDue()
		r.kept, r.unfit = time.Time{}, time.Time{}
	}
	for id, b := range m.backoffs {
		b.hold.Until = time.Time{}
		m.backoffs[id] = b
	}
	m.markets.MakeDue()
	clear(m.scaled)
	clear(m.surplus)
}

// noteEffects notes which effects are under way. It runs after the commit: before,
// none of them exists.
func (m *memory) noteEffects(effects []Effect, now, wake time.Time) {
	m.wake = wake
	for _, e := range effects {
		switch e := e.(type) {
		case Inspect:
			m.provider(e.Provider).BeginInspection(now, m.steps, len(e.Keys) > 0)
		case Provision:
			m.calls[e.Operation.ID] = e.Provider
		case ProvisionBatch:
			for _, member := range e.Members {
				m.calls[member.Operation.ID], m.batches[member.Operation.ID] = e.Provider, e.Key
			}
		case Terminate:
			m.calls[e.Operation] = e.Provider
			dangling := e.Resource
			if !e.Left {
				dangling = ""
			}
			m.row(e.Instance).removals.Sent(dangling)
		case Observe:
			m.scheduler(e.Scheduler).BeginObservation(now)
		case ListOffers:
			m.markets.Asked(e.Market)
		case CallScheduler:
			m.schedulerCallsUnderWay[e.Instance] = e.Scheduler
			m.row(e.Instance).runner.Called(e.Call)
		}
	}
}

// forgetEnded drops what is known of instances that are no more.
func (m *memory) forgetEnded(w *step) {
	live := make(map[fleet.CapacityInstanceID]bool, len(w.rows))
	for _, r := range w.rows {
		live[r.ID] = !r.Concluded()
	}
	for id := range m.rows {
		if !live[id] {
			delete(m.rows, id)
		}
	}
}
