package planner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// ReservationPlan is what becomes of one reservation that hasn't ended. It is a
// promise of capacity alone: which jobs run there is the scheduler's to say [100].
type ReservationPlan struct {
	fleet.CapacityReservation
	State ReservationState `json:"state"`
	// Shares are the fleets that have the capacity now, where it is asked for now.
	Shares []ReservedShare `json:"shares,omitempty"`
	// Missing is how many of Quantity can't be there at some time from now on, and
	// Sentence why.
	Missing  int    `json:"missing,omitempty"`
	Sentence string `json:"sentence,omitempty"`
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
	reserved map[fleet.RunnerFleetID][]ReservedFrom
}

// ReservedFrom is what a fleet has for one reservation.
type ReservedFrom struct {
	Reservation string
	Quantity    int
}

// allotments gives the reservations to the fleets that can have them: now, and,
// to know early of a promise that can't be kept, at every later time at which one
// begins. Overlapping ones add up [232].
func allotments(in *planning) allotted {
	a := allotted{reserved: map[fleet.RunnerFleetID][]ReservedFrom{}}
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
				a.reserved[fleets[f].ID] = append(a.reserved[fleets[f].ID], ReservedFrom{plan.Address(), quantity})
			}
		}
		if missing[n] > plan.Missing {
			plan.Missing = missing[n]
			plan.Sentence = unkept(in.Policy, plan.CapacityReservation, wants[n], fleets, room, missing[n], at, a.others(n, which, wants, given))
		}
	}
}

// others are the other reservations that have instances of the fleets of want n at
// that time, in words.
func (a allotted) others(n int, which []int, wants []want, given [][]int) (have []string) {
	for other, r := range which {
		quantity := 0
		for _, f := range wants[n].fleets {
			quantity += given[other][f]
		}
		if other != n && quantity > 0 {
			have = append(have, sentence("%d for %s", quantity, a.plans[r].Address()))
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
		if unreservable(policy, r, f) == "" {
			w.fleets = append(w.fleets, n)
		}
	}
	return w
}

// unreservable is why a fleet can't have a reservation's capacity; "": it can.
// The checks go from what is far off to what is near.
func unreservable(policy fleet.InstallationPolicy, r fleet.CapacityReservation, f fleet.ManagedFleet) string {
	foreign := f.Scope != (fleet.FleetScope{}) && f.Scope != r.Scope
	switch {
	case r.Class.ID() != f.Class.ID():
		return sentence("%s is of another capacity class", f.Address)
	case r.Fleet != "" && r.Fleet != f.Address:
		return sentence("it asks for %s and no other", r.Fleet)
	case foreign:
		return sentence("%s is for %s alone", f.Address, scopeWords(f.Scope))
	case r.Dedicated && f.Scope != r.Scope:
		return sentence("%s takes the jobs of others, too, and dedicated capacity needs a fleet whose scope is %s", f.Address, scopeWords(r.Scope))
	case unentitledScope(policy, r.Scope, f.Class.Name):
		return sentence("%s isn't entitled to the class %q", scopeWords(r.Scope), f.Class.Name)
	case f.Joined:
		return sentence("the hosts of %s are joined by a person", f.Address)
	case f.Protected:
		return sentence("%s is protected and keeps the size of its file", f.Address)
	case f.Operational == fleet.FleetDraining:
		return sentence("%s is being removed", f.Address)
	}
	return ""
}

func scopeWords(s fleet.FleetScope) string {
	switch {
	case s.Tenant != "":
		return sentence("the tenant %q", s.Tenant)
	case s.Project != "":
		return sentence("the project %q", s.Project)
	}
	return "one tenant or project"
}

// unkept says why a part of a reservation can't be there: its fleets are too small for
// it, or others have reserved there before it, who are told; or both.
func unkept(policy fleet.InstallationPolicy, r fleet.CapacityReservation, w want, fleets []fleet.ManagedFleet, room []int, missing int, at time.Time, others []string) string {
	if len(w.fleets) == 0 {
		return sentence("%s can't be had: %s.", r.Address(), noneReservable(policy, r, fleets))
	}
	var names []string
	all := 0
	for _, n := range w.fleets {
		names = append(names, sentence("%s with room for %d", fleets[n].Address, room[n]))
		all += room[n]
	}
	why, then := "", "raise max, or ask for less"
	if all < r.Quantity {
		why = ", which is too little"
	}
	if len(others) > 0 {
		why += sentence(", and others have reserved there: %s", strings.Join(others, ", "))
		then = "raise max, move the reservation, or ask for less"
	}
	return sentence("%s: %d of %d can't be there at %s. What can have them is %s%s. To have them all, %s.",
		r.Address(), missing, r.Quantity, moment(at), strings.Join(names, ", "), why, then)
}

// noneReservable is what is wrong with the fleet that came nearest.
func noneReservable(policy fleet.InstallationPolicy, r fleet.CapacityReservation, fleets []fleet.ManagedFleet) string {
	near := sentence("no fleet has the capacity class %q as it was when it was reserved", r.Class.Name)
	for _, f := range fleets {
		named := r.Fleet == "" || r.Fleet == f.Address
		if named && (r.Class.ID() == f.Class.ID() || r.Fleet != "") {
			return unreservable(policy, r, f)
		}
	}
	if r.Fleet != "" {
		return sentence("there is no %s", r.Fleet)
	}
	return near
}

// reservedFor is how many instances of a fleet are reserved now, with whose they
// are in words.
func reservedFor(in *planning, f fleet.ManagedFleet) (total int, text string) {
	var parts []string
	for _, one := range in.allotted.reserved[f.ID] {
		total += one.Quantity
		parts = append(parts, sentence("%d for %s", one.Quantity, one.Reservation))
	}
	return total, strings.Join(parts, ", ")
}
