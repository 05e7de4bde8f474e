package installation

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// Orders are what people decide beside the files, or, of Reader.CheckOrders, the
// checks of the same. What can't be is a *access.ConflictError.
type Orders interface {
	FleetOrders
	InstanceOrders
	ProviderOrders
	ImageOrders
}

// FleetOrders are overrides of one fleet, by its address or name. Each takes the
// place of the one before, and is cleared.
type FleetOrders interface {
	ScaleFleet(ctx context.Context, r orders.ScaleRequest) (orders.OverrideReceipt, error)
	ClearScale(ctx context.Context, fleetName string) (orders.OverrideReceipt, error)
	FreezeFleet(ctx context.Context, r orders.FreezeFleetRequest) (orders.OverrideReceipt, error)
	ClearFleetFreeze(ctx context.Context, fleetName string) (orders.OverrideReceipt, error)
	QuarantineFleet(ctx context.Context, r orders.QuarantineFleetRequest) (orders.OverrideReceipt, error)
	ClearFleetQuarantine(ctx context.Context, fleetName string) (orders.OverrideReceipt, error)
	OverrideCosts(ctx context.Context, r orders.OverrideCostsRequest) (orders.OverrideReceipt, error)
	ClearCostOverride(ctx context.Context, fleetName string) (orders.OverrideReceipt, error)
}

// InstanceOrders are overrides of one instance, and orders that the loop carries out
// before they are answered.
type InstanceOrders interface {
	PinInstance(ctx context.Context, r orders.PinRequest) (orders.OverrideReceipt, error)
	ClearPin(ctx context.Context, id fleet.CapacityInstanceID) (orders.OverrideReceipt, error)
	QuarantineInstance(ctx context.Context, r orders.QuarantineInstanceRequest) (orders.OverrideReceipt, error)
	ClearInstanceQuarantine(ctx context.Context, id fleet.CapacityInstanceID) (orders.OverrideReceipt, error)

	ResolveInstance(ctx context.Context, r orders.ResolveRequest) (orders.InstanceReceipt, error)
	ReplaceInstance(ctx context.Context, id fleet.CapacityInstanceID) (orders.InstanceReceipt, error)
	DrainInstance(ctx context.Context, r orders.DrainRequest) (orders.InstanceReceipt, error)
	// AdoptResource takes a resource of no instance onto the books of a fleet.
	AdoptResource(ctx context.Context, r orders.AdoptRequest) (orders.InstanceReceipt, error)
}

// ProviderOrders are overrides of a provider block.
type ProviderOrders interface {
	FreezeProvider(ctx context.Context, r orders.FreezeProviderRequest) (orders.OverrideReceipt, error)
	ClearProviderFreeze(ctx context.Context, address fleet.ProviderAddress) (orders.OverrideReceipt, error)
}

// ImageOrders are overrides of an image, and the rollouts of a fleet, or of every
// fleet of an image.
type ImageOrders interface {
	QuarantineImage(ctx context.Context, r orders.QuarantineImageRequest) (orders.OverrideReceipt, error)
	ClearImageQuarantine(ctx context.Context, image string) (orders.OverrideReceipt, error)
	PauseRollout(ctx context.Context, r orders.RolloutRequest) (orders.RolloutReceipt, error)
	ResumeRollout(ctx context.Context, r orders.ResumeRequest) (orders.RolloutReceipt, error)
	RollBack(ctx context.Context, r orders.RolloutRequest) (orders.RolloutReceipt, error)
}
