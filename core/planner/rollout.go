package planner

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// rollout is how far a fleet's rollout has come (spec §66), while Plan works. What
// is on record is its beginning and its progress; all numbers are the instances'.
//
// First come as many canaries as the file says, and what is missing besides is
// made from what was known good. Once they were healthy for the soak the others
// follow, within surge and unavailable. What goes wrong with a new one halts it.
type rollout struct {
	record fleet.Rollout
	// changed says that the record has to be stored, round that it is another one.
	changed, round bool
	// turn says what became of it in this plan.
	turn   reason.Reason
	canary int
	order  fleet.RolloutOrder
	paused bool
	// base is the newest make known good that can still be made; nil: there is
	// none.
	base *fleet.Make
	// old are the outdated ones that could be replaced, fresh those of the new make
	// that are there or coming, healthy those of fresh that run, and leaving the
	// outdated ones that are on their way out.
	old, fresh, healthy, leaving int
	// guarded says that something is at stake: there is an earlier runner, or a
	// make that was known good.
	guarded    bool
	unobserved bool
	// first are the instances that leave before others of their rank.
	first map[fleet.CapacityInstanceID]bool
}

// rolloutsOf are those of all fleets.
func rolloutsOf(in *planning) map[fleet.RunnerFleetID]*rollout {
	failed := map[fleet.RunnerFleetID][]snapshot.Instance{}
	for _, i := range in.instances { // those that ended in this step among them
		if !i.Failure.IsZero() {
			failed[i.Fleet] = append(failed[i.Fleet], i)
		}
	}
	all := make(map[fleet.RunnerFleetID]*rollout, len(in.fleets))
	for _, f := range in.fleets {
		slices.SortFunc(failed[f.ID], func(a, b snapshot.Instance) int { return cmp.Compare(a.ID, b.ID) })
		all[f.ID] = rolloutOf(in, f, in.byFleet[f.ID], failed[f.ID])
	}
	return all
}

// rolloutOf is a fleet's rollout. members are its live instances, failed those
// that something went wrong with in this step.
func rolloutOf(in *planning, f fleet.ManagedFleet, members, failed []snapshot.Instance) *rollout {
	r := &rollout{record: in.Rollouts[f.ID], canary: f.Rollout.Canary}
	if f.Joined {
		r.canary = 0 // a person has seen each host that comes
	}
	if f.Operational == fleet.FleetDraining {
		return r
	}
	r.record.Good = slices.Clone(r.record.Good)
	r.order, _ = in.Overrides.Rollout(f)
	r.paused = r.order.Action == fleet.PauseRollout
	_, r.unobserved = in.Unobserved[f.Provider]
	r.aim(in, f, members)
	r.base = r.usable(in, f)
	r.count(in, f, members)
	if r.round && r.active() {
		r.turn = reason.Of(reason.RolloutBegins{Target: r.target(f), Progress: r.progress()})
	}
	r.heed(in.Now)
	r.haltOnFailure(in.Now, f, failed)
	r.soak(in.Now, f)
	return r
}

// mostGood is how many earlier makes are remembered.
const mostGood = 2

// aim begins a round where something else is to be made than before. What was
// known good before needs no canary, and what a person rolls back to doesn't
// either.
func (r *rollout) aim(in *planning, f fleet.ManagedFleet, members []snapshot.Instance) {
	was, want := r.record, f.Make()
	begun, same := !was.Began.IsZero(), was.Target.Same(want)
	switch {
	case begun && same && was.Agent == in.AgentVersion:
		return
	case begun && same && was.Passed.IsZero():
		// The same trial continues, with canaries of another agent: they soak from when they
		// are healthy.
		r.record.Agent, r.record.Soaking, r.changed = in.AgentVersion, time.Time{}, true
		return
	}
	next := fleet.Rollout{
		Fleet:     f.ID,
		Target:    want,
		Agent:     in.AgentVersion,
		Began:     in.Now,
		AgentOnly: begun && same,
		Resumed:   was.Resumed,
		Good:      was.Good,
	}
	rolledBack := r.order.Action == fleet.RollBack
	known := slices.ContainsFunc(next.Good, want.Same)
	if begun && !same && provedGood(was, known, members) {
		next.Good = append([]fleet.Make{was.Target}, next.Good...)
	}
	next.Good = slices.DeleteFunc(next.Good, func(m fleet.Make) bool {
		return m.Same(want) || rolledBack && m.Image.Same(r.order.From)
	})
	next.Good = next.Good[:min(len(next.Good), mostGood)]
	if known || rolledBack || r.canary == 0 {
		next.Passed = in.Now
	}
	r.record, r.changed, r.round = next, true, true
}

// provedGood says that what a round made is known good once another one begins: its
// canaries passed their trial, or were healthy where there was nothing before. What
// people go back from in the middle of its rollout isn't.
func provedGood(was fleet.Rollout, back bool, members []snapshot.Instance) bool {
	if was.Halted != nil || was.Soaking.IsZero() {
		return false
	}
	whole := !slices.ContainsFunc(members, func(i snapshot.Instance) bool {
		return lifecycle.Capacity(i.State, false) && !was.Target.Made(i.CapacityInstance, was.Agent)
	})
	return len(was.Good) == 0 || !was.Passed.IsZero() && (whole || !back)
}

// usable is what instances can be made from in the place of a new make that isn't
// trusted yet. The earlier agent can't be made any more.
func (r *rollout) usable(in *planning, f fleet.ManagedFleet) *fleet.Make {
	if f.Joined || r.record.AgentOnly {
		return nil
	}
	for n, m := range r.record.Good {
		_, barred := in.Overrides.FleetQuarantine(f.From(m))
		if !barred && !m.Same(r.record.Target) && m.Provider == r.record.Target.Provider && m.Class == r.record.Target.Class {
			return &r.record.Good[n]
		}
	}
	return nil
}

// count counts the instances for what they are to the rollout.
func (r *rollout) count(in *planning, f fleet.ManagedFleet, members []snapshot.Instance) {
	r.guarded = r.base != nil
	is := today(f, in.AgentVersion)
	for _, i := range members {
		outdated := is.outdated(i) != nil || in.whyDisallowed(f, i) != nil
		switch {
		case i.State == fleet.Draining:
			if lifecycle.Cause(i.Cause) == lifecycle.ForRollout {
				r.leaving++
			}
		case i.State == fleet.Terminating:
			// One that doesn't end is held against max alone.
			if outdated && in.Now.Sub(i.Since) < f.Timeouts.Terminate {
				r.leaving++
			}
		case !lifecycle.Capacity(i.State, false):
		case outdated:
			r.guarded = r.guarded || i.State == fleet.Healthy
			if mayChoose(f, i) {
				r.old++
			}
		case lifecycle.Capacity(i.State, i.Silent):
			r.fresh++
			if i.State == fleet.Healthy {
				r.healthy++
			}
		}
	}
}

// active says that something earlier is still there, or that a new make is on
// trial, or was halted, while there is another. What was halted isn't over because
// the last earlier one has left meanwhile.
func (r *rollout) active() bool {
	return r.old > 0 || r.leaving > 0 || r.base != nil && (r.record.Passed.IsZero() || r.record.Halted != nil)
}

// halted says that nothing is replaced until a person says so.
func (r *rollout) halted() bool { return r.paused || r.record.Halted != nil }

// limited says that no more than the canaries may be of the new make.
func (r *rollout) limited() bool {
	return r.active() && r.guarded && (r.halted() || r.record.Passed.IsZero())
}

// heed takes up what a person wants to go on, once for each order.
func (r *rollout) heed(now time.Time) {
	if r.order.Action != fleet.ResumeRollout || r.record.Resumed.Equal(r.order.At) {
		return
	}
	r.record.Resumed, r.changed = r.order.At, true
	if r.record.Halted != nil {
		r.record.Halted, r.record.Soaking, r.record.Passed = nil, time.Time{}, time.Time{}
	}
	if (r.order.SkipSoak || r.canary == 0) && r.record.Passed.IsZero() {
		r.record.Passed = now
	}
}

// haltOnFailure halts a rollout for what went wrong with one of the new ones.
func (r *rollout) haltOnFailure(now time.Time, f fleet.ManagedFleet, failed []snapshot.Instance) {
	n := slices.IndexFunc(
		failed,
		func(i snapshot.Instance) bool { return r.record.Target.Made(i.CapacityInstance, r.record.Agent) },
	)
	if n < 0 || !r.active() || !r.guarded || r.record.Halted != nil {
		return
	}
	why := reason.Of(reason.NewInstanceFailed{Instance: string(failed[n].ID), Because: failed[n].Failure})
	r.record.Halted, r.changed = &fleet.RolloutHalt{At: now, Reason: why}, true
	r.turn = reason.Of(reason.RolloutHalted{Fleet: f.Address.Name(), Target: r.target(f), Because: why})
}

// soak lets the others follow once the canaries have been healthy for long enough.
// A canary that leaves after its job is followed by another one, and the time goes
// on; at its end they must be there.
func (r *rollout) soak(now time.Time, f fleet.ManagedFleet) {
	if r.record.Soaking.After(now) { // the clock was set back
		r.record.Soaking, r.changed = now, true
	}
	if r.halted() || r.unobserved || r.healthy < r.needed() {
		return
	}
	if r.record.Soaking.IsZero() {
		r.record.Soaking, r.changed = now, true
	}
	if r.record.Passed.IsZero() && !now.Before(r.soaks(f)) {
		r.record.Passed, r.changed = now, true
		if r.active() {
			r.turn = reason.Of(
				reason.RolloutSoaked{Target: r.target(f), Canaries: r.needed(), Soak: reason.Duration(f.Rollout.Soak)},
			)
		}
	}
}

// needed is how many canaries must be healthy.
func (r *rollout) needed() int { return max(1, min(r.canary, r.old+r.fresh)) }

// soaks is when the soak is over; zero: it hasn't begun.
func (r *rollout) soaks(f fleet.ManagedFleet) time.Time {
	if r.record.Soaking.IsZero() {
		return time.Time{}
	}
	return r.record.Soaking.Add(f.Rollout.Soak)
}

// times are when time alone lets it go on: its soak is over, or one that doesn't end
// is waited for no more.
func (r *rollout) times(f fleet.ManagedFleet, instances []snapshot.Instance) (times []time.Time) {
	if r == nil {
		return nil
	}
	if !r.halted() && r.record.Passed.IsZero() {
		times = append(times, r.soaks(f))
	}
	for _, i := range instances {
		if i.State == fleet.Terminating && r.leaving > 0 {
			times = append(times, i.Since.Add(f.Timeouts.Terminate))
		}
	}
	return times
}

// room is how many of the new make may start now, whatever is missing. With none
// trusted yet that are the canaries; but an older agent can't be made, and only
// what is replaced for a new one waits for its canaries.
func (r *rollout) room() (n int, bounded bool) {
	switch {
	case !r.limited():
		return 0, false
	case r.halted() && r.base != nil:
		return 0, true
	case r.record.AgentOnly && !r.halted():
		return 0, false
	}
	return max(0, max(1, r.canary)-r.fresh), true
}

// share says how many of those that start are of the new make; the others are of
// the base.
func (r *rollout) share(create int) (fresh int) {
	n, bounded := r.room()
	if !bounded || r.base == nil {
		return create
	}
	return min(create, n)
}

// bound is room where nothing else may start either.
func (r *rollout) bound() (int, bool) {
	if r == nil || r.base != nil {
		return 0, false
	}
	return r.room()
}
