package config

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// readReservation reads capacity that is set aside for a time [98].
func (l *loader) readReservation(block *body) {
	result := fleet.CapacityReservation{Name: block.labels[0]}
	block.need("capacity_class", "capacity_class = capacity_class.NAME")
	block.need("quantity", "quantity = 4")
	block.need("start", "start = \"2027-01-10T08:00:00Z\"")
	block.need("end", "end = \"2027-01-10T18:00:00Z\"")
	if name, ok := block.reference("capacity_class", "capacity_class"); ok {
		result.Class = l.classes[name]
	}
	result.Quantity, _ = block.count("quantity", 1, maxCount)
	start, hasStart := block.moment("start")
	end, hasEnd := block.moment("end")
	result.Start, result.End = start, end
	result.LeadTime, _ = block.duration("lead_time", 0)
	if block.syntax.Attributes["fleet"] != nil {
		result.Fleet, _, _ = block.fleetAddress("fleet", "This can't have a reservation")
	}
	if scope := block.single("scope"); scope != nil {
		result.Scope = scope.fleetScope()
	}
	result.Dedicated, _ = block.boolean("dedicated")
	block.close()
	if result.Dedicated && result.Scope == (fleet.FleetScope{}) {
		l.fail(block.at("dedicated"), block.where, "Dedicated to nobody", "Dedicated capacity is of a tenant or a project. Write scope { tenant = \"NAME\" } as well.")
	}
	if hasStart && hasEnd && !end.After(start) {
		l.fail(block.at("end"), block.where, "The reservation ends before it starts", fmt.Sprintf("It starts at %s. Write a later end.", start.Format("2006-01-02T15:04:05Z07:00")))
	}
	l.definition.Reservations = append(l.definition.Reservations, result)
}
