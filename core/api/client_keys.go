package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
)

// Refusals is installation.Service's.
func (c *Client) Refusals(ctx context.Context) ([]fleet.Refusal, error) {
	return items[fleet.Refusal](ctx, c, "/v1/refusals", nil)
}

// Keys is installation.Service's.
func (c *Client) Keys(ctx context.Context) ([]keys.Key, error) {
	return items[keys.Key](ctx, c, "/v1/keys", nil)
}

// RotateKey is installation.Service's. It isn't tried again by itself: the list says
// whether it went through.
func (c *Client) RotateKey(ctx context.Context, kind string) (keys.Key, error) {
	if kind == "" {
		return keys.Key{}, &access.InvalidError{Reason: "the kind of the key is missing; see forgeyard-fleet key list"}
	}
	var key keys.Key
	err := c.call(ctx, call{method: http.MethodPost, path: "/v1/keys/" + url.PathEscape(kind) + "/rotate", into: &key})
	return key, err
}

// DeleteKey is installation.Service's.
func (c *Client) DeleteKey(ctx context.Context, id string) error {
	if id == "" {
		return &access.NotFoundError{Kind: "key"}
	}
	return c.call(ctx, call{method: http.MethodDelete, path: "/v1/keys/" + url.PathEscape(id)})
}
