package ordertest

import (
	"context"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// Orders whose requests have no type of their own.
type (
	// Cleared clears the override of a request: its type and what it is of.
	Cleared struct{ Request any }
	// Replaced replaces an instance.
	Replaced struct{ Instance fleet.CapacityInstanceID }
	// Paused pauses a rollout, RolledBack rolls it back.
	Paused     struct{ orders.RolloutRequest }
	RolledBack struct{ orders.RolloutRequest }
)

// Give gives the order of a request to what carries orders out, or checks them, and
// returns its receipt.
func Give(ctx context.Context, o installation.Orders, order any) (receipt any, err error) {
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
	case orders.ResolveRequest:
		return o.ResolveInstance(ctx, r)
	case orders.DrainRequest:
		return o.DrainInstance(ctx, r)
	case orders.AdoptRequest:
		return o.AdoptResource(ctx, r)
	case orders.ResumeRequest:
		return o.ResumeRollout(ctx, r)
	case Replaced:
		return o.ReplaceInstance(ctx, r.Instance)
	case Paused:
		return o.PauseRollout(ctx, r.RolloutRequest)
	case RolledBack:
		return o.RollBack(ctx, r.RolloutRequest)
	case Cleared:
		return clear(ctx, o, r.Request)
	}
	panic(fmt.Sprintf("no order has a request of type %T", order))
}

func clear(ctx context.Context, o installation.Orders, request any) (orders.OverrideReceipt, error) {
	switch r := request.(type) {
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
	panic(fmt.Sprintf("no override has a request of type %T", request))
}
