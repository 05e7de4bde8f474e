package api

import (
	"context"
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
)

func (h *Handler) addKeys() {
	add(h, route{
		id:      "refusals",
		method:  http.MethodGet,
		path:    "/v1/refusals",
		useCase: "refusals",
		tag:     "instances",
		summary: "List the agent calls refused since the manager started",
		about: "Counted by instance and code, latest first. Calls without an instance's token or certificate have no " +
			"instance; callers limited to fleets see the calls of their instances.",
	},
		func(ctx context.Context, _ *struct{}) (*body[List[fleet.Refusal]], error) {
			refusals, err := h.service.Refusals(ctx)
			return listOf(refusals), err
		})
	add(h, route{id: "keys", method: http.MethodGet, path: "/v1/keys", useCase: "key list", tag: "keys",
		summary: "List the installation's keys, without key material",
		about:   "For each kind, the current key first, then older keys that are still trusted."},
		func(ctx context.Context, _ *struct{}) (*body[List[keys.Key]], error) {
			keys, err := h.service.Keys(ctx)
			return listOf(keys), err
		})
	type rotateInput struct {
		Kind string `path:"kind" maxLength:"64" doc:"The kind of the key, as the list shows it."`
	}
	add(h, route{id: "rotate-key", method: http.MethodPost, path: "/v1/keys/{kind}/rotate", useCase: "key rotate",
		tag: "keys", status: http.StatusCreated,
		summary: "Replace a key with a new one",
		about: "The old one stays trusted until nothing needs it; until then another rotation of the kind is a " +
			"problem 409."},
		func(ctx context.Context, in *rotateInput) (*body[keys.Key], error) {
			key, err := h.service.RotateKey(ctx, in.Kind)
			return &body[keys.Key]{key}, err
		})
	type deleteInput struct {
		ID string `path:"id" maxLength:"64" doc:"The key's id."`
	}
	add(h, route{id: "delete-key", method: http.MethodDelete, path: "/v1/keys/{id}", useCase: "key delete",
		tag: "keys", status: http.StatusNoContent,
		summary: "Delete an old key",
		about: "An old key that nothing needs is deleted automatically within an hour. A key that is in use or still " +
			"needed is a problem 409 that names what needs it."},
		func(ctx context.Context, in *deleteInput) (*struct{}, error) {
			return nil, h.service.DeleteKey(ctx, in.ID)
		})
}
