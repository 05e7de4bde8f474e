package loop

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// price notes which of its request's offers a row has become, as its provider shows
// it: until then it counts as the dearest of them. What fits none of them stays at
// that.
func (r *row) price() {
	made := slices.DeleteFunc(r.provision.Offers(), func(o fleet.Offer) bool {
		return r.Zone != "" && o.Zone != "" && o.Zone != r.Zone ||
			r.MachineType != "" && o.MachineType != "" && o.MachineType != r.MachineType
	})
	if len(made) == 0 {
		return
	}
	cost := r.fleet.Cost.Of(made...)
	if cost.Hourly.Currency == "" { // the file had said what the offer doesn't
		cost.Hourly = r.Cost.Hourly
	}
	if cost != r.Cost {
		r.Cost, r.dirty = cost, true
	}
}
