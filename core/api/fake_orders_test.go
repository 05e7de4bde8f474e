package api

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/ordertest"
)

// fakeOrders notes what it is asked for, or what is only to be checked.
type fakeOrders struct {
	s     *service
	check bool
}

// checked is an order that was only to be checked.
type checked struct{ Order any }

func (s *service) Orders() installation.Orders      { return fakeOrders{s, false} }
func (s *service) CheckOrders() installation.Orders { return fakeOrders{s, true} }

func (f fakeOrders) note(ctx context.Context, order any) {
	if f.check {
		order = checked{order}
	}
	f.s.note(ctx, order)
}

func (f fakeOrders) override(ctx context.Context, order any) (orders.OverrideReceipt, error) {
	f.note(ctx, order)
	if f.check {
		return orders.OverrideReceipt{Subject: "fleet.linux", Done: "it would be frozen"}, f.s.err
	}
	return orders.OverrideReceipt{Subject: "fleet.linux", Done: "frozen", Changed: true, Loop: true}, f.s.err
}

func (f fakeOrders) instance(ctx context.Context, order any) (orders.InstanceReceipt, error) {
	f.note(ctx, order)
	return orders.InstanceReceipt{Instance: "if1", Done: "it drains"}, f.s.err
}

func (f fakeOrders) rollout(ctx context.Context, order any) (orders.RolloutReceipt, error) {
	f.note(ctx, order)
	return rolledBack, f.s.err
}

func (f fakeOrders) ScaleFleet(ctx context.Context, r orders.ScaleRequest) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearScale(ctx context.Context, of string) (orders.OverrideReceipt, error) {
	return f.override(ctx, ordertest.Cleared{Request: orders.ScaleRequest{Fleet: of}})
}

func (f fakeOrders) FreezeFleet(ctx context.Context, r orders.FreezeFleetRequest) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearFleetFreeze(ctx context.Context, of string) (orders.OverrideReceipt, error) {
	return f.override(ctx, ordertest.Cleared{Request: orders.FreezeFleetRequest{Fleet: of}})
}

func (f fakeOrders) QuarantineFleet(
	ctx context.Context,
	r orders.QuarantineFleetRequest,
) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearFleetQuarantine(ctx context.Context, of string) (orders.OverrideReceipt, error) {
	return f.override(ctx, ordertest.Cleared{Request: orders.QuarantineFleetRequest{Fleet: of}})
}

func (f fakeOrders) OverrideCosts(ctx context.Context, r orders.OverrideCostsRequest) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearCostOverride(ctx context.Context, of string) (orders.OverrideReceipt, error) {
	return f.override(ctx, ordertest.Cleared{Request: orders.OverrideCostsRequest{Fleet: of}})
}

func (f fakeOrders) PinInstance(ctx context.Context, r orders.PinRequest) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearPin(ctx context.Context, id fleet.CapacityInstanceID) (orders.OverrideReceipt, error) {
	return f.override(ctx, ordertest.Cleared{Request: orders.PinRequest{Instance: id}})
}

func (f fakeOrders) QuarantineInstance(
	ctx context.Context,
	r orders.QuarantineInstanceRequest,
) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearInstanceQuarantine(
	ctx context.Context,
	id fleet.CapacityInstanceID,
) (orders.OverrideReceipt, error) {
	return f.override(ctx, ordertest.Cleared{Request: orders.QuarantineInstanceRequest{Instance: id}})
}

func (f fakeOrders) FreezeProvider(
	ctx context.Context,
	r orders.FreezeProviderRequest,
) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearProviderFreeze(ctx context.Context, of fleet.ProviderAddress) (orders.OverrideReceipt, error) {
	return f.override(ctx, ordertest.Cleared{Request: orders.FreezeProviderRequest{Provider: of}})
}

func (f fakeOrders) QuarantineImage(
	ctx context.Context,
	r orders.QuarantineImageRequest,
) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearImageQuarantine(ctx context.Context, of string) (orders.OverrideReceipt, error) {
	return f.override(ctx, ordertest.Cleared{Request: orders.QuarantineImageRequest{Image: of}})
}

func (f fakeOrders) ResolveInstance(ctx context.Context, r orders.ResolveRequest) (orders.InstanceReceipt, error) {
	return f.instance(ctx, r)
}

func (f fakeOrders) ReplaceInstance(ctx context.Context, id fleet.CapacityInstanceID) (orders.InstanceReceipt, error) {
	return f.instance(ctx, ordertest.Replaced{Instance: id})
}

func (f fakeOrders) DrainInstance(ctx context.Context, r orders.DrainRequest) (orders.InstanceReceipt, error) {
	return f.instance(ctx, r)
}

func (f fakeOrders) AdoptResource(ctx context.Context, r orders.AdoptRequest) (orders.InstanceReceipt, error) {
	return f.instance(ctx, r)
}

func (f fakeOrders) PauseRollout(ctx context.Context, r orders.RolloutRequest) (orders.RolloutReceipt, error) {
	return f.rollout(ctx, ordertest.Paused{RolloutRequest: r})
}

func (f fakeOrders) ResumeRollout(ctx context.Context, r orders.ResumeRequest) (orders.RolloutReceipt, error) {
	return f.rollout(ctx, r)
}

func (f fakeOrders) RollBack(ctx context.Context, r orders.RolloutRequest) (orders.RolloutReceipt, error) {
	return f.rollout(ctx, ordertest.RolledBack{RolloutRequest: r})
}
