package simulation

import (
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// host is a machine's agent and worker. It says what is true, as far as it is
// alive and heard.
type host struct {
	w        *world
	resource *resource
	instance fleet.CapacityInstanceID
	enrolled bool
	// off says that the machine has ended, dead that the agent has.
	off, dead bool
	// cutOff is until when it can't reach the manager, unfit until when it
	// complains.
	cutOff, unfit time.Duration
	leaving, left bool
	// announced is what its provider says of it now, doomed that it ever said that it
	// takes it away.
	announced []*announced
	doomed    bool
	// heard is the last instruction, with its name; stopped says that it has been
	// carried out.
	heard   lifecycle.Instruction
	order   string
	stopped bool
	lease   *job
	busy    bool
	ran     int
	// process and agent are the worker of a scheduler that tells it itself when to
	// end, and what its agent knows of it.
	process *process
	agent   agent
	// givenUp says that its end may take a job along, by a proof that the agent alone
	// could give and that wasn't true.
	givenUp bool
	// lie is what it says until lieEnds, untrue that one was about a job that only
	// the agent knows of, lacks that it has less than its class asks for.
	lie           lie
	lieEnds       time.Duration
	oldWord       string
	untrue, lacks bool
}

// beatEvery is how often an agent calls.
const beatEvery = 10 * time.Second

func newHost(w *world, r *resource, instance fleet.CapacityInstanceID) *host {
	h := &host{w: w, resource: r, instance: instance}
	w.hosts = append(w.hosts, h)
	return h
}

func (h *host) alive() bool { return !h.off && !h.dead && !h.left }

// stop is the end of the machine: what ran on it is lost.
func (h *host) stop() {
	h.off = true
	h.lost()
}

// die is the end of the agent and its worker.
func (h *host) die() {
	h.dead = true
	h.lost()
}

// lost has the scheduler find out, some time later, that a lease isn't renewed.
func (h *host) lost() {
	h.busy = false
	h.killed()
	if j := h.lease; j != nil {
		h.lease = nil
		h.w.after(45*time.Second, func() { h.w.ci.lose(h.instance, j) })
	}
}

func (h *host) reaches() bool {
	return h.w.at >= h.cutOff && !h.w.during(ManagerUnreachable, -1) && h.w.manager.alive
}

// enroll spends the token. It is tried again while the manager can't be reached.
func (h *host) enroll() {
	if !h.alive() || h.enrolled {
		return
	}
	if !h.reaches() {
		h.w.after(beatEvery, h.enroll)
		return
	}
	if slices.ContainsFunc(h.w.store.pending, func(p pendingClaim) bool { return p.instance.ID == h.instance }) {
		h.w.after(beatEvery, h.enroll) // its claim isn't taken up yet
		return
	}
	i, known := h.w.store.instances[h.instance]
	if !known || !lifecycle.AcceptsEnrollment(i.State) || h.w.now().After(h.w.store.tokenExpires(i)) {
		return // refused for good
	}
	if h.w.isBroken(i.ImageDigest) {
		return // nothing in it ever calls
	}
	identity, known := h.identity(i)
	if !known {
		h.w.after(beatEvery, h.enroll)
		return
	}
	h.enrolled = true
	h.w.say("%s enrolls", h.instance)
	h.w.store.runners[h.instance] = fleet.Runner{
		ID: "runner-" + fleet.RunnerID(
			h.instance,
		),
		Instance:     h.instance,
		Fleet:        i.Fleet,
		Operation:    i.Key,
		KeyHash:      "sha256:0123456789ab",
		Identity:     identity,
		Enrolled:     h.w.now(),
		Address:      "192.0.2.1",
		AgentVersion: agentVersion,
		Platform:     fleet.Platform{OS: "linux", Arch: "x86_64"},
		Report:       fleet.AgentReport{Phase: fleet.PhaseIdle, GroupEmpty: true, Isolation: "none"},
	}
	h.w.manager.stepSoon(50 * time.Millisecond)
	h.beat()
	if h.w.unlisted(h.instance) {
		h.tend()
		return
	}
	h.work()
}

// beat is one heartbeat: the agent says what is true and reads what to do.
func (h *host) beat() {
	if !h.alive() {
		return
	}
	h.w.after(beatEvery-time.Duration(h.w.hostRandom.IntN(1000))*time.Millisecond, h.beat)
	h.call()
}

// call is a beat by itself.
func (h *host) call() {
	if !h.alive() || !h.enrolled {
		return
	}
	i, known := h.w.store.instances[h.instance]
	if h.tells(goesOn) && known {
		h.w.store.beat(h.instance, h.w.now(), func(*fleet.Runner) {})
	}
	if !h.reaches() || !known || !i.Live() || h.tells(stalls) && h.w.hostRandom.IntN(20) > 0 {
		return
	}
	before := h.w.store.runners[h.instance].Report
	h.w.store.beat(h.instance, h.w.now(), func(r *fleet.Runner) {
		r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseIdle, true
		switch {
		case h.runs():
			r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseRunning, false
		case h.stopped:
			r.Report.Phase = fleet.PhaseStopped
		}
		r.Report.Heard, r.Report.Order, r.Report.JobsRun = string(h.heard), h.order, h.ran+h.over()
		if r.Report.Unhealthy = ""; h.w.at < h.unfit {
			r.Report.Unhealthy = "the disk is full"
		}
		r.Report.Notices = h.reports(r.Report.Notices)
		h.lieIn(r)
		if (h.leaving || h.spent()) && h.lease == nil && !h.runs() {
			r.Left, r.LeftReason, h.left = h.w.now(), "its age", true
			h.w.say("%s leaves by itself", h.instance)
		}
	})
	h.heard, h.order = lifecycle.InstructionFor(i), lifecycle.OrderOf(i)
	if h.w.unlisted(h.instance) {
		h.connect(i)
	}
	h.stopped = h.heard == lifecycle.Stop && h.lease == nil && !h.runs()
	after := h.w.store.runners[h.instance]
	if after.Report.Phase != before.Phase || after.Report.Order != before.Order ||
		after.Report.Unhealthy != before.Unhealthy ||
		h.left ||
		!slices.Equal(after.Report.Notices, before.Notices) {
		h.w.manager.stepSoon(50 * time.Millisecond)
	}
}

// work is the worker: it asks the scheduler for a lease while it may.
func (h *host) work() {
	if !h.alive() {
		return
	}
	random := h.w.hostRandom
	h.w.after(3*time.Second+time.Duration(random.IntN(1000))*time.Millisecond, h.work)
	if h.heard != lifecycle.Run || h.busy || h.lease != nil || h.leaving || h.interrupted() {
		return
	}
	if h.w.scheduled(h.instance) {
		if h.w.during(SchedulerDown, -1) {
			return
		}
		if j := h.w.ci.ask(h.instance); j != nil {
			h.lease = j
			h.w.after(time.Duration(200+random.IntN(2000))*time.Millisecond, func() { h.run(j.length, func() { h.done(j) }) })
		}
		return
	}
	if !h.w.calm && random.IntN(20) == 0 {
		h.run(time.Duration(10+random.IntN(50))*time.Second, func() {})
	}
}

// run is the process of a job, until it ends by itself or with the host.
func (h *host) run(length time.Duration, then func()) {
	if !h.alive() {
		return
	}
	h.busy = true
	h.w.after(length, func() {
		if h.alive() && h.busy {
			h.busy = false
			h.ran++
			then()
		}
	})
}

func (h *host) done(j *job) {
	h.lease = nil
	h.w.ci.finish(h.instance, j)
}
