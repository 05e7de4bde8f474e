package render

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// Reservations is a table of reservations, and what part of them is missing.
func (page Page) Reservations(found []planner.ReservationPlan) {
	if len(found) == 0 {
		page.Printf("No reservations.\n")
		return
	}
	page.table(
		[]string{"RESERVATION", "CLASS", "QUANTITY", "START", "END", "STATE", "FOR", "IN", "BY"},
		len(found),
		func(n int) []any {
			r := found[n]
			var in []string
			for _, share := range r.Shares {
				in = append(in, fmt.Sprintf("%s %d", share.Fleet, share.Quantity))
			}
			whom := OrDash(r.Scope.Tenant + r.Scope.Project)
			if r.Dedicated {
				whom += ", dedicated"
			}
			by := r.Made.By
			if r.ID == "" {
				by = "fleet file"
			}
			return []any{
				r.Address(),
				r.Class.Name,
				r.Quantity,
				Moment(r.Start),
				Moment(r.End),
				r.State,
				whom,
				OrDash(strings.Join(in, ", ")),
				by,
			}
		},
	)
	page.Unkept(found)
}

// Unkept shows what part of the reservations isn't available.
func (page Page) Unkept(found []planner.ReservationPlan) {
	for _, r := range found {
		if r.Missing > 0 {
			page.reason("", "! ", r.Reason)
		}
	}
}
