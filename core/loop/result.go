package loop

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// result is what a step came to, for what drives the loop and shows it.
func (l *Loop) result(w *step, plan planner.Output, effects []Effect) Result {
	res := Result{
		Effects:      effects,
		Serial:       w.stored.Serial,
		Plan:         plan,
		Transitions:  w.transitions,
		Wake:         l.wake(w, plan),
		Calls:        len(l.calls),
		Orders:       w.outcomes,
		Observations: l.observationsOf(w),
		Damaged:      valuesByKey(w.damaged),
	}
	res.Settled = len(l.orders) == 0
	l.instancesInto(&res, w)
	for _, address := range l.schedulersIn(w) {
		if reason.Is[reason.SchedulerNotAnswered](l.scheduler(address).Unobservable) { // no one knows what it wants
			res.Settled = false
		}
	}
	for _, p := range plan.Fleets {
		if p.Create > 0 || len(p.Actions) > 0 || !p.Reached() {
			res.Settled = false
		}
	}
	return res
}

// valuesByKey are the values of a map in the order of their keys.
func valuesByKey[K cmp.Ordered, V any](m map[K]V) []V {
	values := make([]V, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[key])
	}
	return values
}

// instancesInto adds the instances, and which of them are silent or not settled.
func (l *Loop) instancesInto(res *Result, w *step) {
	res.Instances = make([]fleet.CapacityInstance, 0, len(w.rows))
	for _, r := range w.rows {
		res.Instances = append(res.Instances, r.CapacityInstance)
		if r.Live() && l.silent(w, r) {
			res.Silent = append(res.Silent, r.ID)
		}
		for _, op := range []*fleet.Operation{r.provision, r.terminate} {
			if op != nil && r.Live() && op.State == fleet.OperationUnknown {
				res.Unresolved++
			}
		}
		untold := r.State == fleet.Healthy && r.fleet.Scheduler != "" && !l.row(r.ID).runner.CanConnect(r.Scheduling)
		settled := lifecycle.Settled(r.State) || w.frozen(r) || r.State == fleet.Bootstrapping && !r.joinUntil().IsZero()
		if untold || !settled || r.Live() && !l.provider(r.Provider).Unobservable.IsZero() || !l.knowsToRun(w, r) {
			res.Settled = false
		}
	}
	if res.Unresolved > 0 {
		res.Settled = false
	}
}

// Holds are the holds in force: those that were observed, and those of fleets none of
// whose offers the plan could use.
func (r Result) Holds() map[fleet.RunnerFleetID]snapshot.Hold {
	holds := maps.Clone(r.Observations.Holds)
	for _, p := range r.Plan.Fleets {
		if p.Constrained != nil {
			holds[p.Fleet] = *p.Constrained
		}
	}
	return holds
}

// knowsToRun says that an admitted runner is known to live and to know that it
// should work: until then its manager must not go away. One that is silent can't
// be waited for.
func (l *Loop) knowsToRun(w *step, r *row) bool {
	if r.State != fleet.Healthy || r.runner == nil || l.silent(w, r) {
		return true
	}
	return r.runner.LastBeat.After(l.listeningSince) && r.runner.Report.Heard == string(lifecycle.Run)
}

// alarm is when something happens by itself next.
type alarm struct{ now, next time.Time }

func (a *alarm) earlier(t time.Time) {
	if t.After(a.now) && t.Before(a.next) {
		a.next = t
	}
}

// wake is when something happens by itself next: a deadline, a back-off's end,
// an inspection.
func (l *Loop) wake(w *step, plan planner.Output) time.Time {
	at := alarm{w.now, w.now.Add(inventory.SettledInterval)}
	for _, r := range w.rows {
		l.wakeFor(&at, w, r)
	}
	for _, p := range plan.Fleets {
		at.earlier(p.Next)
	}
	for _, address := range l.schedulersIn(w) {
		if !l.scheduler(address).Observing {
			at.earlier(later(l.observationDue(w, address), w.now.Add(ci.EagerInterval)))
		}
	}
	for _, b := range w.backoffs {
		at.earlier(b.hold.Until)
	}
	for _, c := range w.circuits {
		at.earlier(c.Until)
	}
	for _, key := range w.marketKeys() {
		if l.reachable(key.Provider) {
			at.earlier(l.markets.NextQuery(key))
		}
	}
	for _, address := range l.providerAddresses() {
		if p := l.providers[address]; p.Facts != nil && !p.Inspecting {
			due := l.nextInspection(w, address, p).at
			if !due.After(w.now) {
				due = w.now.Add(inventory.EagerInterval)
			}
			at.earlier(due)
		}
	}
	return at.next
}

// wakeFor adds when something happens to one instance.
func (l *Loop) wakeFor(at *alarm, w *step, r *row) {
	if d := lifecycle.Deadline(r.State, r.fleet.Timeouts); d > 0 {
		at.earlier(r.Since.Add(d))
	}
	at.earlier(r.joinUntil())
	if r.Interruption.TakesAway() {
		at.earlier(r.Interruption.Deadline)
	}
	if l.mustTakeJobsBack(w, r) {
		at.earlier(l.mayEndSince(r).Add(takeBackTimeout))
	}
	if r.runner != nil && r.State == fleet.Healthy {
		at.earlier(later(r.runner.LastBeat, l.listeningSince).Add(r.fleet.Timeouts.Heartbeat + time.Millisecond))
	}
	for _, op := range []*fleet.Operation{r.provision, r.terminate} {
		if op != nil {
			at.earlier(op.NotBefore)
		}
	}
	m := l.row(r.ID)
	at.earlier(m.runner.NextCall)
	at.earlier(m.removals.NextTry(w.now))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (l *Loop) providerAddresses() []fleet.ProviderAddress {
	return slices.Sorted(maps.Keys(l.providers))
}
