package planner

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// ReservationPlan is what becomes of one reservation that hasn't ended. It is a
// promise of capacity alone: which jobs run there is the scheduler's to say (spec §100).
type ReservationPlan struct {
	fleet.CapacityReservation
	State ReservationState `json:"state"`
	// Shares are the fleets that have the capacity now, where it is asked for now.
	Shares []ReservedShare `json:"shares,omitempty"`
	// Missing is how many of Quantity can't be there at some time from now on, and
	// Reason why.
	Missing int           `json:"missing,omitempty"`
	Reason  reason.Reason `json:"reason,omitzero"`
}

// ReservationState is where a reservation is in time.
type ReservationState string

// Planned: its lead time hasn't begun. Prewarming: it is made before its start.
const (
	ReservationPlanned    ReservationState = "planned"
	ReservationPrewarming ReservationState = "prewarming"
	ReservationActive     ReservationState = "active"
)

// ReservedShare is how many instances of a reservation one fleet has.
type ReservedShare struct {
	Fleet    fleet.FleetAddress `json:"fleet"`
	Quantity int                `json:"quantity"`
}

// allotted is what the reservations come to.
type allotted struct {
	// reservations are those that haven't ended: the file's in their order, then
	// those made by command, the earliest made first. Of two that can't both be
	// had, the first is served first.
	reservations []fleet.CapacityReservation
	plans        []ReservationPlan
	// reserved are the shares of each fleet now.
	reserved map[fleet.RunnerFleetID][]reason.ReservedFor
}

// allotments gives the reservations to the fleets that can have them: now, and,
// to know early of a promise that can't be kept, at every later time at which one
// begins. Overlapping ones add up (spec §232).
func allotments(in *planning) allotted {
	a := allotted{reserved: map[fleet.RunnerFleetID][]reason.ReservedFor{}}
	made := slices.Clone(in.Overrides.Reservations)
	slices.SortFunc(made, func(a, b fleet.CapacityReservation) int { return cmp.Compare(a.ID, b.ID) })
	declared := slices.Clone(in.Reservations)
	slices.SortFunc(declared, func(a, b fleet.CapacityReservation) int { return cmp.Compare(a.Name, b.Name) })
	for _, r := range slices.Concat(declared, made) {
		if in.Now.Before(r.End) {
			a.reservations = append(a.reservations, r)
			a.plans = append(a.plans, ReservationPlan{CapacityReservation: r, State: stateOf(r, in.Now)})
		}
	}
	if len(a.reservations) == 0 {
		return a
	}
	fleets := slices.Clone(in.Governed())
	slices.SortFunc(fleets, func(a, b fleet.ManagedFleet) int { return preferred(&supply{fleet: a}, &supply{fleet: b}) })
	// The same at all times, and dear: classes are compared by their digests.
	all := make([]want, len(a.reservations))
	for n, r := range a.reservations {
		all[n] = wanted(in.Policy, r, fleets)
	}
	for _, at := range a.beginnings(in.Now) {
		a.allotAt(in, fleets, all, at)
	}
	return a
}

func stateOf(r fleet.CapacityReservation, now time.Time) ReservationState {
	switch {
	case !r.Active(now):
		return ReservationPlanned
	case now.Before(r.Start):
		return ReservationPrewarming
	}
	return ReservationActive
}

// beginnings are now and the later times at which more is asked for. Between two
// of them it only gets less.
func (a allotted) beginnings(now time.Time) []time.Time {
	times := []time.Time{now}
	for _, r := range a.reservations {
		if begins := r.Begins(); begins.After(now) {
			times = append(times, begins)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return slices.CompactFunc(times, time.Time.Equal)
}

// allotAt gives out what is asked for at one time, and notes what can't be had.
func (a allotted) allotAt(in *planning, fleets []fleet.ManagedFleet, all []want, at time.Time) {
	var which []int
	var wants []want
	for n, r := range a.reservations {
		if r.Active(at) {
			which, wants = append(which, n), append(wants, all[n])
		}
	}
	room := make([]int, len(fleets))
	for n, f := range fleets {
		room[n] = roomFor(in, f, at)
	}
	given, missing := allot(wants, room)
	for n, r := range which {
		plan := &a.plans[r]
		for f, quantity := range given[n] {
			if quantity > 0 && at.Equal(in.Now) {
				plan.Shares = append(plan.Shares, ReservedShare{fleets[f].Address, quantity})
				a.reserved[fleets[f].ID] = append(
					a.reserved[fleets[f].ID],
					reason.ReservedFor{Reservation: plan.Address(), Instances: quantity},
				)
			}
		}
		if missing[n] > plan.Missing {
			plan.Missing = missing[n]
			plan.Reason = unkept(
				in.Policy,
				plan.CapacityReservation,
				wants[n],
				fleets,
				room,
				missing[n],
				at,
				a.others(n, which, wants, given),
			)
		}
	}
}

// others are the other reservations that have instances of the fleets of want n at
// that time.
func (a allotted) others(n int, which []int, wants []want, given [][]int) (have []reason.ReservedFor) {
	for other, r := range which {
		quantity := 0
		for _, f := range wants[n].fleets {
			quantity += given[other][f]
		}
		if other != n && quantity > 0 {
			have = append(have, reason.ReservedFor{Reservation: a.plans[r].Address(), Instances: quantity})
		}
	}
	return have
}

// roomFor is how many reserved instances a fleet could have. One that a person
// has halted has what it has, for as long as that is so.
func roomFor(in *planning, f fleet.ManagedFleet, at time.Time) int {
	_, most := limitsAt(in, f, at)
	_, barred := in.Overrides.FleetQuarantine(f)
	if at.Equal(in.Now) && (barred || in.Overrides.Apply(f).Operational == fleet.FleetFrozen) {
		there := slices.DeleteFunc(slices.Clone(in.instances), func(i snapshot.Instance) bool { return i.Fleet != f.ID })
		return min(most, count(there).Capacity)
	}
	return most
}

// want is one reservation as the allotment sees it.
type want struct {
	quantity int
	fleets   []int // by index, the preferred ones first
}

func wanted(policy fleet.InstallationPolicy, r fleet.CapacityReservation, fleets []fleet.ManagedFleet) want {
	w := want{quantity: r.Quantity}
	for n, f := range fleets {
		if unreservable(policy, r, f) == nil {
			w.fleets = append(w.fleets, n)
		}
	}
	return w
}

// unreservable is why a fleet can't have a reservation's capacity; nil: it can.
// The checks go from what is far off to what is near.
func unreservable(policy fleet.InstallationPolicy, r fleet.CapacityReservation, f fleet.ManagedFleet) reason.Detail {
	foreign, name := f.Scope != (fleet.FleetScope{}) && f.Scope != r.Scope, string(f.Address)
	switch {
	case r.Class.ID() != f.Class.ID():
		return reason.ReservedClassDiffers{Fleet: name}
	case r.Fleet != "" && r.Fleet != f.Address:
		return reason.ReservedFleetDiffers{Fleet: string(r.Fleet)}
	case foreign:
		return reason.ReservedScopeDiffers{Fleet: name, Scope: reason.Scope(f.Scope)}
	case r.Dedicated && f.Scope != r.Scope:
		return reason.FleetShared{Fleet: name, Scope: reason.Scope(r.Scope)}
	case unentitledScope(policy, r.Scope, f.Class.Name):
		return reason.ReservedNotEntitled{Scope: reason.Scope(r.Scope), Class: f.Class.Name}
	case f.Joined:
		return reason.ReservedFleetJoined{Fleet: name}
	case f.Protected:
		return reason.ReservedFleetProtected{Fleet: name}
	case f.Operational == fleet.FleetDraining:
		return reason.ReservedFleetRemoved{Fleet: name}
	}
	return nil
}

// unkept says why a part of a reservation can't be there: its fleets are too small for
// it, or others have reserved there before it; or both.
func unkept(
	policy fleet.InstallationPolicy,
	r fleet.CapacityReservation,
	w want,
	fleets []fleet.ManagedFleet,
	room []int,
	missing int,
	at time.Time,
	others []reason.ReservedFor,
) reason.Reason {
	if len(w.fleets) == 0 {
		return reason.Of(
			reason.ReservationImpossible{Reservation: r.Address(), Because: reason.Of(noneReservable(policy, r, fleets))},
		)
	}
	var rooms []reason.FleetRoom
	all := 0
	for _, n := range w.fleets {
		rooms = append(rooms, reason.FleetRoom{Fleet: string(fleets[n].Address), Room: room[n]})
		all += room[n]
	}
	return reason.Of(
		reason.ReservationShort{Reservation: r.Address(), Missing: missing, Quantity: r.Quantity, At: reason.At(at),
			Fleets: reason.ListOf(rooms...), Others: reason.ListOf(others...), TooSmall: all < r.Quantity},
	)
}

// noneReservable is what is wrong with the fleet that came nearest.
func noneReservable(
	policy fleet.InstallationPolicy,
	r fleet.CapacityReservation,
	fleets []fleet.ManagedFleet,
) reason.Detail {
	for _, f := range fleets {
		named := r.Fleet == "" || r.Fleet == f.Address
		if named && (r.Class.ID() == f.Class.ID() || r.Fleet != "") {
			return unreservable(policy, r, f)
		}
	}
	if r.Fleet != "" {
		return reason.ReservedFleetUnknown{Fleet: string(r.Fleet)}
	}
	return reason.ReservedClassUnknown{Class: r.Class.Name}
}

// reservedFor is how many instances of a fleet are reserved now, and whose they are.
func reservedFor(in *planning, f fleet.ManagedFleet) (total int, whose []reason.ReservedFor) {
	for _, one := range in.allotted.reserved[f.ID] {
		total += one.Instances
	}
	return total, in.allotted.reserved[f.ID]
}
