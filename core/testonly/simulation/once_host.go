package simulation

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// connection is what an admission gave for a runner's process. The manager's process
// has it in memory alone, and an agent as long as it is told of it.
type connection struct {
	credential fleet.SchedulerRunnerRef
	// jobs is after how many jobs the process ends, idle after how long without one;
	// 0: for that it doesn't.
	jobs int
	idle time.Duration
}

// process is the worker of a scheduler that tells it itself when to end.
type process struct {
	connection
	begun, rested time.Duration
	// lease is the job that it runs until ends, or has finished and not yet said so.
	lease *job
	ends  time.Duration
	did   int
}

// agent is what an agent knows of such processes: what it was told to run, how many
// of them have begun, after how many it leaves, and when the next may begin.
type agent struct {
	told      *connection
	begun     int
	most      int
	notBefore time.Duration
	failed    int
}

// failedAtOnce is how soon a process must end for the next to be held back.
const failedAtOnce = 10 * time.Second

// over is how many processes have ended.
func (h *host) over() int {
	if h.process != nil {
		return h.agent.begun - 1
	}
	return h.agent.begun
}

// runs says that a process of a job, or of a worker, is there.
func (h *host) runs() bool { return h.busy || h.process != nil }

// working says that a job runs on it: with a process of its own, or by one that asks
// for jobs.
func (h *host) working() bool { return h.busy || h.process != nil && h.process.lease != nil }

// spent says that the agent begins no other process, and has nothing else to do: it
// leaves, unless it was told to stop.
func (h *host) spent() bool {
	return h.agent.most > 0 && h.agent.begun >= h.agent.most && h.process == nil && h.heard != lifecycle.Stop
}

// connect is what the manager answers an agent that is to run, and what the agent
// makes of it. Without a command, a running process continues and none begins.
func (h *host) connect(i fleet.CapacityInstance) {
	a := &h.agent
	a.told, a.most = nil, h.w.store.fleet(h.instance).Runner.MaxJobs
	if h.heard != lifecycle.Run {
		return
	}
	given, taken := h.w.manager.connections[h.instance]
	if !taken && i.Scheduling.Ref == "" {
		h.heard, h.order = lifecycle.Wait, "unconnected-"+h.order
		return
	}
	if a.most = min(a.most, 1); i.Scheduling.Leaves {
		a.most = 1
	}
	if taken {
		a.told = &given
	}
}

// tend is the agent and its worker's process, every few seconds. The agent ends no
// process: that is the scheduler's to say.
func (h *host) tend() {
	if !h.alive() {
		return
	}
	h.w.after(3*time.Second+time.Duration(h.w.hostRandom.IntN(1000))*time.Millisecond, h.tend)
	switch p := h.process; {
	case p == nil:
		h.begin()
	case h.w.during(SchedulerDown, -1): // it tries again
	case p.lease != nil && h.w.at < p.ends:
		h.hearOfLease(p)
	default:
		h.askFor(p)
	}
}

// begin starts a process where one is wanted.
func (h *host) begin() {
	a := &h.agent
	if a.told == nil || h.heard != lifecycle.Run || h.leaving || h.interrupted() || a.most > 0 && a.begun >= a.most ||
		h.w.at < a.notBefore {
		return
	}
	a.begun++
	h.process = &process{connection: *a.told, begun: h.w.at, rested: h.w.at}
	h.w.say("a process begins on %s, as runner %s", h.instance, a.told.credential)
	h.callSoon()
}

// hearOfLease is a process in the middle of a job. It continues where nothing knows its
// runner any more, and ends the job that was taken back from it.
func (h *host) hearOfLease(p *process) {
	r := h.w.ci.once.byNumber(p.credential)
	if r == nil {
		return
	}
	if r.seen = h.w.at; r.lease != p.lease {
		h.w.say("%s ends job %d, which isn't its any more", h.instance, p.lease.number)
		p.lease, p.rested = nil, h.w.at
	}
}

// askFor is a process that asks for work, and ends by itself where that is the answer:
// it was stopped, it isn't known, it has done its jobs, or it was idle for too long.
func (h *host) askFor(p *process) {
	finished := p.lease
	if finished != nil {
		p.lease, p.rested = nil, h.w.at
		p.did++
	}
	if h.leaving && finished == nil {
		h.endProcess("its agent leaves")
		return
	}
	switch heard := h.w.ci.once.ask(h, p.credential, finished); {
	case heard.refused:
		h.endProcess("its credential is unknown")
	case heard.job != nil:
		p.lease, p.ends = heard.job, h.w.at+heard.job.length
	case heard.stop:
		h.endProcess("it was stopped")
	case p.jobs > 0 && p.did >= p.jobs:
		h.endProcess("it has done its jobs")
	case p.idle > 0 && h.w.at-p.rested >= p.idle:
		h.endProcess("it was idle")
	}
}

// endProcess is a process that ends by itself. Its agent sees that, and says so.
func (h *host) endProcess(why string) {
	h.w.say("the process on %s ends: %s", h.instance, why)
	a := &h.agent
	a.failed++
	if h.w.at-h.process.begun >= failedAtOnce {
		a.failed = 0
	}
	h.process, a.notBefore = nil, h.w.at+min(time.Minute, time.Duration(1<<min(a.failed, 6))*time.Second)
	h.callSoon()
}

// callSoon is an agent that has something to say.
func (h *host) callSoon() { h.w.after(time.Second, h.call) }

// killed is the end of a process with its host or agent. Its scheduler finds out.
func (h *host) killed() {
	p := h.process
	if p == nil {
		return
	}
	h.process = nil
	h.w.after(lostAfter, func() { h.w.ci.once.lose(p.credential) })
}
