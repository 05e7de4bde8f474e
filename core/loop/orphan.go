package loop

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// collectOrphans takes onto the books what is proven ours and has been listed
// without a gap for the grace (spec §158). From there on it is footprint and goes the way
// of every termination. Nothing is taken while its provider can't be seen or heard.
func (l *Loop) collectOrphans(w *step) error {
	taken := 0
	for _, address := range l.providerAddresses() {
		p := l.providers[address]
		if p.Facts == nil || !p.Unobservable.IsZero() || !w.unheard[address].IsZero() {
			continue
		}
		for _, u := range p.Unrecorded() {
			if taken == inventory.MaxOrphansPerStep {
				return nil
			}
			if !l.collectable(w, p, u) {
				continue
			}
			listed := seconds(p.Listing.Began.Sub(u.FirstSeen))
			why := reason.Of(reason.OrphanListed{Resource: inventory.NameOf(u.Resource), For: listed, Because: u.Reason})
			if err := l.recordOrphan(w, p, u, lifecycle.OrphanFound, why); err != nil {
				return err
			}
			taken++
		}
	}
	return nil
}

// collectable says whether an orphan may be removed by itself now. One of a fleet
// that was forgotten since is a person's to decide, and one may be taken already, for
// another resource of the same instance.
func (l *Loop) collectable(w *step, p *inventory.Provider, u inventory.Unrecorded) bool {
	f, declared := w.fleets[u.Owner]
	return declared && f.Operational != fleet.FleetFrozen && w.liveWithKey(u.Key) == nil &&
		p.GraceOver(u, l.settings.OrphanGrace, l.listeningSince)
}

// recordOrphan makes a row in Terminating for an orphan: the ended one that its key
// made, or a new one from its proven tags where the store has none.
func (l *Loop) recordOrphan(
	w *step,
	p *inventory.Provider,
	u inventory.Unrecorded,
	cause lifecycle.Cause,
	why reason.Reason,
) error {
	f := w.fleets[u.Owner]
	if u.Ended == nil {
		claim := inventory.ClaimIn(u.Resource.Tags)
		return l.recordFound(
			w,
			p,
			f,
			inventory.Found{
				Provider: u.Provider,
				Instance: claim.Instance,
				Key:      claim.Key,
				Resource: u.Resource,
				Cause:    cause,
				Reason:   why,
			},
		)
	}
	r := w.byID[u.Ended.Instance.ID] // departing: gone for us, and not yet for its scheduler
	if r == nil {
		op := u.Ended.Provision
		r = &row{CapacityInstance: u.Ended.Instance, fleet: f, provision: &op}
		w.add(r)
	}
	op := r.edit(r.provision)
	op.State, op.CallOver, op.Reason = fleet.OperationSucceeded, p.Listing.Began, reason.Of(
		reason.FoundByInspection{Ended: true},
	)
	if inventory.IsInstance(u.Resource) {
		w.record(r, u.Resource.ID)
	}
	r.Conflict, r.Account = reason.Reason{}, p.Facts.Account
	return w.tryMove(r, fleet.Terminating, cause, why)
}

// recordFound stores an instance that is only there to be removed.
func (l *Loop) recordFound(w *step, p *inventory.Provider, f fleet.ManagedFleet, found inventory.Found) error {
	i, op, err := p.Record(found, f, l.settings.AgentVersion, w.now)
	if err != nil {
		return err
	}
	r := &row{CapacityInstance: i, fleet: f, provision: &op, dirty: true}
	r.edit(&op)
	w.add(r)
	w.transitions = append(w.transitions, Transition{Instance: r.ID, Fleet: f.Address, To: r.State, Reason: r.Reason})
	return nil
}

// add makes a row part of the step.
func (w *step) add(r *row) {
	w.rows = append(w.rows, r)
	w.byID[r.ID], w.byKey[r.Key], w.byOperation[r.provision.ID] = r, r, r
	w.index(r)
	w.indexBatch(r)
}
