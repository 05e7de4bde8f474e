package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// checkCommit holds what must be true of everything that is stored.
func (w *world) checkCommit(c store.Change) {
	w.boundsAreEnforced()
	w.entitlementsHold()
	w.decisionsHaveReasons(c.Decisions)
	for _, i := range c.Instances {
		w.endedIsGone(i)
		w.whoLacksIsNotTrusted(i)
	}
}

// checkEffect holds what must be true of everything that goes out.
func (w *world) checkEffect(e loop.Effect) {
	switch e := e.(type) {
	case loop.Terminate:
		w.nothingForeignIsTouched(e)
		w.terminationFollowsItsIntent(e)
		w.scaleDownNeverEndsALease(e)
		w.hostsAreHeldOnce(e.Key, "released")
	case loop.Provision:
		w.intentComesBeforeTheCall(e)
	case loop.ProvisionBatch:
		w.batchIsOneCall(e)
	case loop.CallScheduler:
		w.nobodyIsTrustedBeforeAdmission(e)
		w.forceHasACause(e)
		w.preemptionIsInfrastructure(e)
	}
}

// checkStep holds what must be true of every step.
func (w *world) checkStep(res loop.Result) {
	w.drainNeverEndsAJob(res)
	w.outageTakesNothingAway(res)
	w.massSilenceEndsNoRunner(res)
	w.deadRowsStarveNobody(res)
	w.noRequestIsMadeForWhereThereIsNoRoom(res)
	w.nothingIsMadeForTheUnentitled(res)
	w.requiredSpreadStaysEven(res)
	w.noStartPassesAGuardrail(res)
	w.booksKnowWhatMachinesCost()
	w.scaleDownTakesNothingThatIsPaidFor(res)
	w.rolloutStaysInItsBudget(res)
}

// boundsAreEnforced: "min/max/warm bounds are enforced;". Whatever isn't proven
// gone counts, and so does every machine that really exists.
func (w *world) boundsAreEnforced() {
	const name = "min/max/warm bounds are enforced"
	for _, f := range w.store.fleets {
		rows, machines := 0, 0
		for _, i := range w.store.live() {
			if i.Fleet == f.ID && i.Adopted == "" { // what a person takes in counts, and may be too much
				rows++
			}
		}
		if !f.Joined {
			machines = w.machinesOf(f)
		}
		if rows > f.Scaling.Max || machines > f.Scaling.Max {
			w.fail(name, "%s has %d instances and %d machines, and max is %d", f.Address, rows, machines, f.Scaling.Max)
		}
	}
}

// decisionsHaveReasons: "demand is derived from scheduler state;", and every
// decision says by what chain of bounds (spec §184, §185).
func (w *world) decisionsHaveReasons(decisions []fleet.Decision) {
	for _, d := range decisions {
		if strings.TrimSpace(d.Reason.Text()) == "" || len(d.Bounds) == 0 {
			w.fail("decisions have reasons", "%s of %s has reason %q and %d bounds", d.Kind, d.Fleet, d.Reason, len(d.Bounds))
		}
	}
}

// endedIsGone: "reconciliation is the correctness mechanism;". What the books call
// gone is gone: nothing is forgotten that still costs money.
func (w *world) endedIsGone(i fleet.CapacityInstance) {
	if i.Live() {
		return
	}
	for _, c := range w.clouds {
		for _, r := range c.resources {
			if r.Key == i.Key && !r.foreign && !r.copied && !r.part {
				w.fail("what is called gone is gone", "%s ended (%s), and %s is there", i.ID, i.Reason, r.ID)
			}
		}
	}
}

// checkMade: "provider calls are reconciled external effects;". However often an
// answer is lost, one instance is one machine.
func (w *world) checkMade(made *resource) {
	instance := made.Tags["forgeyard-capacity-instance"]
	for _, c := range w.clouds {
		for _, r := range c.resources {
			if r != made && !r.copied && !r.foreign && !r.part && r.Tags["forgeyard-capacity-instance"] == instance {
				w.fail("one instance is one machine", "%s and %s were both made for %s", r.ID, made.ID, instance)
			}
		}
	}
}

// intentComesBeforeTheCall: "provider calls are reconciled external effects;". The
// whole request is stored before it goes out.
func (w *world) intentComesBeforeTheCall(e loop.Provision) {
	op, stored := w.store.operations[e.Operation.ID]
	if !stored || op.State != fleet.OperationInProgress || string(op.Request) != string(e.Operation.Request) {
		w.fail(
			"intent comes before the call",
			"the request %s goes out, and the store has it as %q",
			e.Operation.ID,
			op.State,
		)
	}
}

// nothingForeignIsTouched: "unknown provider resources are not blindly deleted;",
// and of two resources with one key neither is.
func (w *world) nothingForeignIsTouched(e loop.Terminate) {
	const name = "unknown provider resources are not blindly deleted"
	for _, c := range w.clouds {
		target := c.byID(e.Resource)
		if target == nil || w.people.adopted[target.ID] {
			continue
		}
		w.volumesGoLast(target, c)
		if target.foreign || target.copied {
			w.fail(name, "%s is not ours, and it is terminated", target.ID)
		}
		seen := w.manager.lastLook(c)
		for _, r := range c.resources {
			if r.copied && r.Key == target.Key && r.created < seen.at {
				w.fail(name, "%s has a copy, %s, that the last inspection showed, and it is terminated", target.ID, r.ID)
			}
		}
	}
}

// terminationFollowsItsIntent: "orphan cleanup requires ownership proof;". The
// inspection that proves it began after the intent was stored.
func (w *world) terminationFollowsItsIntent(e loop.Terminate) {
	const name = "orphan cleanup requires ownership proof"
	op, there := w.store.operations[e.Operation]
	if !there || op.Kind != fleet.TerminateOperation || op.State != fleet.OperationInProgress {
		w.fail(name, "%s is terminated without a stored intent", e.Resource)
		return
	}
	i := w.store.instances[op.Instance]
	if i.State != fleet.Terminating {
		w.fail(name, "%s is terminated, and its instance %s is %s", e.Resource, i.ID, i.State)
	}
	seen := w.manager.lastLook(w.cloud(i.Provider))
	if seen.commits < w.store.stored[op.ID] {
		w.fail(name, "%s is terminated by an inspection from before the intent was stored", e.Resource)
	}
}

// scaleDownNeverEndsALease: "normal scale-down drains first;". A machine that is
// alive and has a lease is never terminated: the causes of section 35 that happen
// here are machines that are dead already, and those whose provider said that it
// takes them away, once the time has come.
func (w *world) scaleDownNeverEndsALease(e loop.Terminate) {
	const name = "normal scale-down drains first"
	for _, h := range w.hosts {
		if h.resource.ID != e.Resource || h.off || w.preempted(h) || h.givenUp {
			continue
		}
		if j := w.ci.leaseOn(h); j != nil && !w.people.forced[h.instance] {
			w.fail(
				name,
				"%s is terminated with a lease on job %d (%s)",
				h.instance,
				j.number,
				w.store.instances[h.instance].Reason,
			)
		}
	}
}

// drainNeverEndsAJob: "normal scale-down drains first;", for runners without a
// scheduler, and those whose scheduler lists none: only the agent says then that
// no process is left. There silence for heartbeat and quarantine together is the proof,
// as documented; a runner that was heard since is never given up under its job.
func (w *world) drainNeverEndsAJob(res loop.Result) {
	for _, t := range res.Transitions {
		if t.To != fleet.Terminating || w.scheduled(t.Instance) && !w.unlisted(t.Instance) || w.people.forced[t.Instance] {
			continue
		}
		timeouts := w.store.fleets[1].Timeouts
		heard := w.now().Sub(w.store.runners[t.Instance].LastBeat) <= timeouts.Heartbeat+timeouts.Quarantine
		for _, h := range w.hosts {
			if h.instance != t.Instance || !h.alive() || !h.working() || w.preempted(h) {
				continue
			}
			if !heard || h.untrue || h.lie == saysLeft {
				h.givenUp = true
				continue
			}
			w.fail("normal scale-down drains first", "%s is given up under its job (%s)", t.Instance, t.Reason)
		}
	}
}

// nobodyIsTrustedBeforeAdmission: "newly created hosts are untrusted until
// admitted;". The scheduler hears of a runner once it is Verified.
func (w *world) nobodyIsTrustedBeforeAdmission(e loop.CallScheduler) {
	i := w.store.instances[e.Instance]
	if e.Kind == ci.Admit && (i.Admission.State != fleet.AdmissionVerified || i.State != fleet.Healthy) {
		w.fail(
			"newly created hosts are untrusted until admitted",
			"%s is admitted, and it is %s and %q",
			i.ID,
			i.State,
			i.Admission.State,
		)
	}
}

// forceHasACause: section 35. Jobs are taken away from a host that its provider said
// it takes away, or that is off, or whose jobs a person gave up, and from no other;
// never from one that merely drains.
func (w *world) forceHasACause(e loop.CallScheduler) {
	if !e.Force {
		return
	}
	i := w.store.instances[e.Instance]
	for _, h := range w.hosts {
		asked := w.people.forced[e.Instance] && i.Ended == string(lifecycle.Forced)
		if h.instance == e.Instance && !asked && !h.off && (!h.doomed || i.Ended != string(lifecycle.Preempted)) {
			w.fail(
				"no leased machine ends but for section 35",
				"the jobs of %s are taken away (%s: %s)",
				i.ID,
				i.Ended,
				i.Reason,
			)
		}
	}
}

// preemptionIsInfrastructure: "spot preemption is infrastructure failure;". A runner
// that ends under its job is never told to have ended normally.
func (w *world) preemptionIsInfrastructure(e loop.CallScheduler) {
	if e.Kind != ci.Remove || e.Reason == "infrastructure" || w.unlisted(e.Instance) {
		return // one that lists no runners isn't told how one ended
	}
	if r := w.ci.runner(e.Instance); r != nil && r.lease != nil {
		w.fail(
			"spot preemption is infrastructure failure",
			"%s is removed as %q with job %d on it",
			e.Instance,
			e.Reason,
			r.lease.number,
		)
	}
}

// preempted says that a host's end is the provider's doing: it was announced, and
// the time has come.
func (w *world) preempted(h *host) bool {
	i := w.store.instances[h.instance]
	return h.doomed && i.Ended == string(lifecycle.Preempted) && i.Interruption.Due(w.now())
}

// outageTakesNothingAway: "provider outage increases queue time rather than causing
// unsafe placement;". While a provider can't be seen nothing of it is scaled down;
// what leaves by itself or by a person's order is another matter.
func (w *world) outageTakesNothingAway(res loop.Result) {
	for _, t := range res.Transitions {
		i := w.store.instances[t.Instance]
		asked := i.Interruption.Stands() || i.Cause == string(lifecycle.RunnerLeft) || w.people.drained[t.Instance]
		if why, unseen := res.Observations.Unobserved[i.Provider]; unseen && t.To == fleet.Draining && !asked {
			w.fail("a provider outage takes nothing away", "%s drains, and its provider can't be seen (%s)", t.Instance, why)
		}
	}
}

// massSilenceEndsNoRunner: "fleet health does not fabricate runner
// availability;", nor its absence. Over half of three runners or more that fall
// silent within one heartbeat say more about the manager's ears.
func (w *world) massSilenceEndsNoRunner(res loop.Result) {
	for _, t := range res.Transitions {
		lost := w.store.instances[t.Instance]
		if t.To != fleet.Quarantined || lost.Cause != string(lifecycle.RunnerLost) {
			continue
		}
		heartbeat := w.store.fleets[0].Timeouts.Heartbeat
		all := 0
		var silent []time.Time
		for _, i := range w.store.live() {
			r, enrolled := w.store.runners[i.ID]
			// As it was before this step: what came up in it wasn't there, what is taken
			// away in it was, and what was given up before it is decided already.
			now := i.Since.Equal(w.now())
			decided := i.State == fleet.Healthy && !now || i.State == fleet.Draining ||
				i.State == fleet.Terminating && now && i.Interruption.TakesAway() ||
				i.State == fleet.Quarantined && (now || i.Cause != string(lifecycle.RunnerLost))
			if i.Provider != lost.Provider || !enrolled || !decided {
				continue
			}
			all++
			if w.now().Sub(r.LastBeat) > heartbeat {
				silent = append(silent, r.LastBeat)
			}
		}
		slices.SortFunc(silent, time.Time.Compare)
		if all >= 3 && 2*len(silent) > all && silent[len(silent)-1].Sub(silent[0]) <= heartbeat {
			w.fail(
				"mass silence ends no runner",
				"%s is given up, and %d of %d runners fell silent within one heartbeat",
				t.Instance,
				len(silent),
				all,
			)
		}
	}
}

// starving is how long a fleet may be without capacity while jobs wait, nothing
// holds it and max isn't reached.
const starving = 45 * time.Second

// deadRowsStarveNobody: "demand is derived from scheduler state;". Rows that can't
// take work any more are no capacity: where jobs wait and nothing else is there,
// something is made.
func (w *world) deadRowsStarveNobody(res loop.Result) {
	f := w.store.fleets[0]
	d := res.Observations.Demand[w.ci.address]
	held, capacity, footprint := false, 0, map[fleet.RunnerFleetID]int{}
	for _, one := range w.store.fleets {
		if one.Scheduler != "" {
			_, holds := res.Holds()[one.ID]
			held = held || holds
		}
	}
	for _, i := range w.store.live() {
		if !w.scheduled(i.ID) {
			continue
		}
		footprint[i.Fleet]++
		if lifecycle.Capacity(i.State, slices.Contains(res.Silent, i.ID)) {
			capacity++
		}
	}
	for _, p := range res.Plan.Fleets { // what isn't proven gone counts to its costs, too
		// Where the spread is a rule, the other provider's fleet keeps this one from more.
		concerned := p.Fleet == f.ID || p.Follows && w.rules.required
		held = held || concerned && p.Cost != nil && p.Cost.Binds
		// One fleet may be wanted to grow where another, which may not pay for it or
		// tries a new image, leaves it no room.
		held = held ||
			p.Follows && (w.limited(p.Fleet) || p.Rollout != nil) && (w.rules.required || footprint[f.ID] >= f.Scaling.Max)
	}
	wanted := slices.ContainsFunc(
		d.Snapshot.Queued,
		func(q fleet.QueuedDemand) bool { return q.Admissible > 0 && !w.rules.bars(q.Requirement.Tenant) },
	)
	if !d.Unobserved.IsZero() || !wanted || held || capacity > 0 || !w.roomFor(footprint) {
		delete(w.manager.hungry, f.ID)
		return
	}
	since, hungry := w.manager.hungry[f.ID]
	if !hungry {
		w.manager.hungry[f.ID] = w.at
		return
	}
	if w.at-since > starving {
		var waits []reason.Reason
		for _, p := range res.Plan.Fleets {
			if p.Follows {
				waits = append(waits, p.Waiting...)
			}
		}
		w.fail(
			"dead rows block no demand",
			"%s has jobs waiting for %s, no capacity, and %d of max %d on its books; the plan says %v",
			f.Address,
			w.at-since,
			footprint[f.ID],
			f.Scaling.Max,
			waits,
		)
	}
}
