package api

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Images is installation.Service's.
func (c *Client) Images(ctx context.Context) ([]view.ImageReport, error) {
	return items[view.ImageReport](ctx, c, "/v1/images", nil)
}
