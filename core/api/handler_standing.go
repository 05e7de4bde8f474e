package api

import (
	"context"
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// ScaleRequest replaces a fleet's min, max or both for a time.
type ScaleRequest struct {
	Min        *int   `json:"min,omitempty" minimum:"0" maximum:"100000" doc:"Left out: the file's."`
	Max        *int   `json:"max,omitempty" minimum:"0" maximum:"100000" doc:"Left out: the file's. It may be more than the file's."`
	ForSeconds int64  `json:"for_seconds" minimum:"1" maximum:"2592000" doc:"When it ends by itself: at most 30 days."`
	Reason     string `json:"reason,omitempty" maxLength:"500"`
}

// PinRequest keeps an instance for a time.
type PinRequest struct {
	ForSeconds int64  `json:"for_seconds" minimum:"1" maximum:"2592000" doc:"When it ends by itself: at most 30 days."`
	Reason     string `json:"reason,omitempty" maxLength:"500"`
}

// FreezeRequest stops what the loop does.
type FreezeRequest struct {
	ScaleUpOnly bool   `json:"scale_up_only,omitempty" doc:"Instances start, and none leaves for want of work, age or a newer definition. Else no provider is written to at all."`
	Reason      string `json:"reason,omitempty" maxLength:"500"`
}

// BreakGlassRequest raises a fleet's cost guardrails for a time.
type BreakGlassRequest struct {
	MaxHourly  *Amount `json:"max_hourly,omitempty" doc:"More than the file's, in its currency. Left out: the file's holds, or, without max_daily either, none."`
	MaxDaily   *Amount `json:"max_daily,omitempty" doc:"The same for a day."`
	ForSeconds int64   `json:"for_seconds" minimum:"1" maximum:"259200" doc:"When it ends by itself: at most 3 days."`
	Reason     string  `json:"reason" minLength:"1" maxLength:"500" doc:"Somebody will ask about the money."`
}

// Amount is money.
type Amount struct {
	Micros   int64  `json:"micros" minimum:"1" doc:"Millionths of a unit."`
	Currency string `json:"currency" pattern:"^[A-Z]{3}$"`
}

// money is the amount; none is none.
func (a *Amount) money() fleet.Money {
	if a == nil {
		return fleet.Money{}
	}
	return fleet.Money{Micros: a.Micros, Currency: a.Currency}
}

// amountOf is money as a request has it.
func amountOf(m fleet.Money) *Amount {
	if m.IsZero() {
		return nil
	}
	return &Amount{Micros: m.Micros, Currency: m.Currency}
}

// ReasonRequest says why.
type ReasonRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"500"`
}

// standingInput is a request about one fleet, instance, provider or image.
type standingInput[T any] struct {
	CheckInput
	ID   string `path:"id" maxLength:"512" doc:"What it is about: a fleet's address, name or id; an instance's id, or the beginning or end of it; a provider as PLUGIN.NAME; an image as image.NAME or by its declared digest."`
	Body T
}

// CheckInput is of every order. It is exported since huma fills no fields of a struct
// that isn't: a check would be taken for the order.
type CheckInput struct {
	Check bool `query:"check" doc:"Say what would be done, or refuse it, and change nothing."`
}

// orderOrCheck gives an order, or only says what it would do.
func orderOrCheck[Order, Receipt any](ctx context.Context, check CheckInput, o Order, order, only func(context.Context, Order) (Receipt, error)) (*body[Receipt], error) {
	if check.Check {
		order = only
	}
	receipt, err := order(ctx, o)
	return &body[Receipt]{receipt}, err
}

type endInput struct {
	CheckInput
	ID string `path:"id" maxLength:"512" doc:"What it is about, as it was given."`
}

// standing is one kind of standing order as routes have it.
type standing struct {
	id, path, useCase, tag string
	set, about, end        string
	// of makes the order's subject from what the path says.
	of func(id string) control.StandingOrder
}

func ofFleet(kind control.StandingKind) func(string) control.StandingOrder {
	return func(id string) control.StandingOrder { return control.StandingOrder{Kind: kind, Fleet: id} }
}

func ofInstance(kind control.StandingKind) func(string) control.StandingOrder {
	return func(id string) control.StandingOrder {
		return control.StandingOrder{Kind: kind, Instance: fleet.CapacityInstanceID(id)}
	}
}

func (h *Handler) addStanding() {
	addStanding(h, standing{id: "scale", path: "/v1/fleets/{id}/scale", useCase: "fleet scale", tag: "fleets",
		set:   "Replace a fleet's min, max or both for a time",
		about: "It may be more than the file's max. One that contradicts itself or the file is a problem 422. Another one takes the place of the one before.",
		end:   "Let the file's min and max hold again", of: ofFleet(control.ScaleFleet)},
		func(o *control.StandingOrder, r ScaleRequest) {
			o.Min, o.Max, o.For, o.Reason = r.Min, r.Max, time.Duration(r.ForSeconds)*time.Second, r.Reason
		})
	addStanding(h, standing{id: "pin", path: "/v1/instances/{id}/pin", useCase: "instance pin", tag: "instances",
		set:   "Keep an instance out of scale-downs, max_age and rollouts for a time",
		about: "An operator's drain, a quarantine and the provider still take it.",
		end:   "End a pin", of: ofInstance(control.PinInstance)},
		func(o *control.StandingOrder, r PinRequest) {
			o.For, o.Reason = time.Duration(r.ForSeconds)*time.Second, r.Reason
		})
	addStanding(h, standing{id: "break-glass", path: "/v1/fleets/{id}/break-glass", useCase: "cost override", tag: "fleets",
		set:   "Raise or lift a fleet's cost guardrails for a time",
		about: "Nothing else is relaxed. One that the file doesn't need is a problem 422. Another one takes the place of the one before.",
		end:   "Let the file's cost guardrails hold again", of: ofFleet(control.BreakGlass)},
		func(o *control.StandingOrder, r BreakGlassRequest) {
			o.MaxHourly, o.MaxDaily = r.MaxHourly.money(), r.MaxDaily.money()
			o.For, o.Reason = time.Duration(r.ForSeconds)*time.Second, r.Reason
		})
	freeze := func(o *control.StandingOrder, r FreezeRequest) { o.ScaleUpOnly, o.Reason = r.ScaleUpOnly, r.Reason }
	addStanding(h, standing{id: "freeze", path: "/v1/fleets/{id}/freeze", useCase: "freeze", tag: "fleets",
		set:   "Freeze a fleet",
		about: "Once this is answered no call that starts or ends an instance goes out, whatever its cause; what went out before is answered. Inspections go on.",
		end:   "Thaw a fleet", of: ofFleet(control.FreezeWrites)}, freeze)
	addStanding(h, standing{id: "freeze-provider", path: "/v1/providers/{id}/freeze", useCase: "freeze", tag: "fleets",
		set:   "Freeze all fleets and instances of a provider",
		about: "As for a fleet. Work that other fleets can run goes to them.",
		end:   "Thaw a provider", of: func(id string) control.StandingOrder {
			return control.StandingOrder{Kind: control.FreezeWrites, Provider: fleet.ProviderAddress(id)}
		}}, freeze)
	quarantine := func(o *control.StandingOrder, r ReasonRequest) { o.Reason = r.Reason }
	about := "A job that runs goes on. Once released they aren't trusted again: they leave once no job is on them."
	addStanding(h, standing{id: "quarantine-fleet", path: "/v1/fleets/{id}/quarantine", useCase: "quarantine", tag: "fleets",
		set: "Take a fleet's instances out of work, and let no new ones come", about: about,
		end: "Release a fleet", of: ofFleet(control.QuarantineIt)}, quarantine)
	addStanding(h, standing{id: "quarantine-instance", path: "/v1/instances/{id}/quarantine", useCase: "quarantine", tag: "instances",
		set: "Take an instance out of work", about: about,
		end: "Release an instance", of: ofInstance(control.QuarantineIt)}, quarantine)
	addStanding(h, standing{id: "quarantine-image", path: "/v1/images/{id}/quarantine", useCase: "quarantine", tag: "fleets",
		set: "Take what was made from an image out of work, and make nothing more from it", about: about,
		end: "Release an image", of: func(id string) control.StandingOrder {
			return control.StandingOrder{Kind: control.QuarantineIt, Image: id}
		}}, quarantine)
	h.addReservations()
}

// addStanding makes a standing order's two routes known: POST keeps it, DELETE
// takes it back.
func addStanding[T any](h *Handler, s standing, fill func(*control.StandingOrder, T)) {
	give := func(ctx context.Context, id string, check CheckInput, change func(*control.StandingOrder)) (*body[control.StandingReceipt], error) {
		o := s.of(id)
		change(&o)
		return orderOrCheck(ctx, check, o, h.service.OrderStanding, h.service.CheckStanding)
	}
	add(h, route{id: s.id, method: http.MethodPost, path: s.path, useCase: s.useCase, tag: s.tag, status: http.StatusOK, summary: s.set, about: s.about},
		func(ctx context.Context, in *standingInput[T]) (*body[control.StandingReceipt], error) {
			return give(ctx, in.ID, in.CheckInput, func(o *control.StandingOrder) { fill(o, in.Body) })
		})
	add(h, route{id: "end-" + s.id, method: http.MethodDelete, path: s.path, useCase: s.useCase, tag: s.tag, status: http.StatusOK, summary: s.end,
		about: "Where there is nothing to take back, that is the answer."},
		func(ctx context.Context, in *endInput) (*body[control.StandingReceipt], error) {
			return give(ctx, in.ID, in.CheckInput, func(o *control.StandingOrder) { o.End = true })
		})
}

// NewReservation asks for capacity.
type NewReservation struct {
	Class           string    `json:"capacity_class" minLength:"1" maxLength:"63" doc:"The name of an applied fleet's class."`
	Quantity        int       `json:"quantity" minimum:"1" maximum:"100000"`
	Start           time.Time `json:"start" doc:"With a zone."`
	End             time.Time `json:"end" doc:"With a zone."`
	LeadTimeSeconds int64     `json:"lead_time_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"How long before start it is made."`
	Fleet           string    `json:"fleet,omitempty" maxLength:"512" doc:"The one that has to have it; none: any of the class."`
	Tenant          string    `json:"tenant,omitempty" maxLength:"500" doc:"For whom it is; at most one of tenant and project."`
	Project         string    `json:"project,omitempty" maxLength:"500"`
	Dedicated       bool      `json:"dedicated,omitempty" doc:"Only fleets whose scope is that tenant or project may have it. Else others' jobs may use it, too."`
	Reason          string    `json:"reason,omitempty" maxLength:"500"`
}

func (h *Handler) addReservations() {
	add(h, route{id: "reservations", method: http.MethodGet, path: "/v1/reservations", useCase: "reservations", tag: "reservations",
		summary: "The reservations that haven't ended, of the file and made by command",
		about:   "Each says which fleets have it now, and what of it can't be had at some time, and why."},
		func(ctx context.Context, _ *struct{}) (*body[List[planner.ReservationPlan]], error) {
			found, err := h.service.Reservations(ctx)
			return listOf(found), err
		})
	type reserveInput struct{ Body NewReservation }
	add(h, route{id: "reserve", method: http.MethodPost, path: "/v1/reservations", useCase: "reservation create", tag: "reservations", status: http.StatusCreated,
		summary: "Promise capacity of a class for a time",
		about:   "It makes no lease: the scheduler decides what runs. A promise that can't be kept is kept on the books, and the answer says what is missing."},
		func(ctx context.Context, in *reserveInput) (*body[planner.ReservationPlan], error) {
			r := in.Body
			made, err := h.service.Reserve(ctx, control.ReservationRequest{Class: r.Class, Quantity: r.Quantity, Start: r.Start, End: r.End,
				LeadTime: time.Duration(r.LeadTimeSeconds) * time.Second, Fleet: r.Fleet, Scope: fleet.FleetScope{Tenant: r.Tenant, Project: r.Project},
				Dedicated: r.Dedicated, Reason: r.Reason})
			return &body[planner.ReservationPlan]{made}, err
		})
	type cancelInput struct {
		ID string `path:"id" maxLength:"64" doc:"The reservation's id."`
	}
	add(h, route{id: "delete-reservation", method: http.MethodDelete, path: "/v1/reservations/{id}", useCase: "reservation delete", tag: "reservations", status: http.StatusNoContent,
		summary: "End a reservation that was made by command",
		about:   "Its hosts leave as for any scale-down. One of the file is a problem 409."},
		func(ctx context.Context, in *cancelInput) (*struct{}, error) {
			return nil, h.service.DeleteReservation(ctx, fleet.CapacityReservationID(in.ID))
		})
}
