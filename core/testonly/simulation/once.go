package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// onceAddress is a scheduler of the type "reviewos".
const onceAddress = fleet.SchedulerAddress("reviewos.ci")

// The queues of such a scheduler. The first is mapped to the class of the fleets for
// jobs, the second to none.
const (
	mappedQueue   = "linux"
	unmappedQueue = "elsewhere"
)

// onceCI is what a scheduler like ReviewOS has in the place of a list of runners. Each
// admission makes a new runner, whose credential is in that one answer; it tells sums
// alone; a runner that was stopped gets no job any more, hears that when it asks, and
// ends by itself.
//
// It is independent of testonly/standin, which speaks ReviewOS's HTTP for the client in
// core/scheduler/reviewos: this one takes the loop's effects, in virtual time, and knows
// the truth for the invariants.
type onceCI struct {
	*listingCI
	runners []*onceRunner
	// made counts all runners and numbers them, asked those of each instance.
	made  int
	asked map[fleet.CapacityInstanceID]int
	// shown is what a cache of its shows, trends how that went.
	shown  sums
	trends trends
}

// onceRunner is one runner. Its credential is good for this one alone.
type onceRunner struct {
	number   int
	name     string
	instance fleet.CapacityInstanceID
	stopping bool
	// asks says that a process has ever used its credential, seen when it last did
	// so, and host where it was.
	asks  bool
	seen  time.Duration
	host  *host
	lease *job
}

// lostAfter is how long a runner is silent before it is called lost.
const lostAfter = time.Minute

// drawScheduler makes the scheduler of some worlds one that lists no runners and takes
// no stop back.
func (w *world) drawScheduler(random *rand.Rand) {
	if random.IntN(5) > 0 {
		return
	}
	w.ci.address = onceAddress
	w.ci.once = &onceCI{listingCI: w.ci, asked: map[fleet.CapacityInstanceID]int{}}
	jobs := &w.store.fleets[0]
	jobs.Scheduler, jobs.Runner.MaxJobs = onceAddress, max(0, random.IntN(5)-2)
}

func (s *onceCI) byNumber(ref fleet.SchedulerRunnerRef) *onceRunner {
	number, err := strconv.Atoi(string(ref))
	for _, r := range s.runners {
		if err == nil && r.number == number {
			return r
		}
	}
	return nil
}

// leaseOn is the job that the scheduler counts on a host's process for; nil: none.
func (s *onceCI) leaseOn(h *host) *job {
	if h.process == nil {
		return nil
	}
	if r := s.byNumber(h.process.credential); r != nil {
		return r.lease
	}
	return nil
}

// answer is what a runner's process hears when it asks.
type answer struct {
	job  *job
	stop bool
	// refused says that its credential is unknown.
	refused bool
}

// ask is a process that says what it has finished, if anything, and asks for more.
func (s *onceCI) ask(h *host, credential fleet.SchedulerRunnerRef, finished *job) answer {
	r := s.byNumber(credential)
	if r == nil {
		return answer{refused: true}
	}
	s.credentialsStayOnTheirHost(r, h)
	r.asks, r.seen, r.host = true, s.w.at, h
	if finished != nil && r.lease == finished {
		r.lease, finished.done = nil, true
		s.w.say("job %d is done on %s", finished.number, r.name)
	}
	if r.lease != nil || r.stopping {
		return answer{job: r.lease, stop: r.stopping}
	}
	next := slices.IndexFunc(s.waiting, func(j *job) bool { return !s.w.rules.bars(j.tenant) })
	if next < 0 {
		return answer{}
	}
	s.stoppedGetNoJob(r)
	j := s.waiting[next]
	s.waiting = slices.Delete(slices.Clone(s.waiting), next, next+1)
	r.lease = j
	j.begun++
	s.w.say("job %d is leased to %s", j.number, r.name)
	return answer{job: j}
}

// lose takes back the job of a runner whose process is no more.
func (s *onceCI) lose(credential fleet.SchedulerRunnerRef) {
	if r := s.byNumber(credential); r != nil && r.lease != nil {
		s.w.say("job %d is lost with %s", r.lease.number, r.name)
		s.again(r.lease)
		r.lease = nil
	}
}

// act does what the manager asks for. Of an admission it returns what the runner's
// process is given, which is in no other answer.
func (s *onceCI) act(e loop.CallScheduler, out *loop.SchedulerAnswered) *connection {
	if e.Kind == ci.Admit {
		return s.admit(e, out)
	}
	s.nothingTakesAStopBack(e)
	r := s.byNumber(e.Known.Ref)
	if r == nil {
		out.Unknown = e.Kind != ci.Remove // one that is to go and isn't there is gone
		return nil
	}
	if !r.stopping {
		s.w.say("%s (%d) is told to stop", r.name, r.number)
	}
	r.stopping = true
	if e.Force && r.lease != nil {
		s.w.say("job %d is taken back from %s", r.lease.number, r.name)
		s.again(r.lease)
		r.lease = nil
	}
	return nil
}

// admit makes a runner, whose name no other may have.
func (s *onceCI) admit(e loop.CallScheduler, out *loop.SchedulerAnswered) *connection {
	name := string(e.Instance)
	if e.Runner.Attempt > 1 {
		name = fmt.Sprintf("%s-%d", name, e.Runner.Attempt)
	}
	s.admissionsAreCounted(e, name)
	s.made++
	s.runners = append(s.runners, &onceRunner{number: s.made, name: name, instance: e.Instance})
	s.w.say("the runner %s (%d) is made", name, s.made)
	out.Ref = fleet.SchedulerRunnerRef(strconv.Itoa(s.made))
	return &connection{credential: out.Ref, jobs: e.Runner.MaxJobs, idle: e.Runner.IdleTimeout}
}

// tell is an admission or a stop. Where it can't be reached nothing was sent, for
// certain; what it acted on may stay without an answer, and a manager that has died
// has none.
func (s *onceCI) tell(life int, e loop.CallScheduler) {
	out := loop.SchedulerAnswered{Answer: e.Answered()}
	var gives *connection
	length := s.delay(50, 2000)
	s.w.after(length/2, func() {
		if s.w.during(SchedulerDown, -1) {
			out.Failure, out.NotDone = transient("connection refused"), true
			return
		}
		gives = s.act(e, &out)
		if s.w.during(SchedulerMute, -1) && s.random.IntN(2) == 0 {
			gives, out = nil, loop.SchedulerAnswered{Answer: e.Answered(), Failure: transient("the answer was lost")}
		}
	})
	s.w.after(length, func() {
		if m := s.w.manager; gives != nil && m.alive && life == m.life {
			m.connections[e.Instance] = *gives
		}
		s.w.manager.deliver(life, out)
	})
}

// reset is a scheduler that knows no runner any more. Numbers aren't given again.
func (s *onceCI) reset() { s.runners = nil }

// goBack is a scheduler that was restored: it doesn't know the newest runners and some
// stops. Nothing that it says shows that.
func (s *onceCI) goBack(random *rand.Rand) {
	kept := max(0, len(s.runners)-random.IntN(3))
	for _, r := range s.runners[kept:] {
		s.w.say("the scheduler has forgotten %s", r.name)
		if r.lease != nil {
			s.again(r.lease)
		}
	}
	s.runners = s.runners[:kept:kept]
	for _, r := range s.runners {
		r.stopping = r.stopping && random.IntN(2) == 0
	}
}
