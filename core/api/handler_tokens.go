package api

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// TokenRequest is what a token is made from.
type TokenRequest struct {
	Name        string               `json:"name" minLength:"1" maxLength:"63" doc:"A name that no valid token has."`
	Permissions []access.Permission  `json:"permissions" nullable:"false" minItems:"1" maxItems:"16"`
	Fleets      []fleet.FleetAddress `json:"fleets,omitempty" maxItems:"1000" doc:"Limits the token to these fleets. Default: all."`
	ForSeconds  int64                `json:"for_seconds,omitempty" minimum:"0" maximum:"315360000" doc:"How long the token is valid, at most 3650 days; 0: until it is deleted."`
}

// NewToken is a token that was just made.
type NewToken struct {
	Token  access.Token `json:"token"`
	Secret string       `json:"secret" doc:"The token that callers send. It is shown only once."`
}

func (h *Handler) addTokens() {
	type createInput struct{ Body TokenRequest }
	add(
		h,
		route{
			id:      "create-token",
			method:  http.MethodPost,
			path:    "/v1/tokens",
			useCase: "token create",
			tag:     "tokens",
			status:  http.StatusCreated,
			summary: "Create a token",
			about: "With at most the caller's own permissions, fleets and time. If a valid token has the name, that is a " +
				"problem 409: after a lost answer, delete that token and create another.",
		},
		func(ctx context.Context, in *createInput) (*body[NewToken], error) {
			seconds := min(in.Body.ForSeconds, int64(math.MaxInt64/time.Second))
			token, secret, err := h.service.CreateToken(ctx, access.NewToken{
				Name:        in.Body.Name,
				Permissions: in.Body.Permissions,
				Fleets:      in.Body.Fleets,
				For:         time.Duration(seconds) * time.Second,
			})
			return &body[NewToken]{NewToken{token, secret}}, err
		},
	)
	add(h, route{id: "tokens", method: http.MethodGet, path: "/v1/tokens", useCase: "token list", tag: "tokens",
		summary: "List the tokens, without their secrets"},
		func(ctx context.Context, _ *struct{}) (*body[List[access.Token]], error) {
			tokens, err := h.service.Tokens(ctx)
			return listOf(tokens), err
		})
	type deleteInput struct {
		ID string `path:"id" maxLength:"64" doc:"The token's id or name."`
	}
	add(
		h,
		route{
			id:      "delete-token",
			method:  http.MethodDelete,
			path:    "/v1/tokens/{id}",
			useCase: "token delete",
			tag:     "tokens",
			status:  http.StatusNoContent,
			summary: "Delete a token",
		},
		func(ctx context.Context, in *deleteInput) (*struct{}, error) {
			return nil, h.service.DeleteToken(ctx, in.ID)
		},
	)
	add(h, route{id: "audit", method: http.MethodGet, path: "/v1/audit", useCase: "audit", tag: "tokens",
		summary: "List the actions of users, newest first"},
		func(ctx context.Context, in *limitInput) (*body[List[access.AuditRecord]], error) {
			records, err := h.service.Audit(ctx, in.Limit)
			return listOf(records), err
		})
}
