package reconcile

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// price notes which of its request's offers a row has become, as its provider shows
// it: until then it counts as the dearest of them. What fits none of them stays at
// that.
func (r *row) price() {
	made := slices.DeleteFunc(r.provision.Offers(), func(o fleet.Offer) bool {
		return r.Zone != "" && o.Zone != "" && o.Zone != r.Zone || r.MachineType != "" && o.MachineType != "" && o.MachineType != r.MachineType
	})
	if len(made) == 0 {
		return
	}
	// The file may have changed since, and what an offer leaves to it was decided then.
	at := fleet.CostPolicy{Hourly: r.Cost.Hourly, Minimum: r.Cost.Minimum, BillingPeriod: r.Cost.BillingPeriod}
	if cost := at.Of(made...); cost != r.Cost {
		r.Cost, r.dirty = cost, true
	}
}
