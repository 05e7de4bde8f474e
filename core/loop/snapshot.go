package loop

import (
	"maps"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// snapshotOf is everything that is known in this step: the stored state with the rows
// as the step has changed them so far, and what was observed.
func (l *Loop) snapshotOf(w *step) snapshot.Snapshot {
	s := snapshot.Snapshot{Now: w.now, AgentVersion: l.settings.AgentVersion, State: w.stored}
	s.Observations = l.observationsOf(w)
	s.Instances, s.Departing, s.Claims = make([]fleet.CapacityInstance, 0, len(w.rows)), nil, nil
	s.Operations = make([]fleet.Operation, 0, len(w.stored.Operations))
	s.Runners = make([]fleet.Runner, 0, len(w.stored.Runners))
	for _, r := range w.rows {
		if r.Live() {
			s.Instances = append(s.Instances, r.CapacityInstance)
		} else {
			s.Departing = append(s.Departing, r.CapacityInstance)
		}
		for _, op := range []*fleet.Operation{r.provision, r.terminate} {
			if op != nil {
				s.Operations = append(s.Operations, *op)
			}
		}
		if r.runner != nil {
			s.Runners = append(s.Runners, *r.runner)
		}
		if r.claim != nil {
			s.Claims = append(s.Claims, *r.claim)
		}
	}
	s.Commitments, s.Failures = w.paidFor(), w.failures()
	return s
}

// observationsOf is what is known beyond the store. The maps are the caller's own.
func (l *Loop) observationsOf(w *step) snapshot.Observations {
	o := snapshot.Observations{
		Since:      l.listeningSince,
		Unheard:    maps.Clone(w.unheard),
		Unobserved: l.unobserved(w),
		Faults:     l.faults(),
		Blocked:    map[fleet.ProviderAddress]string{},
		Inspected:  map[fleet.ProviderAddress]time.Time{},
		Accounts:   map[fleet.ProviderAddress]string{},
		Unrecorded: map[fleet.ProviderAddress]fleet.Unrecorded{},
		Demand:     l.demand(w),
		Schedulers: map[fleet.SchedulerAddress]reason.Reason{},
		Usage:      l.usages(w),
		Scaled: maps.Clone(
			l.scaled,
		),
		Offers:    l.offers(w),
		Circuits:  w.circuits.Clone(),
		Forecasts: w.forecasts,
		Holds:     w.holds(),
	}
	for address, p := range l.providers {
		if p.Blocked {
			o.Blocked[address] = p.Detail
		}
		if p.Account != "" {
			o.Accounts[address] = p.Account
		}
		if p.Listing != nil {
			o.Inspected[address] = p.Listing.Began
		}
		if shown := w.shownUnrecorded(p); shown.Orphans+shown.Foreign > 0 {
			o.Unrecorded[address] = shown
		}
	}
	for _, address := range l.schedulersIn(w) {
		if why := l.scheduler(address).Unobservable; !why.IsZero() && !reason.Is[reason.SchedulerNotAnswered](why) {
			o.Schedulers[address] = why
		}
	}
	return o
}
