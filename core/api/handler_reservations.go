package api

import (
	"context"
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// NewReservation asks for capacity.
type NewReservation struct {
	Class           string    `json:"capacity_class" minLength:"1" maxLength:"63" doc:"The capacity class of an applied fleet."`
	Quantity        int       `json:"quantity" minimum:"1" maximum:"100000"`
	Start           time.Time `json:"start" doc:"With a zone."`
	End             time.Time `json:"end" doc:"With a zone."`
	LeadTimeSeconds int64     `json:"lead_time_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"How long before start the capacity is prepared."`
	Fleet           string    `json:"fleet,omitempty" maxLength:"512" doc:"The fleet that provides it. Default: any fleet of the class."`
	Tenant          string    `json:"tenant,omitempty" maxLength:"500" doc:"The tenant it is for; at most one of tenant and project."`
	Project         string    `json:"project,omitempty" maxLength:"500"`
	Dedicated       bool      `json:"dedicated,omitempty" doc:"Only fleets whose scope is that tenant or project may provide it. Else other jobs may use it, too."`
	Reason          string    `json:"reason,omitempty" maxLength:"500"`
}

func (h *Handler) addReservations() {
	add(h, route{id: "reservations", method: http.MethodGet, path: "/v1/reservations", useCase: "reservations",
		tag:     "reservations",
		summary: "List the current and future reservations",
		about: "From the files and created by command. Each names the fleets that provide it, and what part isn't " +
			"available, when and why."},
		func(ctx context.Context, _ *struct{}) (*body[List[planner.ReservationPlan]], error) {
			found, err := h.service.Reservations(ctx)
			return listOf(found), err
		})
	type reserveInput struct{ Body NewReservation }
	add(h, route{id: "reserve", method: http.MethodPost, path: "/v1/reservations", useCase: "reservation create",
		tag: "reservations", status: http.StatusCreated,
		summary: "Reserve capacity of a class for a time",
		about: "The scheduler still decides what runs where. A reservation of which a part isn't available is stored, " +
			"and the answer says what is missing."},
		func(ctx context.Context, in *reserveInput) (*body[planner.ReservationPlan], error) {
			r := in.Body
			made, err := h.service.CreateReservation(ctx,
				orders.ReservationRequest{Class: r.Class, Quantity: r.Quantity, Start: r.Start, End: r.End,
					LeadTime: time.Duration(r.LeadTimeSeconds) * time.Second, Fleet: r.Fleet,
					Scope:     fleet.FleetScope{Tenant: r.Tenant, Project: r.Project},
					Dedicated: r.Dedicated, Reason: r.Reason})
			return &body[planner.ReservationPlan]{made}, err
		})
	type deleteInput struct {
		ID string `path:"id" maxLength:"64" doc:"The reservation's id."`
	}
	add(h, route{id: "delete-reservation", method: http.MethodDelete, path: "/v1/reservations/{id}",
		useCase: "reservation delete", tag: "reservations", status: http.StatusNoContent,
		summary: "Delete a reservation that was created by command",
		about:   "Its instances scale down as usual. A reservation of the file is a problem 409."},
		func(ctx context.Context, in *deleteInput) (*struct{}, error) {
			return nil, h.service.DeleteReservation(ctx, fleet.CapacityReservationID(in.ID))
		})
}
