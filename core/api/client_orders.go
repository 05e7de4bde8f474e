package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// Unrecorded is control.Service's.
func (c *Client) Unrecorded(ctx context.Context) ([]fleet.UnrecordedResource, error) {
	return items[fleet.UnrecordedResource](ctx, c, "/v1/unrecorded", nil)
}

// Order is control.Service's. One whose answer is lost may have been carried out;
// sent again it changes nothing more, or says so.
func (c *Client) Order(ctx context.Context, o control.InstanceOrder) (control.OrderReceipt, error) {
	return c.order(ctx, o, nil)
}

// CheckOrder is control.Reader's.
func (c *Client) CheckOrder(ctx context.Context, o control.InstanceOrder) (control.OrderReceipt, error) {
	return c.order(ctx, o, onlyCheck)
}

func (c *Client) order(ctx context.Context, o control.InstanceOrder, query url.Values) (control.OrderReceipt, error) {
	if o.Kind != loop.AdoptResource && o.Instance == "" {
		return control.OrderReceipt{}, &access.NotFoundError{Kind: "instance"}
	}
	instance := "/v1/instances/" + url.PathEscape(string(o.Instance))
	var receipt control.OrderReceipt
	post := call{method: http.MethodPost, query: query, into: &receipt}
	switch o.Kind {
	case loop.ResolveCreated, loop.ResolveNotCreated, loop.ResolveGone:
		post.path, post.send = instance+"/resolve", ResolveRequest{Outcome: string(o.Kind), ProviderInstance: o.Resource}
	case loop.ReplaceInstance:
		post.path = instance + "/replace"
	case loop.DrainInstance, loop.ForceDrain:
		post.path, post.send = instance+"/drain", DrainRequest{Force: o.Kind == loop.ForceDrain}
	case loop.AdoptResource:
		post.path, post.send = "/v1/unrecorded/adopt", AdoptRequest{Provider: o.Provider, Resource: o.Resource, Fleet: o.Fleet, Remove: true}
	default:
		return receipt, &access.InvalidError{Reason: fmt.Sprintf("there is no order %q", o.Kind)}
	}
	return receipt, c.call(ctx, post)
}
