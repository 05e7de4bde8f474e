package simulation

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// sums are all that a scheduler like ReviewOS says of its mapped queue, and how many
// jobs wait in the other one.
type sums struct {
	waiting, running, elsewhere int
	usable, lost, neverSeen     int
	oldest                      time.Duration
}

// count is what it would say now.
func (s *onceCI) count() (now sums) {
	for _, j := range s.waiting {
		if s.w.rules.bars(j.tenant) {
			now.elsewhere++
			continue
		}
		now.waiting++
		now.oldest = max(now.oldest, s.w.at-j.waits)
	}
	for _, r := range s.runners {
		if r.lease != nil {
			now.running++
		}
		switch {
		case r.stopping:
		case !r.asks:
			now.neverSeen++
		case s.w.at-r.seen > lostAfter:
			now.lost++
		default:
			now.usable++
		}
	}
	return now
}

// trends are how numbers went that one process of the manager has seen: its client
// tells which of them rise.
type trends struct {
	life            int
	lost, neverSeen trend
}

// trend is what a number was, and when it last rose; known: there is one.
type trend struct {
	known bool
	value int
	rose  time.Time
}

// risingFor is how long a number that rose counts as rising.
const risingFor = 15 * time.Minute

// takes takes in a value and says whether it has risen lately.
func (t *trend) takes(value int, now time.Time) bool {
	if t.known && value > t.value {
		t.rose = now
	}
	if value == 0 || t.rose.After(now) {
		t.rose = time.Time{}
	}
	t.known, t.value = true, value
	return !t.rose.IsZero() && now.Sub(t.rose) < risingFor
}

// observe is a look at the sums. A mapped queue has its group at zero, too.
func (s *onceCI) observe(life int, e loop.Observe) {
	asked := s.w.now()
	out := loop.Observed{Scheduler: e.Scheduler}
	length := s.delay(500, 8000)
	var seen sums
	s.w.after(length/2, func() {
		if !s.w.during(SchedulerLags, -1) || s.random.IntN(3) == 0 {
			s.shown = s.count()
		}
		seen = s.shown
	})
	s.w.after(length, func() {
		if s.w.during(SchedulerDown, -1) {
			out.Failure = transient("connection refused")
		} else {
			out.Snapshot = s.snapshot(seen)
			out.Snapshot.ObservedAt, out.Snapshot.Concerns = asked, s.concerns(life, seen, asked)
		}
		s.w.manager.deliver(life, out)
	})
}

func (s *onceCI) snapshot(of sums) fleet.CapacityDemandSnapshot {
	class := s.w.store.fleets[0].Class
	mapped := fleet.QueuedDemand{
		Requirement: fleet.SchedulingRequirementSet{
			Queue: mappedQueue,
			Class: class.Name,
			OS:    class.Platform.OS,
			Arch:  class.Platform.Arch,
			Trust: class.Trust,
		},
		Count:      of.waiting,
		Admissible: of.waiting,
		OldestWait: of.oldest,
		Unlisted:   &fleet.UnlistedUsage{Jobs: of.running, Usable: of.usable},
	}
	if len(s.w.rules.policy.Entitlements) > 0 {
		mapped.Requirement.Tenant = entitledTenant // a queue is one tenant's
	}
	out := fleet.CapacityDemandSnapshot{Queued: []fleet.QueuedDemand{mapped}}
	if n := of.elsewhere; n > 0 {
		out.Queued = append(
			out.Queued,
			fleet.QueuedDemand{Requirement: fleet.SchedulingRequirementSet{Queue: unmappedQueue}, Count: n, Admissible: n},
		)
	}
	return out
}

// concerns are what the client of one process of the manager finds amiss.
func (s *onceCI) concerns(life int, of sums, now time.Time) (out []fleet.DemandConcern) {
	if life != s.w.manager.life {
		return nil // for no runner
	}
	if s.trends.life != life {
		s.trends = trends{life: life}
	}
	class := s.w.store.fleets[0].Class.Name
	if s.trends.lost.takes(of.lost, now) {
		out = append(
			out,
			fleet.DemandConcern{
				Kind:     fleet.RunnersLost,
				Class:    class,
				Sentence: fmt.Sprintf("More and more runners are lost: %d.", of.lost),
			},
		)
	}
	if s.trends.neverSeen.takes(of.neverSeen, now) && of.neverSeen > 1 {
		out = append(
			out,
			fleet.DemandConcern{
				Kind:     fleet.RunnersNeverSeen,
				Class:    class,
				Sentence: fmt.Sprintf("More and more runners never come: %d.", of.neverSeen),
			},
		)
	}
	return out
}
