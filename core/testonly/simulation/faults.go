package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// FaultKind names something that goes wrong, or that people do meanwhile.
type FaultKind string

// The kinds of fault. Those with a length last for it; the others strike once.
const (
	LostAnswers        FaultKind = "lost answers"        // the provider acts, and its answer is lost
	LateAnswers        FaultKind = "late answers"        // the deadline of a call passes while it runs
	Throttled          FaultKind = "throttled"           // RATE_LIMIT with a time to wait
	QuotaUsedUp        FaultKind = "quota used up"       // QUOTA
	NoCapacity         FaultKind = "no capacity"         // CAPACITY
	ZoneShortage       FaultKind = "zone shortage"       // CAPACITY or QUOTA of a zone or a machine type
	MarketSilent       FaultKind = "market silent"       // offers can't be listed
	FailingLists       FaultKind = "failing lists"       // a page of the list fails
	PartialLists       FaultKind = "partial lists"       // the list ends early and says so
	RegionOutage       FaultKind = "region outage"       // every call fails
	StuckBoots         FaultKind = "stuck boots"         // hosts hang, or never enroll
	ReclaimOne         FaultKind = "one reclaimed"       // the provider takes a host
	ReclaimAll         FaultKind = "mass reclaim"        // the provider takes most of them
	CopyByHand         FaultKind = "copy by hand"        // "launch more like this" copies the key
	ForeignThing       FaultKind = "foreign resource"    // somebody else's, or with a wrong proof
	PluginCrash        FaultKind = "plugin crash"        // its calls are over, with unknown outcomes
	ManagerCrash       FaultKind = "manager crash"       // at any point of a step
	CommitsFail        FaultKind = "commits fail"        // nothing is stored
	CommitUnsure       FaultKind = "commit unsure"       // stored, and the answer is lost
	ClockJump          FaultKind = "clock jump"          // the manager's clock is set
	ManagerUnreachable FaultKind = "manager unreachable" // no heartbeat reaches it
	SchedulerDown      FaultKind = "scheduler down"      // it answers nothing
	SchedulerLags      FaultKind = "scheduler lags"      // it shows an older revision
	SchedulerMute      FaultKind = "scheduler mute"      // it acts, and its answer is lost
	SchedulerReset     FaultKind = "scheduler reset"     // it forgets every runner and lease
	// restored: its revision goes back, cordons are lost, the forgotten are back
	SchedulerBack FaultKind = "scheduler back"
	Partition     FaultKind = "partition"     // an agent can't reach the manager
	AgentDies     FaultKind = "agent dies"    // its host continues without it
	AgentLeaves   FaultKind = "agent leaves"  // it ends by itself
	AgentUnfit    FaultKind = "agent unfit"   // it complains for a while
	Resize        FaultKind = "resize"        // the file asks for another minimum
	Rollout       FaultKind = "rollout"       // the file asks for another instance body
	AgentLies     FaultKind = "agent lies"    // what it says isn't so
	PersonOrders  FaultKind = "person orders" // drain, give up, replace, resolve or adopt
	VolumesStay   FaultKind = "volumes stay"  // what belonged to a machine outlives it
	HostJoins     FaultKind = "host joins"    // a person joins a host, or means to
	HostReleased  FaultKind = "host released" // a person takes a host out of the file
)

// lasting are the kinds with a length.
var lasting = map[FaultKind]bool{
	LostAnswers:        true,
	LateAnswers:        true,
	Throttled:          true,
	QuotaUsedUp:        true,
	NoCapacity:         true,
	FailingLists:       true,
	PartialLists:       true,
	RegionOutage:       true,
	StuckBoots:         true,
	CommitsFail:        true,
	ManagerUnreachable: true,
	SchedulerDown:      true,
	SchedulerLags:      true,
	SchedulerMute:      true,
	Partition:          true,
	AgentUnfit:         true,
	AgentLies:          true,
	VolumesStay:        true,
	ZoneShortage:       true,
	MarketSilent:       true,
}

var kinds = []FaultKind{
	LostAnswers, LateAnswers, Throttled, QuotaUsedUp, NoCapacity, FailingLists, PartialLists, RegionOutage, StuckBoots,
	ReclaimOne, ReclaimAll, CopyByHand, ForeignThing, PluginCrash, ManagerCrash, CommitsFail, CommitUnsure, ClockJump,
	ManagerUnreachable, SchedulerDown, SchedulerLags, SchedulerMute, SchedulerReset, SchedulerBack, Partition, AgentDies,
	AgentLeaves, AgentUnfit, Resize, Rollout, AgentLies, PersonOrders, VolumesStay, HostJoins, HostReleased,
	ZoneShortage, MarketSilent,
}

// Fault is one thing that goes wrong. Its number names it in a replay.
type Fault struct {
	Number int
	Kind   FaultKind
	At     time.Duration
	For    time.Duration
	// Provider is whose it is, where it is about a provider.
	Provider int
	// Draw decides the rest of it: which host, which way.
	Draw uint64
}

func (f Fault) String() string {
	text := fmt.Sprintf("%d: %s at %s", f.Number, f.Kind, f.At)
	if f.For > 0 {
		text += " for " + f.For.String()
	}
	return text
}

// The length of a run: faults strike and jobs come within chaos; after it there
// is peace, in which everything must settle.
const (
	chaos = 5 * time.Minute
	peace = 90 * time.Minute
)

// faultsOf draws the faults of a seed.
func faultsOf(seed uint64) []Fault {
	random := rand.New(rand.NewPCG(seed, 1))
	faults := make([]Fault, 3+random.IntN(10))
	// A run has a few kinds and several of each, so that they meet.
	some := make([]FaultKind, 2+random.IntN(5))
	for n := range some {
		some[n] = kinds[random.IntN(len(kinds))]
	}
	for n := range faults {
		f := Fault{
			Kind:     some[random.IntN(len(some))],
			At:       time.Duration(random.Int64N(int64(chaos))).Truncate(time.Millisecond),
			Provider: random.IntN(2),
			Draw:     random.Uint64(),
		}
		length := 10*time.Second + time.Duration(random.Int64N(int64(150*time.Second))).Truncate(time.Millisecond)
		if lasting[f.Kind] {
			f.For = min(length, chaos-f.At)
		}
		if f.Kind == Partition {
			f.For += 2 * time.Minute // longer than it takes to give a runner up
		}
		faults[n] = f
	}
	_, images := rolloutsOf(seed)
	faults = append(append(faults, noticesOf(seed)...), images...)
	slices.SortStableFunc(faults, func(a, b Fault) int { return int(a.At - b.At) })
	for n := range faults {
		faults[n].Number = n
	}
	return faults
}

// during says whether a fault of the kind lasts now; provider -1: any.
func (w *world) during(kind FaultKind, provider int) bool {
	for _, f := range w.faults {
		if f.Kind == kind && (provider < 0 || f.Provider == provider) && f.At <= w.at && w.at < f.At+f.For {
			return true
		}
	}
	return false
}

// strike lets a fault happen.
func (w *world) strike(f Fault) {
	w.say("FAULT %s", f)
	random := rand.New(rand.NewPCG(f.Draw, 2))
	c := w.clouds[f.Provider]
	switch f.Kind {
	case ReclaimOne:
		c.reclaim(random, 1)
	case ReclaimAll:
		c.reclaim(random, len(c.resources))
	case CopyByHand:
		c.copyByHand(random)
	case ForeignThing:
		c.addForeign(random)
	case PluginCrash:
		c.crash(random)
	case ManagerCrash:
		w.manager.armCrash(random)
	case CommitUnsure:
		w.store.unsure = true
	case ClockJump:
		jump := time.Duration(2+random.IntN(20)) * time.Minute
		if random.IntN(2) == 0 {
			jump = time.Duration(1+random.IntN(59_999)) * time.Millisecond
		}
		if random.IntN(2) == 0 {
			jump = -jump
		}
		w.skew += jump
		w.say("the manager's clock is set by %s", jump)
		if w.manager.alive {
			w.manager.inbox = append(w.manager.inbox, loop.ClockSet{By: jump})
		}
		w.manager.stepSoon(0)
	case SchedulerReset:
		w.ci.reset(random)
	case SchedulerBack:
		w.ci.goBack(random)
	case PersonOrders:
		w.give(c, random)
	case HostJoins:
		w.joinHost(random)
	case HostReleased:
		w.releaseHost(random)
	case Partition, AgentDies, AgentLeaves, AgentUnfit, AgentLies:
		w.strikeAgent(f, random)
	case Resize, Rollout:
		w.changeFile(f.Kind, random)
	case NewImage, BrokenImage, ImageOrder:
		w.strikeImage(f, random)
	default:
		if slices.Contains(noticeKinds, f.Kind) {
			w.announce(f, random)
		}
	}
}

func (w *world) strikeAgent(f Fault, random *rand.Rand) {
	var candidates []*host
	for _, h := range w.hosts {
		if h.alive() && h.enrolled {
			candidates = append(candidates, h)
		}
	}
	if len(candidates) == 0 {
		return
	}
	h := candidates[random.IntN(len(candidates))]
	w.say("%s: %s", f.Kind, h.instance)
	switch f.Kind {
	case Partition:
		h.cutOff = f.At + f.For
	case AgentUnfit:
		h.unfit = f.At + f.For
	case AgentDies:
		h.die()
	case AgentLeaves:
		h.leaving = true
	case AgentLies:
		h.beginsToLie(f, random)
	}
}

func (w *world) changeFile(kind FaultKind, random *rand.Rand) {
	f := &w.store.fleets[random.IntN(2)] // not what people joined
	f.Serial++
	if kind == Resize {
		f.Scaling.Min = random.IntN(w.rules.most(*f) + 1)
		w.payForMin(f)
		w.say("%s: min = %d", f.Address, f.Scaling.Min)
	} else {
		f.Immutable = fmt.Appendf(nil, `{"body":%d}`, f.Serial)
		w.say("%s: another instance body", f.Address)
	}
	w.manager.stepSoon(0)
}
