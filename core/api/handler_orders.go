package api

import (
	"context"
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// ResolveRequest is what a person found out about an instance.
type ResolveRequest struct {
	Outcome string `json:"outcome" enum:"created,not_created,gone" doc:"created: its open provision created provider_instance. not_created: it created nothing. gone: its resource no longer exists."`
	// ProviderInstance is for created.
	ProviderInstance fleet.ProviderInstanceRef `json:"provider_instance,omitempty" maxLength:"512" doc:"With created: the provider's id of the resource."`
}

// DrainRequest says how an instance leaves.
type DrainRequest struct {
	Force bool `json:"force,omitempty" doc:"Give up the job of an instance that is draining or quarantined."`
}

// AdoptRequest names a resource of no instance and the fleet on whose books it
// is removed.
type AdoptRequest struct {
	Provider fleet.ProviderAddress     `json:"provider" minLength:"1" maxLength:"256" doc:"The provider that lists the resource: PLUGIN.NAME."`
	Resource fleet.ProviderInstanceRef `json:"resource" minLength:"1" maxLength:"512" doc:"The provider's id of the resource."`
	Fleet    fleet.FleetAddress        `json:"fleet" minLength:"1" maxLength:"512" doc:"The address of the fleet that counts the resource until it is removed."`
	Remove   bool                      `json:"remove" doc:"Must be true: an adopted resource can't become a runner and is removed."`
}

// The inputs of the orders about one instance or resource.
type (
	resolveInput struct {
		CheckInput
		ID   string `path:"id" maxLength:"64" doc:"The instance's id, or the beginning or end of it."`
		Body ResolveRequest
	}
	replaceInput struct {
		CheckInput
		ID string `path:"id" maxLength:"64" doc:"The instance's id, or the beginning or end of it."`
	}
	drainInput struct {
		CheckInput
		ID   string `path:"id" maxLength:"64" doc:"The instance's id, or the beginning or end of it."`
		Body DrainRequest
	}
	adoptInput struct {
		CheckInput
		Body AdoptRequest
	}
)

func (h *Handler) addOrders() {
	add(h, route{id: "unrecorded", method: http.MethodGet, path: "/v1/unrecorded", useCase: "unrecorded", tag: "instances",
		summary: "List the resources that belong to no live instance",
		about: "Orphans carry a valid proof of ownership and are removed; foreign resources are never touched. Each has " +
			"its reason. At most 100 for each provider."},
		func(ctx context.Context, _ *struct{}) (*body[List[fleet.UnrecordedResource]], error) {
			found, err := h.service.Unrecorded(ctx)
			return listOf(found), err
		})
	add(h, route{id: "resolve-instance", method: http.MethodPost, path: "/v1/instances/{id}/resolve",
		useCase: "instance resolve", tag: "instances", status: http.StatusOK,
		summary: "Resolve an instance whose state the manager can't determine",
		about:   "If the provider's listing or the agent contradicts the outcome, that is a problem 409."},
		func(ctx context.Context, in *resolveInput) (*body[orders.InstanceReceipt], error) {
			return respond(h.orders(in.CheckInput).ResolveInstance(ctx, orders.ResolveRequest{
				Instance: fleet.CapacityInstanceID(in.ID), Outcome: orders.Resolution(in.Body.Outcome),
				Resource: in.Body.ProviderInstance}))
		})
	add(h, route{id: "replace-instance", method: http.MethodPost, path: "/v1/instances/{id}/replace",
		useCase: "instance replace", tag: "instances", status: http.StatusOK,
		summary: "Replace an instance",
		about:   "It is drained after its running job, and its fleet makes another."},
		func(ctx context.Context, in *replaceInput) (*body[orders.InstanceReceipt], error) {
			return respond(h.orders(in.CheckInput).ReplaceInstance(ctx, fleet.CapacityInstanceID(in.ID)))
		})
	add(h, route{id: "drain-instance", method: http.MethodPost, path: "/v1/instances/{id}/drain",
		useCase: "instance drain", tag: "instances", status: http.StatusOK,
		summary: "Drain an instance",
		about: "It is removed after its running job. With force it doesn't wait for the job; an instance that still " +
			"takes jobs is a problem 409."},
		func(ctx context.Context, in *drainInput) (*body[orders.InstanceReceipt], error) {
			return respond(
				h.orders(in.CheckInput).DrainInstance(ctx,
					orders.DrainRequest{Instance: fleet.CapacityInstanceID(in.ID), Force: in.Body.Force}))
		})
	add(h, route{id: "adopt", method: http.MethodPost, path: "/v1/unrecorded/adopt", useCase: "instance adopt",
		tag: "instances", status: http.StatusOK,
		summary: "Adopt an orphan into a fleet and remove it",
		about:   "An inspection that begins now must list it exactly once, and it must belong to no instance."},
		func(ctx context.Context, in *adoptInput) (*body[orders.InstanceReceipt], error) {
			if !in.Body.Remove {
				return nil, &access.InvalidError{
					Reason: "what is adopted is removed, since it can't become a runner: send remove: true if that is meant"}
			}
			return respond(
				h.orders(in.CheckInput).AdoptResource(ctx,
					orders.AdoptRequest{Resource: in.Body.Resource, Provider: in.Body.Provider, Fleet: in.Body.Fleet}))
		})
}

// respond is a response of one value.
func respond[T any](value T, err error) (*body[T], error) { return &body[T]{value}, err }
