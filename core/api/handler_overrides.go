package api

import (
	"context"
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// ScaleRequest replaces a fleet's min, max or both for a time.
type ScaleRequest struct {
	Min        *int   `json:"min,omitempty" minimum:"0" maximum:"100000" doc:"Default: the file's."`
	Max        *int   `json:"max,omitempty" minimum:"0" maximum:"100000" doc:"Default: the file's. It may be higher than the file's."`
	ForSeconds int64  `json:"for_seconds" minimum:"1" maximum:"2592000" doc:"How long it lasts: at most 30 days."`
	Reason     string `json:"reason,omitempty" maxLength:"500"`
}

// PinRequest keeps an instance for a time.
type PinRequest struct {
	ForSeconds int64  `json:"for_seconds" minimum:"1" maximum:"2592000" doc:"How long it lasts: at most 30 days."`
	Reason     string `json:"reason,omitempty" maxLength:"500"`
}

// FreezeRequest stops what the loop does.
type FreezeRequest struct {
	ScaleUpOnly bool   `json:"scale_up_only,omitempty" doc:"Instances still start, and none is removed for lack of jobs, age or a newer definition. Otherwise nothing is started or removed."`
	Reason      string `json:"reason,omitempty" maxLength:"500"`
}

// CostOverrideRequest raises a fleet's cost guardrails for a time.
type CostOverrideRequest struct {
	MaxHourly  *Amount `json:"max_hourly,omitempty" doc:"Higher than the file's, in its currency. Default: the file's limit applies; without max_daily either, none does."`
	MaxDaily   *Amount `json:"max_daily,omitempty" doc:"As max_hourly, for a day."`
	ForSeconds int64   `json:"for_seconds" minimum:"1" maximum:"259200" doc:"How long it lasts: at most 3 days."`
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

// overrideInput is a request about one fleet, instance, provider or image.
type overrideInput[T any] struct {
	CheckInput
	ID   string `path:"id" maxLength:"512" doc:"The subject: a fleet's address, name or id; an instance's id, or the beginning or end of it; a provider as PLUGIN.NAME; an image as image.NAME or by its declared digest."`
	Body T
}

// CheckInput is of every order. It is exported since huma fills no fields of a struct
// that isn't: a check would be taken for the order.
type CheckInput struct {
	Check bool `query:"check" doc:"Only check: answer what would be done or why it is refused, and change nothing."`
}

// orders are those of the service, or only their checks.
func (h *Handler) orders(check CheckInput) installation.Orders {
	if check.Check {
		return h.service.CheckOrders()
	}
	return h.service.Orders()
}

type clearInput struct {
	CheckInput
	ID string `path:"id" maxLength:"512" doc:"The subject, as it was given."`
}

// override is one kind of override as routes have it.
type override struct {
	id, path, useCase, tag string
	set, about, clear      string
}

func (h *Handler) addOverrides() {
	addOverride(h, override{
		id:      "scale",
		path:    "/v1/fleets/{id}/scale",
		useCase: "fleet scale",
		tag:     "fleets",
		set:     "Override a fleet's min, max or both for a time",
		about: "It may be more than the file's max. An override that contradicts itself or the file is a problem 422. A " +
			"new one replaces the current one.",
		clear: "Clear a scale override",
	},
		func(ctx context.Context, o installation.Orders, id string, r ScaleRequest) (orders.OverrideReceipt, error) {
			return o.ScaleFleet(
				ctx,
				orders.ScaleRequest{Fleet: id, Min: r.Min, Max: r.Max, For: seconds(r.ForSeconds), Reason: r.Reason},
			)
		}, installation.Orders.ClearScale)
	addOverride(h, override{id: "pin", path: "/v1/instances/{id}/pin", useCase: "instance pin", tag: "instances",
		set:   "Exclude an instance from scale-down, max_age and rollouts for a time",
		about: "Drain, a quarantine and its provider still remove it.",
		clear: "Clear a pin"},
		func(ctx context.Context, o installation.Orders, id string, r PinRequest) (orders.OverrideReceipt, error) {
			return o.PinInstance(
				ctx,
				orders.PinRequest{Instance: fleet.CapacityInstanceID(id), For: seconds(r.ForSeconds), Reason: r.Reason},
			)
		}, ofInstance(installation.Orders.ClearPin))
	addOverride(
		h,
		override{
			id:      "cost-override",
			path:    "/v1/fleets/{id}/cost-override",
			useCase: "cost override",
			tag:     "fleets",
			set:     "Raise or lift a fleet's cost guardrails for a time",
			about: "No other limit changes. An override that changes nothing is a problem 422. A new one replaces the " +
				"current one.",
			clear: "Clear a cost override",
		},
		func(ctx context.Context, o installation.Orders, id string, r CostOverrideRequest) (orders.OverrideReceipt, error) {
			return o.OverrideCosts(
				ctx,
				orders.OverrideCostsRequest{Fleet: id, MaxHourly: r.MaxHourly.money(), MaxDaily: r.MaxDaily.money(),
					For: seconds(r.ForSeconds), Reason: r.Reason},
			)
		},
		installation.Orders.ClearCostOverride,
	)
	h.addFreezes()
	h.addQuarantines()
	h.addReservations()
}

func (h *Handler) addFreezes() {
	addOverride(h, override{
		id:      "freeze",
		path:    "/v1/fleets/{id}/freeze",
		useCase: "freeze",
		tag:     "fleets",
		set:     "Freeze a fleet",
		about: "After the answer no call that starts or removes an instance is sent, whatever its cause; calls already " +
			"sent are completed. Inspections continue.",
		clear: "Clear the freeze of a fleet",
	},
		func(ctx context.Context, o installation.Orders, id string, r FreezeRequest) (orders.OverrideReceipt, error) {
			return o.FreezeFleet(ctx, orders.FreezeFleetRequest{Fleet: id, ScaleUpOnly: r.ScaleUpOnly, Reason: r.Reason})
		}, installation.Orders.ClearFleetFreeze)
	addOverride(h, override{id: "freeze-provider", path: "/v1/providers/{id}/freeze", useCase: "freeze", tag: "fleets",
		set:   "Freeze all fleets and instances of a provider",
		about: "As for a fleet. Other fleets take the queued jobs that they can run.",
		clear: "Clear the freeze of a provider"},
		func(ctx context.Context, o installation.Orders, id string, r FreezeRequest) (orders.OverrideReceipt, error) {
			return o.FreezeProvider(
				ctx,
				orders.FreezeProviderRequest{Provider: fleet.ProviderAddress(id), ScaleUpOnly: r.ScaleUpOnly, Reason: r.Reason},
			)
		}, func(o installation.Orders, ctx context.Context, id string) (orders.OverrideReceipt, error) {
			return o.ClearProviderFreeze(ctx, fleet.ProviderAddress(id))
		})
}

func (h *Handler) addQuarantines() {
	about := "A running job continues. Instances that were quarantined aren't trusted again: each is removed once it " +
		"has no job."
	addOverride(
		h,
		override{id: "quarantine-fleet", path: "/v1/fleets/{id}/quarantine", useCase: "quarantine", tag: "fleets",
			set: "Take a fleet's instances out of service", about: about, clear: "Clear the quarantine of a fleet"},
		func(ctx context.Context, o installation.Orders, id string, r ReasonRequest) (orders.OverrideReceipt, error) {
			return o.QuarantineFleet(ctx, orders.QuarantineFleetRequest{Fleet: id, Reason: r.Reason})
		},
		installation.Orders.ClearFleetQuarantine,
	)
	addOverride(
		h,
		override{id: "quarantine-instance", path: "/v1/instances/{id}/quarantine", useCase: "quarantine", tag: "instances",
			set: "Take an instance out of service", about: about, clear: "Clear the quarantine of an instance"},
		func(ctx context.Context, o installation.Orders, id string, r ReasonRequest) (orders.OverrideReceipt, error) {
			return o.QuarantineInstance(
				ctx,
				orders.QuarantineInstanceRequest{Instance: fleet.CapacityInstanceID(id), Reason: r.Reason},
			)
		},
		ofInstance(installation.Orders.ClearInstanceQuarantine),
	)
	addOverride(
		h,
		override{id: "quarantine-image", path: "/v1/images/{id}/quarantine", useCase: "quarantine", tag: "fleets",
			set: "Take the instances of an image out of service", about: about, clear: "Clear the quarantine of an image"},
		func(ctx context.Context, o installation.Orders, id string, r ReasonRequest) (orders.OverrideReceipt, error) {
			return o.QuarantineImage(ctx, orders.QuarantineImageRequest{Image: id, Reason: r.Reason})
		},
		installation.Orders.ClearImageQuarantine,
	)
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// clearing ends the override of what an id names.
type clearing = func(o installation.Orders, ctx context.Context, id string) (orders.OverrideReceipt, error)

func ofInstance(
	clear func(installation.Orders, context.Context, fleet.CapacityInstanceID) (orders.OverrideReceipt, error),
) clearing {
	return func(o installation.Orders, ctx context.Context, id string) (orders.OverrideReceipt, error) {
		return clear(o, ctx, fleet.CapacityInstanceID(id))
	}
}

// addOverride makes an override's two routes known: POST sets it, DELETE clears it.
func addOverride[T any](
	h *Handler,
	r override,
	set func(context.Context, installation.Orders, string, T) (orders.OverrideReceipt, error),
	clear clearing,
) {
	add(
		h,
		route{
			id:      r.id,
			method:  http.MethodPost,
			path:    r.path,
			useCase: r.useCase,
			tag:     r.tag,
			status:  http.StatusOK,
			summary: r.set,
			about:   r.about,
		},
		func(ctx context.Context, in *overrideInput[T]) (*body[orders.OverrideReceipt], error) {
			receipt, err := set(ctx, h.orders(in.CheckInput), in.ID, in.Body)
			return &body[orders.OverrideReceipt]{receipt}, err
		},
	)
	add(
		h,
		route{
			id:      "clear-" + r.id,
			method:  http.MethodDelete,
			path:    r.path,
			useCase: r.useCase,
			tag:     r.tag,
			status:  http.StatusOK,
			summary: r.clear,
			about:   "If nothing can be cleared, the answer says so.",
		},
		func(ctx context.Context, in *clearInput) (*body[orders.OverrideReceipt], error) {
			receipt, err := clear(h.orders(in.CheckInput), ctx, in.ID)
			return &body[orders.OverrideReceipt]{receipt}, err
		},
	)
}
