package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Images is control.Service's.
func (c *Client) Images(ctx context.Context) ([]view.ImageReport, error) {
	return items[view.ImageReport](ctx, c, "/v1/images", nil)
}

// OrderRollout is control.Service's. One whose answer is lost may be sent again: a
// fleet that is rolled back isn't rolled back further.
func (c *Client) OrderRollout(ctx context.Context, r control.RolloutRequest) (control.RolloutReceipt, error) {
	return c.orderRollout(ctx, r, nil)
}

// CheckRollout is control.Reader's.
func (c *Client) CheckRollout(ctx context.Context, r control.RolloutRequest) (control.RolloutReceipt, error) {
	return c.orderRollout(ctx, r, onlyCheck)
}

func (c *Client) orderRollout(ctx context.Context, r control.RolloutRequest, query url.Values) (control.RolloutReceipt, error) {
	var receipt control.RolloutReceipt
	if r.Subject == "" {
		return receipt, &access.NotFoundError{Kind: "fleet"}
	}
	of := "fleets"
	if strings.HasPrefix(r.Subject, "image.") || strings.HasPrefix(r.Subject, "sha256:") {
		of = "images"
	}
	one := call{method: http.MethodPost, path: "/v1/" + of + "/" + url.PathEscape(r.Subject), query: query, into: &receipt}
	switch r.Action {
	case fleet.PauseRollout, fleet.ResumeRollout:
		one.path += "/rollout"
		one.send = ResumeRequest{Pause: r.Action == fleet.PauseRollout, SkipSoak: r.SkipSoak, Reason: r.Reason}
	case fleet.RollBack:
		one.path += "/rollback"
		one.send = ReasonRequest{Reason: r.Reason}
	default:
		return receipt, &access.InvalidError{Reason: fmt.Sprintf("there is no word %q about a rollout", r.Action)}
	}
	return receipt, c.call(ctx, one)
}
