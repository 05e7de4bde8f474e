package daemon

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// cleared is an override that is to be cleared, by the type of its request and what
// it is of.
type cleared struct{ Of any }

// give gives the override of a request to what carries orders out, or checks them.
func give(ctx context.Context, o installation.Orders, order any) (orders.OverrideReceipt, error) {
	switch r := order.(type) {
	case orders.ScaleRequest:
		return o.ScaleFleet(ctx, r)
	case orders.FreezeFleetRequest:
		return o.FreezeFleet(ctx, r)
	case orders.FreezeProviderRequest:
		return o.FreezeProvider(ctx, r)
	case orders.QuarantineFleetRequest:
		return o.QuarantineFleet(ctx, r)
	case orders.QuarantineInstanceRequest:
		return o.QuarantineInstance(ctx, r)
	case orders.QuarantineImageRequest:
		return o.QuarantineImage(ctx, r)
	case orders.OverrideCostsRequest:
		return o.OverrideCosts(ctx, r)
	case orders.PinRequest:
		return o.PinInstance(ctx, r)
	case cleared:
		return giveCleared(ctx, o, r.Of)
	}
	panic("no such order")
}

func giveCleared(ctx context.Context, o installation.Orders, order any) (orders.OverrideReceipt, error) {
	switch r := order.(type) {
	case orders.ScaleRequest:
		return o.ClearScale(ctx, r.Fleet)
	case orders.FreezeFleetRequest:
		return o.ClearFleetFreeze(ctx, r.Fleet)
	case orders.FreezeProviderRequest:
		return o.ClearProviderFreeze(ctx, r.Provider)
	case orders.QuarantineFleetRequest:
		return o.ClearFleetQuarantine(ctx, r.Fleet)
	case orders.QuarantineInstanceRequest:
		return o.ClearInstanceQuarantine(ctx, r.Instance)
	case orders.QuarantineImageRequest:
		return o.ClearImageQuarantine(ctx, r.Image)
	case orders.OverrideCostsRequest:
		return o.ClearCostOverride(ctx, r.Fleet)
	case orders.PinRequest:
		return o.ClearPin(ctx, r.Instance)
	}
	panic("nothing to clear")
}

// giveInstance gives an order that the loop carries out.
func giveInstance(ctx context.Context, o installation.Orders, order any) (orders.InstanceReceipt, error) {
	switch r := order.(type) {
	case orders.ResolveRequest:
		return o.ResolveInstance(ctx, r)
	case orders.DrainRequest:
		return o.DrainInstance(ctx, r)
	case orders.AdoptRequest:
		return o.AdoptResource(ctx, r)
	case fleet.CapacityInstanceID:
		return o.ReplaceInstance(ctx, r)
	}
	panic("no such order")
}
