package loop

import (
	"cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/market"
)

// recordShortage takes in that nothing was made for lack of capacity or quota. It doesn't
// hold the fleet: the next instance goes out at once, under another key and with
// the offers that are left, and where none is left the planner holds it.
//
// Circuits are memory only. After a restart each offer is tried once more, by what
// is wanted then; every one of those tries ends in an answer, which opens the
// circuit again.
func (l *Loop) recordShortage(w *step, r *row, f *Failure) {
	w.circuits.RecordShortage(r.attempt(), market.Shortage{
		Class: f.Class, Message: f.Message, Zone: f.Zone, MachineType: f.MachineType, Group: f.Scope,
		RetryAfter: f.RetryAfter,
	}, w.now, l.settings.Random)
}

// recordRoom takes in that a machine was made, and where.
func (l *Loop) recordRoom(w *step, r *row, res fleet.Resource) {
	w.circuits.RecordSuccess(r.attempt(), res.Zone, res.MachineType, w.now, l.settings.Random)
}

// attempt is the row's provision as the circuits need it.
func (r *row) attempt() market.Attempt {
	offers := r.provision.Offers()
	if len(offers) == 0 {
		offers = []fleet.Offer{{Lifetime: cmp.Or(r.fleet.Lifetime, fleet.LifetimeStable)}}
	}
	return market.Attempt{Operation: r.provision.ID, Provider: r.Provider, Offers: offers}
}

// advanceCircuits lets the circuits see what time it is and which probes are over.
func (w *step) advanceCircuits() {
	w.circuits.Advance(w.now, func(op fleet.OperationID) bool {
		r := w.byOperation[op]
		return r != nil && r.provision.State.Open()
	})
}

// retryCircuits lets each of a provider's circuits be tried now: its plugin was started
// again, perhaps with another configuration.
func (l *Loop) retryCircuits(w *step, provider fleet.ProviderAddress) {
	w.circuits.Retry(provider, w.now)
}
