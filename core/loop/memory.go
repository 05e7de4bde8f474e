package loop

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/market"
)

// memory is what the loop knows beyond the store. All of it may be lost at any
// instruction: the next process inspects, and listens for a while before it
// calls anybody silent.
type memory struct {
	providers  map[fleet.ProviderAddress]*inventory.Provider
	schedulers map[fleet.SchedulerAddress]*schedulerMemory
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
	// tells are the instances about which a call to their scheduler is under way.
	tells map[fleet.CapacityInstanceID]fleet.SchedulerAddress
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
	// witnessed is since when this process has listened without a gap.
	witnessed time.Time
	// last and wake are the time of the last step and when the next was due.
	last, wake time.Time
}

func newMemory(started time.Time) memory {
	return memory{
		providers:  map[fleet.ProviderAddress]*inventory.Provider{},
		rows:       map[fleet.CapacityInstanceID]*rowMemory{},
		backoffs:   map[fleet.RunnerFleetID]backoff{},
		circuits:   market.Circuits{},
		calls:      map[fleet.OperationID]fleet.ProviderAddress{},
		batches:    map[fleet.OperationID]fleet.OperationID{},
		schedulers: map[fleet.SchedulerAddress]*schedulerMemory{},
		tells:      map[fleet.CapacityInstanceID]fleet.SchedulerAddress{},
		scaled:     map[fleet.RunnerFleetID]time.Time{},
		surplus:    map[fleet.RunnerFleetID]time.Time{},
		needs:      map[fleet.RunnerFleetID]*need{},
		witnessed:  started,
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
	// idle is since when its scheduler has shown it without a lease; zero: it
	// doesn't. leases is what it last showed.
	idle   time.Time
	leases int
	// connected says that this process has what the runner needs to connect to
	// its scheduler.
	connected bool
	// ended counts how often its worker's process has ended lately, the last time at
	// endedAt, by ran, what its agent counts in all.
	ended, ran int
	endedAt    time.Time
	// stopped is when its scheduler last acknowledged to give it no job.
	stopped time.Time
	// said is the last call to its scheduler, heardIn the step that took in its last
	// acknowledgement; 0: none yet.
	said    Tell
	heardIn int
	// tellAfter delays the next word to the scheduler after tellFailures failed,
	// the last of them with tellFailure.
	tellAfter    time.Time
	tellFailures int
	tellFailure  string
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

// blackout is how late a step may be before the time in between doesn't count
// as listened: the machine slept, or its clock was set.
const blackout = time.Minute

// watch notes that the loop runs again. After a gap nobody is called silent, and
// nothing late, for what happened in it.
func (m *memory) watch(now time.Time, clockSet bool) {
	m.steps++
	if clockSet || !m.last.IsZero() && (now.Before(m.last) || now.Sub(m.wake) > blackout && now.Sub(m.last) > blackout) {
		m.witnessed = now
	}
	if now.Before(m.last) {
		m.hurry()
	}
	m.last = now
}

// hurry makes everything that is spaced by the clock due now: the clock was set
// back, and what was done last has a time in the future.
func (m *memory) hurry() {
	for _, p := range m.providers {
		p.MakeDue()
	}
	for _, s := range m.schedulers {
		s.observed, s.behind, s.snapshot.ObservedAt = time.Time{}, time.Time{}, time.Time{}
		for _, g := range s.ghosts {
			g.after = time.Time{}
		}
	}
	for _, r := range m.rows {
		r.removals.MakeDue()
		r.tellAfter, r.idle, r.kept, r.unfit = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		r.stopped, r.endedAt = time.Time{}, time.Time{}
	}
	for id, b := range m.backoffs {
		b.hold.Until = time.Time{}
		m.backoffs[id] = b
	}
	m.markets.MakeDue()
	clear(m.scaled)
	clear(m.surplus)
}

// remember notes which effects are under way. It runs after the commit: before,
// none of them exists.
func (m *memory) remember(effects []Effect, now, wake time.Time) {
	m.wake = wake
	for _, e := range effects {
		switch e := e.(type) {
		case Inspect:
			m.provider(e.Provider).BeginInspection(now, m.steps)
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
			s := m.scheduler(e.Scheduler)
			s.observing, s.observed = true, now
		case ListOffers:
			m.markets.Asked(e.Market)
		case Tell:
			m.tells[e.Instance] = e.Scheduler
			m.row(e.Instance).said = e
		}
	}
}

// forget drops what is known of instances that are no more.
func (m *memory) forget(w *work) {
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
