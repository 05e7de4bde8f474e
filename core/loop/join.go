package loop

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// takeUpClaims writes the instances that claims ask for, with their operations.
func (w *step) takeUpClaims(unwritten []fleet.CapacityInstanceID) {
	for _, id := range unwritten {
		if r := w.byID[id]; r != nil {
			r.dirty = true
			r.edit(r.provision)
		}
	}
}

// joinClaims joins the claims with their rows.
func (w *step) joinClaims(claims []fleet.AssetClaim) {
	for n := range claims {
		if r := w.byID[claims[n].Instance]; r != nil {
			r.claim = &claims[n]
		}
	}
}

// showClaimed makes the assets of an inspection the resources of the rows that
// claimed them.
func (w *step) showClaimed(e Inspected, listing *inventory.Listing) {
	assets := map[fleet.ProviderInstanceRef]fleet.Resource{}
	for _, res := range e.Inspection.Resources {
		if res.Kind == fleet.AssetKind {
			assets[res.ID] = res
		}
	}
	for _, r := range w.rows {
		if r.Provider != e.Provider || r.claim == nil ||
			r.provision.State == fleet.OperationPending && r.provision.Attempts == 0 {
			continue // a free asset of a request that never went out is not an answer to it
		}
		if res, listed := assets[fleet.ProviderInstanceRef(r.claim.Asset)]; listed {
			listing.AddAsset(res, r.Key)
		}
	}
}

// unassigned says why the request of a row can't go to a provider of an
// inventory; zero: it can, or the provider makes its hosts.
func (r *row) unassigned(f fleet.ProviderFacts) reason.Reason {
	if f.Ownership != fleet.OwnershipAssigned || r.claim != nil {
		return reason.Reason{}
	}
	return reason.Of(reason.HostUnclaimed{Plugin: f.Plugin})
}

// expireJoin ends the claim of a host that no one joined in time. The token is void
// by then, whether or not a manager ran meanwhile. False: the row doesn't wait
// for a person, and its state's deadline counts.
func (l *Loop) expireJoin(w *step, r *row) bool {
	if r.claim == nil || r.claim.Expires.IsZero() || r.runner != nil || !r.Unjoined() {
		return false
	}
	if !w.now.Before(r.claim.Expires) {
		w.move(
			r,
			fleet.Failed,
			lifecycle.DeadlinePassed,
			reason.JoinExpired{Asset: r.Asset, Expired: reason.At(r.claim.Expires)},
		)
	}
	return true
}

// neverJoined says that the row's host was claimed, and no agent ever came from
// it: its end says nothing about the fleet.
func (r *row) neverJoined() bool {
	return r.claim != nil && !r.claim.Expires.IsZero() && r.runner == nil
}

// joinUntil is how long the row's host may be joined; zero: it doesn't wait.
func (r *row) joinUntil() time.Time {
	if r.claim == nil || !r.Unjoined() {
		return time.Time{}
	}
	return r.claim.Expires
}
