package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
)

const (
	installation = "simulated"
	agentVersion = "0.1.0"
	ciAddress    = fleet.SchedulerAddress("forgeyard.ci")
)

// beginning is when every run begins, by the clock on the wall.
var beginning = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is one run.
type world struct {
	options Options
	agenda  agenda
	// at is true time since the beginning, skew what the manager's clock is off.
	at, skew time.Duration
	faults   []Fault
	store    *memoryStore
	manager  *manager
	clouds   []*cloud
	ci       *listingCI
	hosts    []*host
	people   people
	// ahead is how many instances schedules and forecasts may ask for.
	ahead int
	rules rules
	costs costs
	// images counts the images that files have asked for; broken are the digests of
	// those whose hosts never enroll.
	images     int
	broken     []string
	hostRandom *rand.Rand
	keys       ownership.Keyring
	// calm says that no fault strikes any more, settled that all is as it should
	// be.
	calm, settled bool
	failure       *Failure
	log           []byte
}

// newWorld draws a world from a seed. Each part of it draws from a source of its
// own, so that a fault that is left out changes as little as may be.
func newWorld(o Options) *world {
	source := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(o.Seed, n)) }
	w := &world{options: o, hostRandom: source(3), people: newPeople()}
	for _, f := range faultsOf(o.Seed) {
		if o.Only == nil || slices.Contains(o.Only, f.Number) {
			w.faults = append(w.faults, f)
		}
	}
	secret := make([]byte, ownership.KeyBytes)
	w.keys, _ = ownership.NewKeyring(secret)
	w.store = newMemoryStore(w)
	w.manager = &manager{w: w, random: source(4)}
	w.ci = &listingCI{w: w, address: ciAddress, random: source(5)}
	random := source(6)
	w.drawFleets(random)
	w.drawScheduler(source(36))
	w.ahead = w.drawAhead(source(31))
	w.drawCosts(source(32))
	for n, facts := range []fleet.ProviderFacts{
		{Plugin: "east", Account: "1", Idempotency: fleet.IdempotencyByTag, Ownership: fleet.OwnershipSigned,
			ListSettle: 20 * time.Second},
		{Plugin: "west", Account: "2", Idempotency: fleet.IdempotencyNative, Ownership: fleet.OwnershipNamed,
			ListSettle: time.Duration(random.IntN(2)) * 5 * time.Second},
	} {
		w.clouds = append(
			w.clouds,
			&cloud{
				w:        w,
				number:   n,
				facts:    facts,
				address:  w.store.fleets[n].Provider,
				random:   source(10 + uint64(n)),
				looks:    map[time.Time]look{},
				lastCall: map[fleet.OperationID]time.Duration{},
				batches:  map[fleet.OperationID]string{},
			},
		)
	}
	policies, _ := rolloutsOf(o.Seed)
	w.giveImages(policies)
	w.drawBatches(source(34))
	w.drawPace(source(38))
	w.drawInventory(source(7))
	w.drawRules(source(33))
	for n := range 3 + random.IntN(12) {
		j := &job{number: n, tenant: w.rules.owner(), length: time.Duration(10+random.IntN(100)) * time.Second}
		if random.IntN(2) == 0 {
			j.length *= 3
		}
		w.agenda.add(time.Duration(random.Int64N(int64(chaos))), func() { w.ci.submit(j) })
	}
	return w
}

// drawFleets makes the two fleets whose hosts are made: one follows a scheduler,
// one has a fixed size.
func (w *world) drawFleets(random *rand.Rand) {
	class := fleet.CapacityClass{
		Name:      "linux",
		Platform:  fleet.Platform{OS: "linux", Arch: "x86_64"},
		Trust:     "standard",
		Resources: fleet.ResourceCapacity{Slots: 1},
	}
	timeouts := fleet.Timeouts{
		Provision:  2 * time.Minute,
		Boot:       90 * time.Second,
		Enroll:     time.Minute,
		Heartbeat:  30 * time.Second,
		Drain:      2 * time.Minute,
		Terminate:  2 * time.Minute,
		Quarantine: time.Minute,
		LostGrace:  time.Minute,
		MaxOffline: time.Hour,
	}
	common := fleet.RunnerFleet{
		Class:     class,
		Instance:  json.RawMessage(`{}`),
		Timeouts:  timeouts,
		Admission: fleet.AdmissionPolicy{JobIsolation: fleet.JobIsolationNone},
		Lifetime:  fleet.LifetimeStable,
	}
	jobs, fixed := common, common
	jobs.Address, jobs.Provider, jobs.Scheduler = "fleet.jobs", "east.here", ciAddress
	jobs.Market, jobs.Class.Name = true, premium
	jobs.Scaling = fleet.ScalingPolicy{Min: random.IntN(2), Max: 2 + random.IntN(4),
		ScaleDown: fleet.ScaleDownPolicy{IdleGrace: 20 * time.Second, Cooldown: 5 * time.Second}}
	fixed.Address, fixed.Provider = "fleet.fixed", "west.here"
	fixed.Class.Capabilities = []string{"kvm"}
	fixed.Scaling = fleet.ScalingPolicy{Min: random.IntN(4), Max: 3}
	w.store.fleets = []fleet.ManagedFleet{
		{ID: "f1", RunnerFleet: jobs, Operational: fleet.FleetActive, Serial: 1},
		{ID: "f2", RunnerFleet: fixed, Operational: fleet.FleetActive, Serial: 1},
	}
}

// now is what the manager's clock shows.
func (w *world) now() time.Time { return beginning.Add(w.at + w.skew) }

// after puts something onto the agenda.
func (w *world) after(d time.Duration, do func()) { w.agenda.add(w.at+max(0, d), do) }

// run lets everything happen in its order.
func (w *world) run() {
	for _, f := range w.faults {
		w.agenda.add(f.At, func() { w.strike(f) })
	}
	w.agenda.add(0, w.manager.start)
	w.agenda.add(chaos, w.makePeace)
	for w.failure == nil && !w.settled {
		next, any := w.agenda.next()
		if !any || next.at > chaos+peace {
			w.checkEnd()
			return
		}
		w.at = next.at
		next.do()
	}
	if w.failure == nil {
		w.checkEffort()
	}
}

// makePeace ends the faults. A person tidies up once the rest has had time.
func (w *world) makePeace() {
	w.say("PEACE: no fault strikes any more")
	w.calm = true
	w.store.unsure = false
	for _, h := range w.hosts {
		h.unfit = 0
	}
	if w.manager.alive {
		w.manager.crash = noCrash
	}
	w.after(time.Minute, w.lookAfterRollouts)
	w.after(3*time.Minute, func() {
		for _, c := range w.clouds {
			c.tidy()
		}
	})
}

// scheduled says whether an instance's fleet follows the scheduler.
func (w *world) scheduled(id fleet.CapacityInstanceID) bool {
	return w.store.fleet(id).Scheduler != ""
}

// say writes a line of the log.
func (w *world) say(format string, args ...any) {
	w.log = fmt.Appendf(w.log, "%9.3fs  ", w.at.Seconds())
	w.log = fmt.Appendf(w.log, format, args...)
	w.log = append(w.log, '\n')
}

// fail ends the run: an invariant doesn't hold.
func (w *world) fail(invariant, format string, args ...any) {
	if w.failure != nil {
		return
	}
	w.failure = &Failure{Invariant: invariant, Detail: fmt.Sprintf(format, args...), At: w.at}
	w.say("BROKEN %s: %s", invariant, w.failure.Detail)
}
