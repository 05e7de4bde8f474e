package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// Unrecorded is installation.Service's.
func (c *Client) Unrecorded(ctx context.Context) ([]fleet.UnrecordedResource, error) {
	return items[fleet.UnrecordedResource](ctx, c, "/v1/unrecorded", nil)
}

// onlyCheck asks what an order would do.
var onlyCheck = url.Values{"check": {"true"}}

// orderClient sends orders, or asks for their checks. An order whose answer is lost
// may be sent again: an override takes its own place, and another order changes
// nothing more, or says so.
type orderClient struct {
	client *Client
	query  url.Values
}

var _ installation.Orders = orderClient{}

// Orders is installation.Service's.
func (c *Client) Orders() installation.Orders { return orderClient{client: c} }

// CheckOrders is installation.Reader's.
func (c *Client) CheckOrders() installation.Orders { return orderClient{c, onlyCheck} }

// send makes a request about what a kind ("fleets") and an id name; without an id
// there is nothing to send.
func send[T any](
	ctx context.Context,
	o orderClient,
	method, kind, id, what string,
	request any,
) (receipt T, err error) {
	if id == "" {
		return receipt, &access.NotFoundError{Kind: strings.TrimSuffix(kind, "s")}
	}
	return receipt, o.client.call(ctx, call{
		method: method,
		path:   "/v1/" + kind + "/" + url.PathEscape(id) + "/" + what,
		query:  o.query,
		send:   request,
		into:   &receipt,
	})
}

func (o orderClient) set(ctx context.Context, kind, id, what string, request any) (orders.OverrideReceipt, error) {
	return send[orders.OverrideReceipt](ctx, o, http.MethodPost, kind, id, what, request)
}

func (o orderClient) clear(ctx context.Context, kind, id, what string) (orders.OverrideReceipt, error) {
	return send[orders.OverrideReceipt](ctx, o, http.MethodDelete, kind, id, what, nil)
}

func (o orderClient) ScaleFleet(ctx context.Context, r orders.ScaleRequest) (orders.OverrideReceipt, error) {
	return o.set(
		ctx,
		"fleets",
		r.Fleet,
		"scale",
		ScaleRequest{Min: r.Min, Max: r.Max, ForSeconds: wholeSeconds(r.For), Reason: r.Reason},
	)
}

func (o orderClient) ClearScale(ctx context.Context, fleetName string) (orders.OverrideReceipt, error) {
	return o.clear(ctx, "fleets", fleetName, "scale")
}

func (o orderClient) FreezeFleet(ctx context.Context, r orders.FreezeFleetRequest) (orders.OverrideReceipt, error) {
	return o.set(ctx, "fleets", r.Fleet, "freeze", FreezeRequest{ScaleUpOnly: r.ScaleUpOnly, Reason: r.Reason})
}

func (o orderClient) ClearFleetFreeze(ctx context.Context, fleetName string) (orders.OverrideReceipt, error) {
	return o.clear(ctx, "fleets", fleetName, "freeze")
}

func (o orderClient) QuarantineFleet(
	ctx context.Context,
	r orders.QuarantineFleetRequest,
) (orders.OverrideReceipt, error) {
	return o.set(ctx, "fleets", r.Fleet, "quarantine", ReasonRequest{Reason: r.Reason})
}

func (o orderClient) ClearFleetQuarantine(ctx context.Context, fleetName string) (orders.OverrideReceipt, error) {
	return o.clear(ctx, "fleets", fleetName, "quarantine")
}

func (o orderClient) OverrideCosts(ctx context.Context, r orders.OverrideCostsRequest) (orders.OverrideReceipt, error) {
	return o.set(ctx, "fleets", r.Fleet, "cost-override", CostOverrideRequest{
		MaxHourly: amountOf(r.MaxHourly), MaxDaily: amountOf(r.MaxDaily), ForSeconds: wholeSeconds(r.For), Reason: r.Reason})
}

func (o orderClient) ClearCostOverride(ctx context.Context, fleetName string) (orders.OverrideReceipt, error) {
	return o.clear(ctx, "fleets", fleetName, "cost-override")
}

func (o orderClient) FreezeProvider(
	ctx context.Context,
	r orders.FreezeProviderRequest,
) (orders.OverrideReceipt, error) {
	return o.set(
		ctx,
		"providers",
		string(r.Provider),
		"freeze",
		FreezeRequest{ScaleUpOnly: r.ScaleUpOnly, Reason: r.Reason},
	)
}

func (o orderClient) ClearProviderFreeze(
	ctx context.Context,
	address fleet.ProviderAddress,
) (orders.OverrideReceipt, error) {
	return o.clear(ctx, "providers", string(address), "freeze")
}

func (o orderClient) PinInstance(ctx context.Context, r orders.PinRequest) (orders.OverrideReceipt, error) {
	return o.set(
		ctx,
		"instances",
		string(r.Instance),
		"pin",
		PinRequest{ForSeconds: wholeSeconds(r.For), Reason: r.Reason},
	)
}

func (o orderClient) ClearPin(ctx context.Context, id fleet.CapacityInstanceID) (orders.OverrideReceipt, error) {
	return o.clear(ctx, "instances", string(id), "pin")
}

func (o orderClient) QuarantineInstance(
	ctx context.Context,
	r orders.QuarantineInstanceRequest,
) (orders.OverrideReceipt, error) {
	return o.set(ctx, "instances", string(r.Instance), "quarantine", ReasonRequest{Reason: r.Reason})
}

func (o orderClient) ClearInstanceQuarantine(
	ctx context.Context,
	id fleet.CapacityInstanceID,
) (orders.OverrideReceipt, error) {
	return o.clear(ctx, "instances", string(id), "quarantine")
}

func (o orderClient) QuarantineImage(
	ctx context.Context,
	r orders.QuarantineImageRequest,
) (orders.OverrideReceipt, error) {
	return o.set(ctx, "images", r.Image, "quarantine", ReasonRequest{Reason: r.Reason})
}

func (o orderClient) ClearImageQuarantine(ctx context.Context, image string) (orders.OverrideReceipt, error) {
	return o.clear(ctx, "images", image, "quarantine")
}

// instance sends what the loop carries out about an instance.
func (o orderClient) instance(
	ctx context.Context,
	id fleet.CapacityInstanceID,
	what string,
	request any,
) (orders.InstanceReceipt, error) {
	return send[orders.InstanceReceipt](ctx, o, http.MethodPost, "instances", string(id), what, request)
}

func (o orderClient) ResolveInstance(ctx context.Context, r orders.ResolveRequest) (orders.InstanceReceipt, error) {
	return o.instance(ctx, r.Instance, "resolve", ResolveRequest{Outcome: string(r.Outcome), ProviderInstance: r.Resource})
}

func (o orderClient) ReplaceInstance(ctx context.Context, id fleet.CapacityInstanceID) (orders.InstanceReceipt, error) {
	return o.instance(ctx, id, "replace", nil)
}

func (o orderClient) DrainInstance(ctx context.Context, r orders.DrainRequest) (orders.InstanceReceipt, error) {
	return o.instance(ctx, r.Instance, "drain", DrainRequest{Force: r.Force})
}

func (o orderClient) AdoptResource(
	ctx context.Context,
	r orders.AdoptRequest,
) (receipt orders.InstanceReceipt, err error) {
	return receipt, o.client.call(
		ctx,
		call{method: http.MethodPost, path: "/v1/unrecorded/adopt", query: o.query, into: &receipt,
			send: AdoptRequest{Provider: r.Provider, Resource: r.Resource, Fleet: r.Fleet, Remove: true}},
	)
}

// rollout sends a word about the rollouts of a fleet, or of every fleet of an image.
func (o orderClient) rollout(ctx context.Context, subject, what string, request any) (orders.RolloutReceipt, error) {
	kind := "fleets"
	if strings.HasPrefix(subject, "image.") || strings.HasPrefix(subject, "sha256:") {
		kind = "images"
	}
	return send[orders.RolloutReceipt](ctx, o, http.MethodPost, kind, subject, what, request)
}

func (o orderClient) PauseRollout(ctx context.Context, r orders.RolloutRequest) (orders.RolloutReceipt, error) {
	return o.rollout(ctx, r.Subject, "rollout", ResumeRequest{Pause: true, Reason: r.Reason})
}

func (o orderClient) ResumeRollout(ctx context.Context, r orders.ResumeRequest) (orders.RolloutReceipt, error) {
	return o.rollout(ctx, r.Subject, "rollout", ResumeRequest{SkipSoak: r.SkipSoak, Reason: r.Reason})
}

func (o orderClient) RollBack(ctx context.Context, r orders.RolloutRequest) (orders.RolloutReceipt, error) {
	return o.rollout(ctx, r.Subject, "rollback", ReasonRequest{Reason: r.Reason})
}
