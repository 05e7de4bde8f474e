package api

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// wholeSeconds rounds up, so that a short time isn't none.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Reservations is installation.Service's.
func (c *Client) Reservations(ctx context.Context) ([]planner.ReservationPlan, error) {
	return items[planner.ReservationPlan](ctx, c, "/v1/reservations", nil)
}

// CreateReservation is installation.Service's. It isn't tried again by itself: the list says
// whether it went through.
func (c *Client) CreateReservation(ctx context.Context, r orders.ReservationRequest) (planner.ReservationPlan, error) {
	var made planner.ReservationPlan
	err := c.call(ctx, call{method: http.MethodPost, path: "/v1/reservations", into: &made, send: NewReservation{
		Class:           r.Class,
		Quantity:        r.Quantity,
		Start:           r.Start,
		End:             r.End,
		LeadTimeSeconds: wholeSeconds(r.LeadTime),
		Fleet:           r.Fleet,
		Tenant:          r.Scope.Tenant,
		Project:         r.Scope.Project,
		Dedicated:       r.Dedicated,
		Reason:          r.Reason,
	}})
	return made, err
}

// DeleteReservation is installation.Service's.
func (c *Client) DeleteReservation(ctx context.Context, id fleet.CapacityReservationID) error {
	if id == "" {
		return &access.NotFoundError{Kind: "reservation"}
	}
	return c.call(ctx, call{method: http.MethodDelete, path: "/v1/reservations/" + url.PathEscape(string(id))})
}
