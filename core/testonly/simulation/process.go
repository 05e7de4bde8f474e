package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// manager is the process that runs the loop, life after life.
type manager struct {
	w     *world
	loop  *loop.Loop
	alive bool
	// life counts the processes: what was meant for an earlier one is lost.
	life  int
	inbox []loop.Event
	// next is when the next step is planned; -1: none is.
	next  time.Duration
	crash crashPoint
	// begin is how many effects still begin where crash is betweenEffects.
	begin  int
	random *rand.Rand
	ids    int
	steps  int
	// hungry is since when a fleet has starved.
	hungry map[fleet.RunnerFleetID]time.Duration
	// connections are what a scheduler that admits once gave this process for runners.
	connections map[fleet.CapacityInstanceID]connection
	// observed is when the last complete inspections began.
	observed map[fleet.ProviderAddress]time.Time
}

type crashPoint string

const (
	noCrash        crashPoint = ""
	beforeCommit   crashPoint = "before its commit"
	afterCommit    crashPoint = "after its commit"
	betweenEffects crashPoint = "between its effects"
)

// start begins a life.
func (m *manager) start() {
	m.life++
	m.alive, m.inbox, m.next, m.crash = true, nil, -1, noCrash
	m.hungry = map[fleet.RunnerFleetID]time.Duration{}
	m.connections = map[fleet.CapacityInstanceID]connection{}
	m.w.say("the manager starts")
	settings := loop.Settings{
		Installation: installation,
		AgentVersion: agentVersion,
		Started:      m.w.now(),
		NewID:        m.newID,
		Ownership:    func() ownership.Keyring { return m.w.keys },
		OrphanGrace:  time.Minute,
		Random:       m.random.Float64,
		Planner:      m.w.options.Double.Plan,
		Needed:       m.w.store.Needed,
	}
	var s loop.Store = m.w.store
	if m.w.options.Double.Store != nil {
		s = m.w.options.Double.Store(s, m.w.now)
	}
	m.loop = loop.New(s, fakeEnrollment{}, settings)
	for _, c := range m.w.clouds {
		c.start(time.Duration(m.random.IntN(3000)) * time.Millisecond)
	}
	m.stepSoon(0)
}

// newID is a ULID's like: sorted by the time that the manager's clock shows.
func (m *manager) newID(now time.Time) (string, error) {
	m.ids++
	return fmt.Sprintf("%010x%06d", now.UnixMilli(), m.ids), nil
}

// fakeEnrollment issues tokens that aren't checked: enrollment isn't what is simulated.
type fakeEnrollment struct{}

func (fakeEnrollment) Issue(op fleet.OperationID) ([]byte, string, error) {
	return []byte("nonce"), "hash of " + string(op), nil
}

func (fakeEnrollment) Bootstrap(_ fleet.ProviderAddress, kind string, _ fleet.Platform) (fleet.BootstrapIntent, error) {
	return fleet.BootstrapIntent{Kind: kind, ManagerURL: "https://127.0.0.1:7443"}, nil
}

// armCrash makes the manager die at a point of its next step, or at once.
func (m *manager) armCrash(random *rand.Rand) {
	points := []crashPoint{noCrash, beforeCommit, afterCommit, betweenEffects}
	m.crash, m.begin = points[random.IntN(len(points))], random.IntN(3)
	if m.alive && m.crash == noCrash {
		m.die("at rest")
	}
}

// die ends the process. Its calls continue in the cloud; the next process starts
// once the plugins of this one have ended.
func (m *manager) die(where string) {
	if !m.alive {
		return
	}
	m.w.say("the manager dies %s", where)
	m.alive, m.crash, m.inbox = false, noCrash, nil
	m.life++
	back := m.w.at + time.Duration(1+m.random.IntN(60))*time.Second
	for _, c := range m.w.clouds {
		back = max(back, c.end()+time.Second)
	}
	m.w.after(back-m.w.at, m.start)
}

// deliver hands an event to the life that it is for.
func (m *manager) deliver(life int, e loop.Event) {
	if !m.alive || life != m.life {
		return
	}
	if m.w.options.Double.Event != nil {
		e = m.w.options.Double.Event(e, m.w.store.runners)
	}
	m.w.say("EVENT %s", inWords(e))
	m.inbox = append(m.inbox, e)
	m.stepSoon(time.Duration(m.random.IntN(50)) * time.Millisecond)
}

// stepSoon plans a step, unless one comes earlier.
func (m *manager) stepSoon(in time.Duration) {
	at := m.w.at + max(in, time.Millisecond)
	if !m.alive || m.next >= 0 && m.next <= at {
		return
	}
	m.next = at
	life := m.life
	m.w.after(at-m.w.at, func() {
		if m.alive && life == m.life && m.next == m.w.at {
			m.next = -1
			m.step()
		}
	})
}

// step is one step of the loop and the beginning of its effects.
func (m *manager) step() {
	events := m.inbox
	m.inbox = nil
	m.steps++
	now := m.w.now()
	before := len(m.w.store.decisions)
	res, err := m.loop.Step(context.Background(), now, events)
	if err != nil {
		m.w.say("the step failed: %v", err)
		if m.crash == beforeCommit || m.crash == afterCommit {
			m.die(string(m.crash))
		} else {
			m.stepSoon(time.Second)
		}
		return
	}
	for _, d := range m.w.store.decisions[before:] {
		m.w.say("DECISION %s %s (%s): %s", d.Fleet, d.Kind, causeOf(d), d.Reason)
	}
	for _, t := range res.Transitions {
		m.w.say("MOVE %s %s -> %s: %s", t.Instance, t.From, t.To, t.Reason)
	}
	m.w.carriedOut(res.Orders)
	m.observed = res.Observations.Inspected
	m.w.checkStep(res)
	effects := res.Effects
	if m.w.options.Double.Effects != nil {
		effects = m.w.options.Double.Effects(res)
	}
	for n, e := range effects {
		if m.crash == betweenEffects && n >= m.begin {
			m.die(string(m.crash))
			return
		}
		m.w.say("EFFECT %s", inWords(e))
		m.w.checkEffect(e)
		m.carryOut(e)
	}
	m.stepSoon(res.Wake.Sub(now))
	m.w.checkPeace(res)
}

func (m *manager) carryOut(e loop.Effect) {
	switch e := e.(type) {
	case loop.Inspect:
		m.w.cloud(e.Provider).inspect(m.life, e.Keys)
	case loop.Provision:
		m.w.cloud(e.Provider).provision(m.life, e)
	case loop.ProvisionBatch:
		m.w.cloud(e.Provider).provisionBatch(m.life, e)
	case loop.Terminate:
		m.w.cloud(e.Provider).terminate(m.life, e)
	case loop.ListOffers:
		m.w.cloud(e.Market.Provider).listOffers(m.life, e)
	case loop.Observe:
		m.w.ci.observe(m.life, e)
	case loop.CallScheduler:
		m.w.ci.tell(m.life, e)
	default:
		m.w.fail("the simulation lacks an effect", "no way to carry out %T", e)
	}
}

// inWords is an event or an effect in one line.
func inWords(x any) string {
	switch x := x.(type) {
	case loop.ProviderReady:
		return "ready " + string(x.Provider)
	case loop.ProviderDown:
		return "down " + string(x.Provider)
	case loop.Inspected:
		text := fmt.Sprintf(
			"inspected %s: %d resources, complete %t",
			x.Provider,
			len(x.Inspection.Resources),
			x.Inspection.Complete && x.Failure == nil,
		)
		if len(x.Inspection.InFlight) > 0 {
			text += fmt.Sprintf(", in flight %v", x.Inspection.InFlight)
		}
		return text
	case loop.ProvisionAnswered:
		return fmt.Sprintf(
			"provision %s answered: %s %s, call over %t%s",
			x.Operation,
			x.Outcome,
			x.Resource.ID,
			x.CallOver,
			because(x.Failure),
		)
	case loop.BatchAnswered:
		text := "batch answered:"
		for _, one := range x.Answers {
			text += " [" + inWords(one) + "]"
		}
		return text
	case loop.TerminateAnswered:
		return fmt.Sprintf("terminate %s answered: %s%s", x.Operation, x.Outcome, because(x.Failure))
	case loop.Noticed:
		return fmt.Sprintf("noticed %s: %s %s", x.Instance, x.Notice.Kind, x.Notice.ID)
	case loop.Observed:
		return observedInWords(x)
	case loop.SchedulerAnswered:
		return fmt.Sprintf(
			"told %s %s: revision %d, unknown %t%s",
			x.Kind,
			x.Instance,
			x.Revision,
			x.Unknown,
			because(x.Failure),
		)
	case loop.Ordered:
		return fmt.Sprintf("ordered %s %s%s", x.Order.Kind, x.Order.Instance, x.Order.Resource)
	case loop.OffersListed:
		return fmt.Sprintf("offers of %s: %d%s", x.Market.Provider, len(x.List.Offers), because(x.Failure))
	}
	return effectInWords(x)
}

// observedInWords is what a scheduler showed.
func observedInWords(x loop.Observed) string {
	text := fmt.Sprintf("observed revision %d:", x.Snapshot.Revision)
	for _, q := range x.Snapshot.Queued {
		text += fmt.Sprintf(" %d wait", q.Count)
		if u := q.Unlisted; u != nil {
			text += fmt.Sprintf(" (%d run, %d usable)", u.Jobs, u.Usable)
		}
	}
	for _, c := range x.Snapshot.Concerns {
		text += " " + string(c.Kind)
	}
	for _, r := range x.Snapshot.Running {
		text += fmt.Sprintf(" [%s leases %d cordoned %t]", r.Runner, r.Leases, r.Cordoned)
	}
	return text + because(x.Failure)
}

// effectInWords is an effect in one line; of anything else the name of its type.
func effectInWords(x any) string {
	switch x := x.(type) {
	case loop.Inspect:
		if len(x.Keys) > 0 {
			return fmt.Sprintf("inspect %v of %s", x.Keys, x.Provider)
		}
		return "inspect " + string(x.Provider)
	case loop.Provision:
		return fmt.Sprintf("provision %s (attempt %d)", x.Operation.ID, x.Operation.Attempts)
	case loop.ProvisionBatch:
		text := "batch " + string(x.Key) + ":"
		for _, one := range x.Members {
			text += " [" + inWords(one) + "]"
		}
		return text
	case loop.Terminate:
		return fmt.Sprintf("terminate %s of key %s", x.Resource, x.Key)
	case loop.ListOffers:
		return "list the offers of " + string(x.Market.Provider)
	case loop.Observe:
		return "observe " + string(x.Scheduler)
	case loop.CallScheduler:
		if x.Force {
			return fmt.Sprintf("tell %s %s by force", x.Kind, x.Instance)
		}
		return fmt.Sprintf("tell %s %s", x.Kind, x.Instance)
	}
	return fmt.Sprintf("%T", x)
}

func because(f *loop.Failure) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", f.Class, f.Message)
}

// causeOf is the code of what made a decision: of a scale up, what asks for so many.
func causeOf(d fleet.Decision) reason.Code {
	if up, ok := reason.As[reason.ScaleUp](d.Reason); ok {
		return up.Because.Code()
	}
	return d.Reason.Code()
}
