package loop

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

const queueCI = fleet.SchedulerAddress("forgeyard.ci")

// simpleScheduler keeps its word: what it acknowledged is so in every later look. The
// simulation's schedulers are models with jobs and faults; this one has what a test sets.
type simpleScheduler struct {
	revision int64
	runners  map[fleet.CapacityInstanceID]*fleet.RunningCapacityUsage
	waiting  int
	// down is why it doesn't answer; "": it does.
	down string
	// keeps says that it keeps listing what it was told to forget.
	keeps bool
	// stuck says that its revision stays what it is, and that it lists no one.
	stuck bool
	looks int
	// told is every call in words.
	told []string
}

func newSimpleScheduler() *simpleScheduler {
	return &simpleScheduler{runners: map[fleet.CapacityInstanceID]*fleet.RunningCapacityUsage{}}
}

// run carries out an effect on the scheduler; nil: it isn't one.
func (s *simpleScheduler) run(w *world, e Effect) Event {
	switch e := e.(type) {
	case Observe:
		return s.look(w.now)
	case CallScheduler:
		return s.tell(e)
	}
	return nil
}

// look is what the scheduler shows now.
func (s *simpleScheduler) look(now time.Time) Observed {
	s.looks++
	o := Observed{Scheduler: queueCI, Lists: true, Uncordons: true}
	if s.down != "" {
		o.Failure = &Failure{Class: fleet.ErrorTransient, Message: s.down}
		return o
	}
	o.Snapshot = fleet.CapacityDemandSnapshot{
		Revision:   s.revision,
		ObservedAt: now,
		Running:    []fleet.RunningCapacityUsage{},
	}
	if s.waiting > 0 {
		o.Snapshot.Queued = []fleet.QueuedDemand{{Count: s.waiting, Admissible: s.waiting}}
	}
	for _, id := range slices.Sorted(maps.Keys(s.runners)) {
		if s.stuck {
			break
		}
		o.Snapshot.Running = append(o.Snapshot.Running, *s.runners[id])
	}
	return o
}

func (s *simpleScheduler) tell(e CallScheduler) SchedulerAnswered {
	told := SchedulerAnswered{Answer: e.Answered()}
	if s.down != "" {
		told.Failure = &Failure{Class: fleet.ErrorTransient, Message: s.down}
		return told
	}
	words := fmt.Sprintf("%s %s", e.Kind, e.Instance)
	switch {
	case e.Kind == ci.Remove:
		words += " " + string(e.Reason)
	case e.Force:
		words = fmt.Sprintf("%s by force %s", e.Kind, e.Instance)
	}
	s.told = append(s.told, words)
	runner, known := s.runners[e.Instance]
	if e.Kind != ci.Admit && !known {
		told.Unknown = true
		return told
	}
	if !s.stuck {
		s.revision++
	}
	told.Revision = s.revision
	switch e.Kind {
	case ci.Admit:
		if !known {
			s.runners[e.Instance] = &fleet.RunningCapacityUsage{Runner: fleet.SchedulerRunnerRef(e.Instance)}
		}
		told.Ref = fleet.SchedulerRunnerRef(e.Instance)
	case ci.Cordon:
		runner.Cordoned = true
		if e.Force {
			runner.Leases = 0
		}
	case ci.Uncordon:
		runner.Cordoned = false
	case ci.Remove:
		if !s.keeps {
			delete(s.runners, e.Instance)
		}
	}
	return told
}

// lease gives a runner a job, as only an uncordoned one gets.
func (s *simpleScheduler) lease(id fleet.CapacityInstanceID, jobs int) {
	s.revision++
	s.runners[id].Leases = jobs
}

func ciFleet(min, max int) fleet.ManagedFleet {
	f := demoFleet(min, max)
	f.Scheduler = queueCI
	f.Class.Resources.Slots = 1
	f.Scaling.ScaleDown = fleet.ScaleDownPolicy{IdleGrace: time.Minute, Cooldown: time.Second}
	return f
}

// goOn lets everything run as it should for a while.
func (w *world) goOn(d time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.tick(end.Sub(w.now))
	}
}

// tick carries out what waits and makes one step, or lets time pass until one is
// due, at most so long.
func (w *world) tick(most time.Duration) {
	w.t.Helper()
	if len(w.effects) == 0 {
		w.now = w.now.Add(max(time.Millisecond, min(w.last.Wake.Sub(w.now), most)))
	}
	var events []Event
	for _, e := range w.effects {
		events = append(events, w.run(e))
	}
	w.effects = nil
	w.all()
	w.step(events...)
}
