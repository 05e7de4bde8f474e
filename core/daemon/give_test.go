package daemon

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/ordertest"
)

// give gives an override.
func give(ctx context.Context, o installation.Orders, order any) (orders.OverrideReceipt, error) {
	receipt, err := ordertest.Give(ctx, o, order)
	return receipt.(orders.OverrideReceipt), err
}

// giveInstance gives an order that the loop carries out.
func giveInstance(ctx context.Context, o installation.Orders, order any) (orders.InstanceReceipt, error) {
	receipt, err := ordertest.Give(ctx, o, order)
	return receipt.(orders.InstanceReceipt), err
}
