package access

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// Unplaced keeps of unplaced demand what is about the caller's fleets: its sentence
// names the nearest one.
func (c Caller) Unplaced(all []planner.UnplacedDemand) (own []planner.UnplacedDemand) {
	if len(c.Fleets) == 0 {
		return all
	}
	for _, u := range all {
		if len(u.Nearest) == 0 || !c.MayTouch(u.Nearest[0].Fleet) {
			continue
		}
		u.Nearest = slices.DeleteFunc(slices.Clone(u.Nearest), func(m planner.NearMiss) bool { return !c.MayTouch(m.Fleet) })
		own = append(own, u)
	}
	return own
}

// MaySee says whether a reservation is the caller's to see.
func (c Caller) MaySee(r fleet.CapacityReservation) bool {
	return len(c.Fleets) == 0 || r.Fleet != "" && c.MayTouch(r.Fleet)
}

// Reservations are those of which the caller may know.
func (c Caller) Reservations(all []planner.ReservationPlan) []planner.ReservationPlan {
	return slices.DeleteFunc(
		slices.Clone(all),
		func(p planner.ReservationPlan) bool { return !c.MaySee(p.CapacityReservation) },
	)
}

// Unrecorded leaves out what isn't of the caller's fleets.
func (c Caller) Unrecorded(u fleet.Unrecorded) fleet.Unrecorded {
	if len(c.Fleets) == 0 {
		return u
	}
	var own fleet.Unrecorded
	for _, one := range u.Resources {
		if one.Fleet != "" && c.MayTouch(one.Fleet) {
			own.Resources, own.Orphans = append(own.Resources, one), own.Orphans+1
		}
	}
	return own
}
