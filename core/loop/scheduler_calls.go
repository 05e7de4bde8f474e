package loop

import (
	"cmp"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// schedulerCalls returns what the schedulers must be told now: one thing at a time
// about each runner. The row is the intent, and it is stored before anything
// goes out; what isn't acknowledged is sent again.
func (l *Loop) schedulerCalls(w *step) []Effect {
	var effects []Effect
	underWay := map[fleet.SchedulerAddress]int{}
	for _, address := range l.schedulerCallsUnderWay {
		underWay[address]++
	}
	for _, r := range w.rows {
		m := &l.row(r.ID).runner
		if _, calling := l.schedulerCallsUnderWay[r.ID]; calling || m.NextCall.After(w.now) {
			continue
		}
		address := cmp.Or(r.Scheduling.Scheduler, r.fleet.Scheduler)
		s := l.schedulers[address]
		call, wanted := ci.NextCall(address, s, m, l.subject(w, r), w.now)
		if !wanted || underWay[address] >= ci.MaxCalls || m.Repeats(call, s) {
			continue
		}
		underWay[address]++
		if call.Kind == ci.Admit {
			call.Runner = w.runnerOf(r, address)
			r.dirty = ci.NoteAdmission(&r.Scheduling, call) || r.dirty
		}
		effects = append(effects, CallScheduler{call})
	}
	return append(effects, l.removeUnknownRunners(w, underWay)...)
}

// subject is what a call to a scheduler is about.
func (l *Loop) subject(w *step, r *row) ci.Subject {
	return ci.Subject{
		Instance:  &r.CapacityInstance,
		Fleet:     &r.fleet,
		Agent:     r.runner,
		Leases:    r.leases,
		TakesBack: l.mustTakeJobsBack(w, r),
		KeepsJobs: w.keepsRunning(r),
	}
}

// runnerOf is what a scheduler is told of a verified runner: everything in it
// comes from the definition and the provider, nothing from the agent (spec §70).
func (w *step) runnerOf(r *row, address fleet.SchedulerAddress) scheduler.Runner {
	out := scheduler.Runner{
		Name:     r.ID,
		Fleet:    r.fleet.Address,
		Class:    r.fleet.Class,
		Scope:    r.fleet.Scope,
		Hostile:  w.stored.Policy.RunsHostile(r.fleet.Class),
		Lifetime: r.fleet.Lifetime,
		Region:   r.region(),
		MaxJobs:  r.fleet.Runner.MaxJobs,
	}
	if address.AdmitsOnce() {
		out.Attempt, out.IdleTimeout = r.Scheduling.Attempts+1, w.idleTimeout(r)
	}
	return out
}

// region is where the host is, as far as it is known: by the offer that it was made
// of, or since its fleet may be in one only.
func (r *row) region() string {
	if r.Zone != "" {
		for _, o := range r.provision.Offers() {
			if o.Zone == r.Zone && o.Region != "" {
				return o.Region
			}
		}
	}
	if regions := r.fleet.Placement.Regions; len(regions) == 1 {
		return regions[0]
	}
	return ""
}

// recordAnswer takes in what a scheduler answered.
func (l *Loop) recordAnswer(w *step, e SchedulerAnswered) {
	delete(l.schedulerCallsUnderWay, e.Instance)
	failed := e.Failure != nil && !e.Unknown && !e.Gone
	r := w.byID[e.Instance]
	if r == nil {
		if s := l.schedulers[e.Scheduler]; s != nil {
			s.UnknownAnswered(e.Instance, failed, w.now)
		}
		return
	}
	m := &l.row(r.ID).runner
	if failed {
		r.dirty = m.Failed(&r.Scheduling, e.Answer, w.now) || r.dirty
		return
	}
	m.Acknowledged(&r.Scheduling, e.Answer, w.now, l.steps)
	r.dirty = true
}
