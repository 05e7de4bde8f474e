package simulation

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// listingCI is the scheduler: the authority on jobs and leases. It gives leases to
// admitted runners without a cordon only, when their worker asks.
type listingCI struct {
	w       *world
	address fleet.SchedulerAddress
	// once is what it has in the place of listed runners; nil: it lists them.
	once     *onceCI
	revision int64
	runners  []*ciRunner
	waiting  []*job
	jobs     []*job
	// seen is what a lagging replica shows.
	seen fleet.CapacityDemandSnapshot
	// forgotten are the runners that it was told to forget.
	forgotten []*ciRunner
	random    *rand.Rand
}

type ciRunner struct {
	name     fleet.CapacityInstanceID
	cordoned bool
	lease    *job
}

// job is one piece of work. It is done once, however often it had to begin.
type job struct {
	number int
	tenant string
	length time.Duration
	done   bool
	begun  int
	// waits is since when it does.
	waits time.Duration
}

func (s *listingCI) runner(name fleet.CapacityInstanceID) *ciRunner {
	for _, r := range s.runners {
		if r.name == name {
			return r
		}
	}
	return nil
}

// leaseOn is the job that the scheduler counts on a host for; nil: none.
func (s *listingCI) leaseOn(h *host) *job {
	if s.once != nil {
		return s.once.leaseOn(h)
	}
	if r := s.runner(h.instance); r != nil {
		return r.lease
	}
	return nil
}

// submit is a new job.
func (s *listingCI) submit(j *job) {
	s.w.say("job %d waits", j.number)
	s.jobs = append(s.jobs, j)
	j.waits = s.w.at
	s.waiting = append(s.waiting, j)
	s.revision++
}

// ask is a worker that asks for a lease; nil: there is none for it.
func (s *listingCI) ask(name fleet.CapacityInstanceID) *job {
	r := s.runner(name)
	next := slices.IndexFunc(s.waiting, func(j *job) bool { return !s.w.rules.bars(j.tenant) })
	if r == nil || r.cordoned || r.lease != nil || next < 0 {
		return nil
	}
	j := s.waiting[next]
	s.waiting = slices.Delete(slices.Clone(s.waiting), next, next+1)
	r.lease = j
	j.begun++
	s.revision++
	s.w.say("job %d is leased to %s", j.number, name)
	return j
}

// finish ends a job that a worker has run.
func (s *listingCI) finish(name fleet.CapacityInstanceID, j *job) {
	if r := s.runner(name); r != nil && r.lease == j {
		r.lease = nil
	}
	j.done = true
	s.waiting = slices.DeleteFunc(s.waiting, func(other *job) bool { return other == j })
	s.revision++
	s.w.say("job %d is done on %s", j.number, name)
}

// lose takes a lease back whose worker has not been heard of.
func (s *listingCI) lose(name fleet.CapacityInstanceID, j *job) {
	if r := s.runner(name); r != nil && r.lease == j {
		s.w.say("job %d is lost with %s", j.number, name)
		r.lease = nil
		s.again(j)
		s.revision++
	}
}

func (s *listingCI) again(j *job) {
	if !j.done && !slices.Contains(s.waiting, j) {
		j.waits = s.w.at
		s.waiting = append(s.waiting, j)
	}
}

// reset is a scheduler that restarts without its runners and leases. People
// submit again what wasn't done.
func (s *listingCI) reset(random *rand.Rand) {
	s.runners, s.waiting, s.revision = nil, nil, int64(random.IntN(3))
	if s.once != nil {
		s.once.reset()
	}
	for _, j := range s.jobs {
		s.again(j)
	}
}

// goBack is a scheduler that was restored: its revision is an earlier one, it
// knows of no cordon, and of runners again that it had been told to forget.
func (s *listingCI) goBack(random *rand.Rand) {
	if s.once != nil {
		s.once.goBack(random)
		return
	}
	s.revision = max(0, s.revision-int64(1+random.IntN(20)))
	for _, r := range s.runners {
		r.cordoned = false
	}
	for _, old := range s.forgotten[max(0, len(s.forgotten)-random.IntN(4)):] {
		if s.runner(old.name) == nil {
			s.w.say("the scheduler remembers %s", old.name)
			s.add(&ciRunner{name: old.name})
		}
	}
}

func (s *listingCI) add(r *ciRunner) {
	s.runners = append(s.runners, r)
	slices.SortFunc(s.runners, func(a, b *ciRunner) int { return cmp.Compare(a.name, b.name) })
}

// snapshot is what the scheduler shows now.
func (s *listingCI) snapshot() fleet.CapacityDemandSnapshot {
	out := fleet.CapacityDemandSnapshot{Revision: s.revision, Running: []fleet.RunningCapacityUsage{}}
	for _, tenant := range []string{"", entitledTenant, otherTenant} {
		n := 0
		for _, j := range s.waiting {
			if j.tenant == tenant {
				n++
			}
		}
		if n > 0 {
			out.Queued = append(
				out.Queued,
				fleet.QueuedDemand{Requirement: fleet.SchedulingRequirementSet{Tenant: tenant}, Count: n, Admissible: n},
			)
		}
	}
	for _, r := range s.runners {
		u := fleet.RunningCapacityUsage{Runner: fleet.SchedulerRunnerRef(r.name), Cordoned: r.cordoned}
		if r.lease != nil {
			u.Leases = 1
		}
		out.Running = append(out.Running, u)
	}
	return out
}

func (s *listingCI) delay(from, to int) time.Duration {
	return time.Duration(from+s.random.IntN(to-from)) * time.Millisecond
}

func (s *listingCI) observe(life int, e loop.Observe) {
	if s.once != nil {
		s.once.observe(life, e)
		return
	}
	asked := s.w.now()
	out := loop.Observed{Scheduler: e.Scheduler, Lists: true, Uncordons: true}
	length := s.delay(2000, 8000)
	s.w.after(length/2, func() {
		if !s.w.during(SchedulerLags, -1) || s.random.IntN(3) == 0 {
			s.seen = s.snapshot()
		}
		out.Snapshot = s.seen
		out.Snapshot.ObservedAt = asked
	})
	s.w.after(length, func() {
		if s.w.during(SchedulerDown, -1) {
			out.Snapshot, out.Failure = fleet.CapacityDemandSnapshot{}, transient("connection refused")
		}
		s.w.manager.deliver(life, out)
	})
}

func (s *listingCI) tell(life int, e loop.CallScheduler) {
	if s.once != nil {
		s.once.tell(life, e)
		return
	}
	out := loop.SchedulerAnswered{Answer: e.Answered()}
	length := s.delay(50, 2000)
	s.w.after(length/2, func() {
		if s.w.during(SchedulerDown, -1) {
			out.Failure = transient("connection refused")
			return
		}
		s.act(e, &out)
		if s.w.during(SchedulerMute, -1) && s.random.IntN(2) == 0 {
			out = loop.SchedulerAnswered{Answer: e.Answered(), Failure: transient("the answer was lost")}
		}
	})
	s.w.after(length, func() { s.w.manager.deliver(life, out) })
}

// act does what is asked.
func (s *listingCI) act(e loop.CallScheduler, out *loop.SchedulerAnswered) {
	r := s.runner(e.Instance)
	if r == nil && e.Kind != ci.Admit {
		out.Unknown = true
		return
	}
	s.revision++
	out.Revision = s.revision
	switch e.Kind {
	case ci.Admit:
		out.Ref = fleet.SchedulerRunnerRef(e.Instance)
		if r == nil {
			s.add(&ciRunner{name: e.Instance})
		}
	case ci.Cordon:
		r.cordoned = true
		if e.Force {
			s.takeBack(r)
		}
	case ci.Uncordon:
		r.cordoned = false
	case ci.Remove:
		if r.lease != nil {
			s.again(r.lease)
		}
		s.runners = slices.DeleteFunc(s.runners, func(other *ciRunner) bool { return other == r })
		s.forgotten = append(s.forgotten, r)
	}
}
