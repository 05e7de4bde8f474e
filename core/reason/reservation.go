package reason

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// ReservationImpossible: no fleet can have a reservation's capacity.
type ReservationImpossible struct {
	Reservation string `json:"reservation"`
	// Because is what is wrong with the fleet that came nearest.
	Because Reason `json:"because"`
}

// Text implements Detail.
func (d ReservationImpossible) Text() string {
	return fmt.Sprintf("%s can't be kept: %s", d.Reservation, d.Because.Text())
}

// FleetRoom is how many instances a fleet could have for reservations.
type FleetRoom struct {
	Fleet string `json:"fleet"`
	Room  int    `json:"room"`
}

// ReservationShort: a part of a reservation can't be there at some time.
type ReservationShort struct {
	Reservation string            `json:"reservation"`
	Missing     int               `json:"missing"`
	Quantity    int               `json:"quantity"`
	At          Instant           `json:"at"`
	Fleets      List[FleetRoom]   `json:"fleets"`
	Others      List[ReservedFor] `json:"others"`
	// TooSmall says that the fleets couldn't have it without the others either.
	TooSmall bool `json:"too_small,omitempty"`
}

// Text implements Detail.
func (d ReservationShort) Text() string {
	rooms := d.Fleets.parts(func(f FleetRoom) string { return fmt.Sprintf("%s has room for %d", f.Fleet, f.Room) })
	said := fmt.Sprintf("%s: %d of %d missing at %s; %s", d.Reservation, d.Missing, d.Quantity,
		text.Moment(d.At.Time()), strings.Join(rooms, ", "))
	if d.Others.Len() == 0 {
		return said + "; raise max, or ask for less"
	}
	return said + ", of which " + strings.Join(d.Others.parts(ReservedFor.text), ", ") +
		"; raise max, move the reservation, or ask for less"
}

// ReservedClassDiffers: a fleet has another capacity class than a reservation.
type ReservedClassDiffers struct {
	Fleet string `json:"fleet"`
}

// Text implements Detail.
func (d ReservedClassDiffers) Text() string { return d.Fleet + " has another capacity class" }

// ReservedFleetDiffers: a reservation is for another fleet.
type ReservedFleetDiffers struct {
	Fleet string `json:"fleet"`
}

// Text implements Detail.
func (d ReservedFleetDiffers) Text() string { return "it is for " + d.Fleet + " only" }

// ReservedScopeDiffers: a fleet is for another tenant or project than a reservation.
type ReservedScopeDiffers struct {
	Fleet string `json:"fleet"`
	Scope Scope  `json:"scope"`
}

// Text implements Detail.
func (d ReservedScopeDiffers) Text() string {
	return fmt.Sprintf("%s is for %s only", d.Fleet, d.Scope.text())
}

// FleetShared: a fleet takes the jobs of others too, and a reservation is dedicated.
type FleetShared struct {
	Fleet string `json:"fleet"`
	Scope Scope  `json:"scope"`
}

// Text implements Detail.
func (d FleetShared) Text() string {
	return fmt.Sprintf("%s also runs others' jobs; dedicated capacity needs a fleet with the scope %s",
		d.Fleet, d.Scope.text())
}

// ReservedNotEntitled: no one whom a reservation is for is entitled to its class.
type ReservedNotEntitled struct {
	Scope Scope  `json:"scope"`
	Class string `json:"class"`
}

// Text implements Detail.
func (d ReservedNotEntitled) Text() string {
	return fmt.Sprintf("%s is not entitled to the class %q", d.Scope.text(), d.Class)
}

// ReservedFleetJoined: the hosts of a fleet are joined by hand, so none can be reserved.
type ReservedFleetJoined struct {
	Fleet string `json:"fleet"`
}

// Text implements Detail.
func (d ReservedFleetJoined) Text() string { return "the hosts of " + d.Fleet + " are joined by hand" }

// ReservedFleetProtected: a protected fleet keeps the size in its file.
type ReservedFleetProtected struct {
	Fleet string `json:"fleet"`
}

// Text implements Detail.
func (d ReservedFleetProtected) Text() string {
	return d.Fleet + " is protected and keeps the size in its file"
}

// ReservedFleetRemoved: a fleet is being removed.
type ReservedFleetRemoved struct {
	Fleet string `json:"fleet"`
}

// Text implements Detail.
func (d ReservedFleetRemoved) Text() string { return d.Fleet + " is being removed" }

// ReservedFleetUnknown: there is no fleet of the name that a reservation asks for.
type ReservedFleetUnknown struct {
	Fleet string `json:"fleet"`
}

// Text implements Detail.
func (d ReservedFleetUnknown) Text() string { return "there is no " + d.Fleet }

// ReservedClassUnknown: no fleet has a capacity class as it was when it was reserved.
type ReservedClassUnknown struct {
	Class string `json:"class"`
}

// Text implements Detail.
func (d ReservedClassUnknown) Text() string {
	return fmt.Sprintf("no fleet has the capacity class %q as it was when it was reserved", d.Class)
}

var reservationReasons = []Detail{
	ReservationImpossible{"reservation.release", Of(ReservedFleetUnknown{"fleet.mac"})},
	ReservationShort{Reservation: "reservation.release", Missing: 2, Quantity: 5, At: exampleInstant,
		Fleets: ListOf(FleetRoom{"fleet.linux", 3}), TooSmall: true},
	ReservedClassDiffers{"fleet.linux"},
	ReservedFleetDiffers{"fleet.linux"},
	ReservedScopeDiffers{"fleet.linux", Scope{Tenant: "mobile"}},
	FleetShared{"fleet.linux", Scope{Tenant: "mobile"}},
	ReservedNotEntitled{Scope{Tenant: "mobile"}, "mac"},
	ReservedFleetJoined{"fleet.linux"},
	ReservedFleetProtected{"fleet.linux"},
	ReservedFleetRemoved{"fleet.linux"},
	ReservedFleetUnknown{"fleet.mac"},
	ReservedClassUnknown{"mac"},
}
