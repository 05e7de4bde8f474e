package replay

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Policy decides as planner.Plan does. Another one than Plan is there to be
// compared with it.
type Policy func(snapshot.Snapshot) planner.Output

// Settings say what is replayed, and how.
type Settings struct {
	Fleets       []fleet.ManagedFleet
	Reservations []fleet.CapacityReservation
	// Allowed is what the policy block says.
	Allowed fleet.InstallationPolicy
	// Boot is how long a host takes from its launch to its first job.
	Boot time.Duration
	// Step is the beat of the loop: the policy is asked at most once in it, and a
	// drained host is gone one later.
	Step time.Duration
	// Relaunch is how soon after a host has left a launch counts as its relaunch.
	Relaunch time.Duration
	// From and Until bound the arrivals; zero: the whole trace.
	From, Until time.Time
	// Policy decides; nil: planner.Plan.
	Policy Policy
	// Progress is called now and then with how many jobs have arrived; nil: it isn't.
	Progress func(arrived, all int)
}

// Defaults of Settings.
const (
	DefaultBoot     = 90 * time.Second
	DefaultStep     = 10 * time.Second
	DefaultRelaunch = 10 * time.Minute
)

// replay is one run.
type replay struct {
	settings    Settings
	trace       *Trace
	dimensions  dimensions
	fleets      []*fleetState
	byID        map[fleet.RunnerFleetID]*fleetState
	kinds       []*kindState
	hosts       []*host            // not yet gone, in the order of their launch
	commitments []fleet.Commitment // of hosts that have gone, as far as they are of today
	shown       []fleet.CapacityInstance

	now      int64
	events   events
	sequence int64
	// changed says that something happened that the policy hasn't seen, beat is when
	// it was asked last, and timer when its numbers change only by time; 0: never.
	changed     bool
	beat, timer int64
	asked       int

	// waiting and running count jobs, busy the hosts with one.
	waiting, running, busy int
	launches, mostHosts    int
	waits                  []time.Duration
	unplaced               []planner.UnplacedDemand
	lastEnd                int64
	series                 series
}

// stuckAfter is how long a replay continues while jobs wait and nothing happens but
// beats.
const stuckAfter = 7 * 24 * time.Hour

// Run replays the trace. The first beat is one boot time before the first job, so
// that hosts which are to be there at all times are. It ends when the last job has
// ended; hosts that are there then are billed until then.
func Run(ctx context.Context, s Settings, trace *Trace) (*Result, error) {
	if s.Policy == nil {
		s.Policy = planner.Plan
	}
	if s.Boot < 0 || s.Step <= 0 || s.Relaunch < 0 {
		return nil, fmt.Errorf(
			"replay: boot is %s, step %s, relaunch %s; none can be negative, and step is more than zero",
			s.Boot,
			s.Step,
			s.Relaunch,
		)
	}
	trace = trace.between(s.From, s.Until)
	if len(trace.Jobs) == 0 {
		return nil, fmt.Errorf("no job of the trace arrives in the time that is replayed; widen --from and --until")
	}
	r := newReplay(s, trace)
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	return r.result(), nil
}

// between is the part of a trace that arrives from one time until before another.
func (t *Trace) between(from, until time.Time) *Trace {
	first, last := 0, len(t.Jobs)
	for !from.IsZero() && first < last && t.Jobs[first].Arrival < from.UnixNano() {
		first++
	}
	for !until.IsZero() && last > first && t.Jobs[last-1].Arrival >= until.UnixNano() {
		last--
	}
	return &Trace{Kinds: t.Kinds, Jobs: t.Jobs[first:last]}
}

func newReplay(s Settings, trace *Trace) *replay {
	r := &replay{
		settings:   s,
		trace:      trace,
		dimensions: dimensionsOf(trace.Kinds),
		byID:       map[fleet.RunnerFleetID]*fleetState{},
		changed:    true,
	}
	for _, f := range s.Fleets {
		state := r.newFleet(f)
		r.fleets = append(r.fleets, state)
		r.byID[f.ID] = state
	}
	for n := range trace.Kinds {
		k := &kindState{Kind: &trace.Kinds[n], can: map[*fleetState]bool{}}
		k.need = r.dimensions.vector(k.Resources, 1)
		for _, f := range r.fleets {
			if f.Scheduler == k.Scheduler && planner.CanRun(s.Allowed, k.QueuedDemand, f.ManagedFleet).IsZero() {
				k.can[f] = true
			}
		}
		r.kinds = append(r.kinds, k)
	}
	r.waits = make([]time.Duration, 0, len(trace.Jobs))
	r.now = trace.Jobs[0].Arrival - int64(s.Boot+s.Step)
	r.beat = r.now - int64(s.Step)
	r.lastEnd = trace.Jobs[0].Arrival
	r.series = newSeries(trace.Jobs[0].Arrival)
	return r
}

// run takes one moment after the other at which something happens. At one moment
// what ends or boots goes first, then what arrives, and then the policy is asked.
func (r *replay) run(ctx context.Context) error {
	arrived, jobs := 0, r.trace.Jobs
	for steps := 0; ; steps++ {
		if steps%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if r.settings.Progress != nil {
				r.settings.Progress(arrived, len(jobs))
			}
		}
		if arrived == len(jobs) && r.running == 0 && (r.waiting == 0 || r.stuck()) {
			return nil
		}
		next, due := r.beatDue()
		if len(r.events) > 0 && (!due || r.events[0].at <= next) {
			next, due = r.events[0].at, true
		}
		if arrived < len(jobs) && (!due || jobs[arrived].Arrival <= next) {
			next, due = jobs[arrived].Arrival, true
		}
		if !due {
			return nil // jobs wait, and nothing will ever happen
		}
		r.series.upTo(next, r.waiting, len(r.hosts), r.busy)
		r.now = next
		switch {
		case len(r.events) > 0 && r.events[0].at == next:
			r.happen(heap.Pop(&r.events).(event))
		case arrived < len(jobs) && jobs[arrived].Arrival == next:
			r.arrive(arrived)
			arrived++
		default:
			r.ask()
			continue
		}
		r.changed = true
	}
}

// stuck says that for a long time no job has ended and none runs: those that wait
// never get a host.
func (r *replay) stuck() bool {
	last := max(r.lastEnd, r.trace.Jobs[len(r.trace.Jobs)-1].Arrival)
	return r.now-last > int64(stuckAfter)
}

// beatDue is the beat at which the policy is asked next; false: nothing asks for
// one.
func (r *replay) beatDue() (int64, bool) {
	want := r.timer
	switch {
	case r.changed:
		want = r.now
	case want == 0:
		return 0, false
	}
	step := int64(r.settings.Step)
	beats := max(1, (max(want, r.now)-r.beat+step-1)/step)
	return r.beat + beats*step, true
}

// ask asks the policy, and does what it says.
func (r *replay) ask() {
	r.beat, r.changed, r.timer = r.now, false, 0
	r.asked++
	out := r.settings.Policy(r.snapshot())
	r.unplaced = out.Unplaced
	for _, p := range out.Fleets {
		f := r.byID[p.Fleet]
		if p.Create > 0 {
			f.scaled = at(r.now)
		}
		for range p.Create {
			r.launch(f, p.CreateReason)
		}
		for _, a := range p.Actions {
			r.act(f, a)
		}
		r.changed = r.changed || p.Create > 0 || len(p.Actions) > 0
		if next := p.Next; next.After(at(r.now)) && (r.timer == 0 || next.UnixNano() < r.timer) {
			r.timer = next.UnixNano()
		}
	}
}

// act carries out one action on one host.
func (r *replay) act(f *fleetState, a planner.Action) {
	for _, h := range r.hosts {
		if h.ID != a.Instance {
			continue
		}
		switch a.Kind {
		case planner.Cancel, planner.Withdraw:
			r.end(h)
		case planner.Drain:
			f.scaled = at(r.now)
			r.become(h, fleet.Draining, a.Cause)
			r.leaveWhenIdle(h)
		case planner.Reactivate:
			r.become(h, fleet.Healthy, lifecycle.DemandBack)
			r.fill(h)
		}
		return
	}
}

// at is a time of the replay as the planner takes it.
func at(nanoseconds int64) time.Time { return time.Unix(0, nanoseconds).UTC() }

// event is something that happens to a host.
type event struct {
	at   int64
	kind eventKind
	host *host
	need []int64
	// sequence orders what happens at the same time.
	sequence int64
}

type eventKind int

const (
	booted eventKind = iota
	ended
	left
)

func (r *replay) happens(e event) {
	r.sequence++
	e.sequence = r.sequence
	heap.Push(&r.events, e)
}

func (r *replay) happen(e event) {
	switch e.kind {
	case booted:
		r.boot(e.host)
	case ended:
		r.finish(e.host, e.need)
	case left:
		r.leave(e.host)
	}
}

// events is a heap by time.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(a, b int) bool {
	return e[a].at < e[b].at || e[a].at == e[b].at && e[a].sequence < e[b].sequence
}
func (e events) Swap(a, b int) { e[a], e[b] = e[b], e[a] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
