package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// onlyCheck asks what an order would do.
var onlyCheck = url.Values{"check": {"true"}}

// OrderStanding is control.Service's. One whose answer is lost may be sent again:
// it takes its own place.
func (c *Client) OrderStanding(ctx context.Context, o control.StandingOrder) (control.StandingReceipt, error) {
	return c.orderStanding(ctx, o, nil)
}

// CheckStanding is control.Reader's.
func (c *Client) CheckStanding(ctx context.Context, o control.StandingOrder) (control.StandingReceipt, error) {
	return c.orderStanding(ctx, o, onlyCheck)
}

func (c *Client) orderStanding(ctx context.Context, o control.StandingOrder, query url.Values) (control.StandingReceipt, error) {
	var receipt control.StandingReceipt
	one := call{method: http.MethodPost, query: query, into: &receipt}
	switch o.Kind {
	case control.ScaleFleet:
		one.send = ScaleRequest{Min: o.Min, Max: o.Max, ForSeconds: wholeSeconds(o.For), Reason: o.Reason}
	case control.PinInstance:
		one.send = PinRequest{ForSeconds: wholeSeconds(o.For), Reason: o.Reason}
	case control.FreezeWrites:
		one.send = FreezeRequest{ScaleUpOnly: o.ScaleUpOnly, Reason: o.Reason}
	case control.BreakGlass:
		one.send = CostOverrideRequest{MaxHourly: amountOf(o.MaxHourly), MaxDaily: amountOf(o.MaxDaily), ForSeconds: wholeSeconds(o.For), Reason: o.Reason}
	case control.QuarantineIt:
		one.send = ReasonRequest{Reason: o.Reason}
	default:
		return receipt, &access.InvalidError{Reason: fmt.Sprintf("there is no standing order %q", o.Kind)}
	}
	subject := ""
	switch {
	case o.Fleet != "":
		subject = "fleets/" + url.PathEscape(o.Fleet)
	case o.Instance != "":
		subject = "instances/" + url.PathEscape(string(o.Instance))
	case o.Provider != "":
		subject = "providers/" + url.PathEscape(string(o.Provider))
	case o.Image != "":
		subject = "images/" + url.PathEscape(o.Image)
	default:
		return receipt, &access.NotFoundError{Kind: "fleet"}
	}
	one.path = "/v1/" + subject + "/" + string(o.Kind)
	if o.End {
		one.method, one.send = http.MethodDelete, nil
	}
	return receipt, c.call(ctx, one)
}

// wholeSeconds rounds up, so that a short time isn't none.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Reservations is control.Service's.
func (c *Client) Reservations(ctx context.Context) ([]planner.ReservationPlan, error) {
	return items[planner.ReservationPlan](ctx, c, "/v1/reservations", nil)
}

// Reserve is control.Service's. It isn't tried again by itself: the list says
// whether it went through.
func (c *Client) Reserve(ctx context.Context, r control.ReservationRequest) (planner.ReservationPlan, error) {
	var made planner.ReservationPlan
	err := c.call(ctx, call{method: http.MethodPost, path: "/v1/reservations", into: &made, send: NewReservation{
		Class: r.Class, Quantity: r.Quantity, Start: r.Start, End: r.End, LeadTimeSeconds: wholeSeconds(r.LeadTime), Fleet: r.Fleet,
		Tenant: r.Scope.Tenant, Project: r.Scope.Project, Dedicated: r.Dedicated, Reason: r.Reason}})
	return made, err
}

// DeleteReservation is control.Service's.
func (c *Client) DeleteReservation(ctx context.Context, id fleet.CapacityReservationID) error {
	if id == "" {
		return &access.NotFoundError{Kind: "reservation"}
	}
	return c.call(ctx, call{method: http.MethodDelete, path: "/v1/reservations/" + url.PathEscape(string(id))})
}
