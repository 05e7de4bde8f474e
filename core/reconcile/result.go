package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

func (l *Loop) result(w *work, plan planner.Output, effects []Effect) Result {
	res := Result{
		Effects: effects, Serial: w.serial, Plan: plan, Transitions: w.transitions, Wake: l.wake(w, plan),
		Blocked: map[fleet.ProviderAddress]string{}, Unobserved: l.unobserved(w), Unrecorded: map[fleet.ProviderAddress]fleet.Unrecorded{}, Orders: w.outcomes, Holds: w.allHolds(plan), Offers: l.offers(w), Circuits: w.circuits.Clone(),
		Observed: map[fleet.ProviderAddress]time.Time{}, Accounts: map[fleet.ProviderAddress]string{},
	}
	res.Forecasts = w.forecasts
	res.Settled = true
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
		if r.State == fleet.Healthy && r.fleet.Scheduler != "" && !l.connects(r) {
			res.Settled = false // its scheduler must still be told
		}
		settled := lifecycle.Settled(r.State) || w.frozen(r) || r.State == fleet.Bootstrapping && !r.joinUntil().IsZero()
		if !settled || r.Live() && l.provider(r.Provider).blind != "" || !l.hasHeard(w, r) {
			res.Settled = false
		}
	}
	for _, p := range plan.Fleets {
		if p.Create > 0 || len(p.Actions) > 0 || !p.Reached() {
			res.Settled = false
		}
	}
	res.Calls = len(l.calls)
	for _, why := range w.damaged {
		res.Damaged = append(res.Damaged, why)
	}
	slices.Sort(res.Damaged)
	res.Demand, res.Usage, res.Scaled = l.demand(w), l.usages(w), maps.Clone(l.scaled)
	res.Schedulers = map[fleet.SchedulerAddress]string{}
	for _, address := range l.schedulersIn(w) {
		switch s := l.scheduler(address); s.blind {
		case "":
		case notAnsweredYet:
			res.Settled = false // what it wants is not known yet, one way or the other
		default:
			res.Schedulers[address] = s.blind
		}
	}
	for address, p := range l.providers {
		if p.blocked {
			res.Blocked[address] = cmp.Or(p.detail, p.down)
		}
		if p.account != "" {
			res.Accounts[address] = p.account
		}
		if p.sight != nil {
			res.Observed[address] = p.sight.began
		}
		if shown := l.shownUnrecorded(w, p); shown.Orphans+shown.Foreign > 0 {
			res.Unrecorded[address] = shown
		}
	}
	res.Settled = res.Settled && res.Unresolved == 0 && len(l.orders) == 0
	return res
}

// hasHeard says that an admitted runner is known to live and to know that it
// should work: until then its manager must not go away. One that is silent can't
// be waited for.
func (l *Loop) hasHeard(w *work, r *row) bool {
	if r.State != fleet.Healthy || r.runner == nil || l.silent(w, r) {
		return true
	}
	return r.runner.LastBeat.After(l.witnessed) && r.runner.Report.Heard == string(lifecycle.Run)
}

// wake is when something happens by itself next: a deadline, a back-off's end,
// an inspection.
func (l *Loop) wake(w *work, plan planner.Output) time.Time {
	next := w.now.Add(restfulInspection)
	earlier := func(t time.Time) {
		if t.After(w.now) && t.Before(next) {
			next = t
		}
	}
	for _, r := range w.rows {
		if d := lifecycle.Deadline(r.State, r.fleet.Timeouts); d > 0 {
			earlier(r.Since.Add(d))
		}
		earlier(r.joinUntil())
		if r.Interruption.TakesAway() {
			earlier(r.Interruption.Deadline)
		}
		if l.takesBack(w, r) {
			earlier(l.mayEndSince(r).Add(forcePatience))
		}
		if r.runner != nil && r.State == fleet.Healthy {
			last := r.runner.LastBeat
			if l.witnessed.After(last) {
				last = l.witnessed
			}
			earlier(last.Add(r.fleet.Timeouts.Heartbeat + time.Millisecond))
		}
		for _, op := range []*fleet.Operation{r.provision, r.terminate} {
			if op != nil {
				earlier(op.NotBefore)
			}
		}
	}
	for _, p := range plan.Fleets {
		earlier(p.Next)
	}
	for _, address := range l.schedulersIn(w) {
		if !l.scheduler(address).observing {
			earlier(later(l.observationDue(w, address), w.now.Add(eagerObservation)))
		}
	}
	for _, r := range w.rows {
		m := l.row(r.ID)
		earlier(m.tellAfter)
		earlier(m.leftDue(w.now))
	}
	for _, b := range w.backoffs {
		earlier(b.hold.Until)
	}
	for _, c := range w.circuits {
		earlier(c.Until)
	}
	for _, key := range w.marketKeys() {
		if m := l.market(key); !m.asking && l.provider(key.Provider).facts != nil {
			earlier(m.list.Next)
		}
	}
	for _, address := range l.providerAddresses() {
		if p := l.providers[address]; p.facts != nil && !p.inspecting {
			due := l.inspectionDue(w, address, p)
			if !due.After(w.now) {
				due = w.now.Add(eagerInspection)
			}
			earlier(due)
		}
	}
	return next
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
