package config

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// readReservation reads capacity that is set aside for a time (spec §98).
func (l *loader) readReservation(block *body) {
	var written reservationBlock
	block.read(&written)
	block.close()
	checkScope(block)
	result := fleet.CapacityReservation{
		Name:      written.Name,
		Class:     l.classes[written.Class],
		Quantity:  written.Quantity,
		Start:     written.Start,
		End:       written.End,
		LeadTime:  written.LeadTime,
		Fleet:     written.Fleet,
		Scope:     written.Scope.scope(),
		Dedicated: written.Dedicated,
	}
	if result.Dedicated && result.Scope == (fleet.FleetScope{}) {
		l.Fail(block.at("dedicated"), block.where, "dedicated needs a scope",
			"Dedicated capacity is for one tenant or project. Write scope { tenant = \"NAME\" } as well.")
	}
	if block.given("start") && block.given("end") && !result.End.After(result.Start) {
		l.Fail(block.at("end"), block.where, "The reservation ends before it starts",
			fmt.Sprintf("It starts at %s. Write a later end.", result.Start.Format(time.RFC3339)))
	}
	l.definition.Reservations = append(l.definition.Reservations, result)
}

// reservationBlockOf is the block that means a reservation.
func reservationBlockOf(r fleet.CapacityReservation) *reservationBlock {
	return &reservationBlock{
		Name: r.Name, Class: r.Class.Name, Quantity: r.Quantity, Start: r.Start, End: r.End, LeadTime: r.LeadTime,
		Fleet: r.Fleet, Scope: scopeOf(r.Scope), Dedicated: r.Dedicated,
	}
}
