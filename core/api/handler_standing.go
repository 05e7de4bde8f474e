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
	ScaleUpOnly bool   `json:"scale_up_only,omitempty" doc:"Instances still start, and none is removed for lack of jobs, age or a newer definition. Otherwise nothing is started or removed."`
	Reason      string `json:"reason,omitempty" maxLength:"500"`
}

// CostOverrideRequest raises a fleet's cost guardrails for a time.
type CostOverrideRequest struct {
	MaxHourly  *Amount `json:"max_hourly,omitempty" doc:"More than the file's, in its currency. Left out: the file's holds, or, without max_daily either, none."`
	MaxDaily   *Amount `json:"max_daily,omitempty" doc:"The same for a day."`
	ForSeconds int64   `json:"for_seconds" minimum:"1" maximum:"259200" doc:"When it ends by itself: at most 3 days."`
	Reason     string  `json:"reason" minLength:"1" maxLength:"500" doc:"Others will ask why the fleet cost more."`
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
		set:   "Override a fleet's min, max or both for a time",
		about: "It may be more than the file's max. An override that contradicts itself or the file is a problem 422. A new one replaces the current one.",
		end:   "Clear a scale override", of: ofFleet(control.ScaleFleet)},
		func(o *control.StandingOrder, r ScaleRequest) {
			o.Min, o.Max, o.For, o.Reason = r.Min, r.Max, time.Duration(r.ForSeconds)*time.Second, r.Reason
		})
	addStanding(h, standing{id: "pin", path: "/v1/instances/{id}/pin", useCase: "instance pin", tag: "instances",
		set:   "Exclude an instance from scale-down, max_age and rollouts for a time",
		about: "It is still removed by drain, by a quarantine and by its provider.",
		end:   "Clear a pin", of: ofInstance(control.PinInstance)},
		func(o *control.StandingOrder, r PinRequest) {
			o.For, o.Reason = time.Duration(r.ForSeconds)*time.Second, r.Reason
		})
	addStanding(h, standing{id: "cost-override", path: "/v1/fleets/{id}/cost-override", useCase: "cost override", tag: "fleets",
		set:   "Raise or lift a fleet's cost guardrails for a time",
		about: "No other limit changes. An override that changes nothing is a problem 422. A new one replaces the current one.",
		end:   "Clear a cost override", of: ofFleet(control.BreakGlass)},
		func(o *control.StandingOrder, r CostOverrideRequest) {
			o.MaxHourly, o.MaxDaily = r.MaxHourly.money(), r.MaxDaily.money()
			o.For, o.Reason = time.Duration(r.ForSeconds)*time.Second, r.Reason
		})
	freeze := func(o *control.StandingOrder, r FreezeRequest) { o.ScaleUpOnly, o.Reason = r.ScaleUpOnly, r.Reason }
	addStanding(h, standing{id: "freeze", path: "/v1/fleets/{id}/freeze", useCase: "freeze", tag: "fleets",
		set:   "Freeze a fleet",
		about: "After the answer no call that starts or removes an instance is sent, whatever its cause; calls already sent are completed. Inspections continue.",
		end:   "Clear the freeze of a fleet", of: ofFleet(control.FreezeWrites)}, freeze)
	addStanding(h, standing{id: "freeze-provider", path: "/v1/providers/{id}/freeze", useCase: "freeze", tag: "fleets",
		set:   "Freeze all fleets and instances of a provider",
		about: "As for a fleet. Other fleets take the queued jobs that they can run.",
		end:   "Clear the freeze of a provider", of: func(id string) control.StandingOrder {
			return control.StandingOrder{Kind: control.FreezeWrites, Provider: fleet.ProviderAddress(id)}
		}}, freeze)
	quarantine := func(o *control.StandingOrder, r ReasonRequest) { o.Reason = r.Reason }
	about := "A running job continues. Instances that were quarantined aren't trusted again: each is removed once it has no job."
	addStanding(h, standing{id: "quarantine-fleet", path: "/v1/fleets/{id}/quarantine", useCase: "quarantine", tag: "fleets",
		set: "Take a fleet's instances out of service", about: about,
		end: "Clear the quarantine of a fleet", of: ofFleet(control.QuarantineIt)}, quarantine)
	addStanding(h, standing{id: "quarantine-instance", path: "/v1/instances/{id}/quarantine", useCase: "quarantine", tag: "instances",
		set: "Take an instance out of service", about: about,
		end: "Clear the quarantine of an instance", of: ofInstance(control.QuarantineIt)}, quarantine)
	addStanding(h, standing{id: "quarantine-image", path: "/v1/images/{id}/quarantine", useCase: "quarantine", tag: "fleets",
		set: "Take the instances of an image out of service", about: about,
		end: "Clear the quarantine of an image", of: func(id string) control.StandingOrder {
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
	add(h, route{id: "clear-" + s.id, method: http.MethodDelete, path: s.path, useCase: s.useCase, tag: s.tag, status: http.StatusOK, summary: s.end,
		about: "If there is nothing to clear, the answer says so."},
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
		summary: "The current and future reservations, from the files and created by command",
		about:   "Each names the fleets that provide it, and what part isn't available, when and why."},
		func(ctx context.Context, _ *struct{}) (*body[List[planner.ReservationPlan]], error) {
			found, err := h.service.Reservations(ctx)
			return listOf(found), err
		})
	type reserveInput struct{ Body NewReservation }
	add(h, route{id: "reserve", method: http.MethodPost, path: "/v1/reservations", useCase: "reservation create", tag: "reservations", status: http.StatusCreated,
		summary: "Reserve capacity of a class for a time",
		about:   "The scheduler still decides what runs where. A reservation of which a part isn't available is stored, and the answer says what is missing."},
		func(ctx context.Context, in *reserveInput) (*body[planner.ReservationPlan], error) {
			r := in.Body
			made, err := h.service.Reserve(ctx, control.ReservationRequest{Class: r.Class, Quantity: r.Quantity, Start: r.Start, End: r.End,
				LeadTime: time.Duration(r.LeadTimeSeconds) * time.Second, Fleet: r.Fleet, Scope: fleet.FleetScope{Tenant: r.Tenant, Project: r.Project},
				Dedicated: r.Dedicated, Reason: r.Reason})
			return &body[planner.ReservationPlan]{made}, err
		})
	type deleteInput struct {
		ID string `path:"id" maxLength:"64" doc:"The reservation's id."`
	}
	add(h, route{id: "delete-reservation", method: http.MethodDelete, path: "/v1/reservations/{id}", useCase: "reservation delete", tag: "reservations", status: http.StatusNoContent,
		summary: "Delete a reservation that was created by command",
		about:   "Its instances scale down as usual. One of the file is a problem 409."},
		func(ctx context.Context, in *deleteInput) (*struct{}, error) {
			return nil, h.service.DeleteReservation(ctx, fleet.CapacityReservationID(in.ID))
		})
}
