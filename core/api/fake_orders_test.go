package api

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// fakeOrders notes what it is asked for, or what is only to be checked.
type fakeOrders struct {
	s     *service
	check bool
}

// checked is an order that was only to be checked.
type checked struct{ Order any }

// cleared is an override that was cleared, by its request's type and what it is of.
type cleared struct{ What, Of string }

// replaced is an order that has no request of its own.
type replaced struct{ Instance fleet.CapacityInstanceID }

// paused, resumed and rolledBackOrder tell requests of one type apart.
type (
	paused          struct{ orders.RolloutRequest }
	rolledBackOrder struct{ orders.RolloutRequest }
)

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
	return f.override(ctx, cleared{"scale", of})
}

func (f fakeOrders) FreezeFleet(ctx context.Context, r orders.FreezeFleetRequest) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearFleetFreeze(ctx context.Context, of string) (orders.OverrideReceipt, error) {
	return f.override(ctx, cleared{"fleet freeze", of})
}

func (f fakeOrders) QuarantineFleet(
	ctx context.Context,
	r orders.QuarantineFleetRequest,
) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearFleetQuarantine(ctx context.Context, of string) (orders.OverrideReceipt, error) {
	return f.override(ctx, cleared{"fleet quarantine", of})
}

func (f fakeOrders) OverrideCosts(ctx context.Context, r orders.OverrideCostsRequest) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearCostOverride(ctx context.Context, of string) (orders.OverrideReceipt, error) {
	return f.override(ctx, cleared{"cost override", of})
}

func (f fakeOrders) PinInstance(ctx context.Context, r orders.PinRequest) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearPin(ctx context.Context, id fleet.CapacityInstanceID) (orders.OverrideReceipt, error) {
	return f.override(ctx, cleared{"pin", string(id)})
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
	return f.override(ctx, cleared{"instance quarantine", string(id)})
}

func (f fakeOrders) FreezeProvider(
	ctx context.Context,
	r orders.FreezeProviderRequest,
) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearProviderFreeze(ctx context.Context, of fleet.ProviderAddress) (orders.OverrideReceipt, error) {
	return f.override(ctx, cleared{"provider freeze", string(of)})
}

func (f fakeOrders) QuarantineImage(
	ctx context.Context,
	r orders.QuarantineImageRequest,
) (orders.OverrideReceipt, error) {
	return f.override(ctx, r)
}

func (f fakeOrders) ClearImageQuarantine(ctx context.Context, of string) (orders.OverrideReceipt, error) {
	return f.override(ctx, cleared{"image quarantine", of})
}

func (f fakeOrders) ResolveInstance(ctx context.Context, r orders.ResolveRequest) (orders.InstanceReceipt, error) {
	return f.instance(ctx, r)
}

func (f fakeOrders) ReplaceInstance(ctx context.Context, id fleet.CapacityInstanceID) (orders.InstanceReceipt, error) {
	return f.instance(ctx, replaced{id})
}

func (f fakeOrders) DrainInstance(ctx context.Context, r orders.DrainRequest) (orders.InstanceReceipt, error) {
	return f.instance(ctx, r)
}

func (f fakeOrders) AdoptResource(ctx context.Context, r orders.AdoptRequest) (orders.InstanceReceipt, error) {
	return f.instance(ctx, r)
}

func (f fakeOrders) PauseRollout(ctx context.Context, r orders.RolloutRequest) (orders.RolloutReceipt, error) {
	return f.rollout(ctx, paused{r})
}

func (f fakeOrders) ResumeRollout(ctx context.Context, r orders.ResumeRequest) (orders.RolloutReceipt, error) {
	return f.rollout(ctx, r)
}

func (f fakeOrders) RollBack(ctx context.Context, r orders.RolloutRequest) (orders.RolloutReceipt, error) {
	return f.rollout(ctx, rolledBackOrder{r})
}

// give gives the order of a request to what carries orders out, or checks them.
func give(ctx context.Context, o installation.Orders, order any) (receipt any, err error) {
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
	case replaced:
		return o.ReplaceInstance(ctx, r.Instance)
	case paused:
		return o.PauseRollout(ctx, r.RolloutRequest)
	case rolledBackOrder:
		return o.RollBack(ctx, r.RolloutRequest)
	case cleared:
		return giveCleared(ctx, o, r)
	}
	panic("no such order")
}

func giveCleared(ctx context.Context, o installation.Orders, c cleared) (orders.OverrideReceipt, error) {
	switch c.What {
	case "scale":
		return o.ClearScale(ctx, c.Of)
	case "pin":
		return o.ClearPin(ctx, fleet.CapacityInstanceID(c.Of))
	case "cost override":
		return o.ClearCostOverride(ctx, c.Of)
	case "fleet freeze":
		return o.ClearFleetFreeze(ctx, c.Of)
	case "provider freeze":
		return o.ClearProviderFreeze(ctx, fleet.ProviderAddress(c.Of))
	case "fleet quarantine":
		return o.ClearFleetQuarantine(ctx, c.Of)
	case "instance quarantine":
		return o.ClearInstanceQuarantine(ctx, fleet.CapacityInstanceID(c.Of))
	case "image quarantine":
		return o.ClearImageQuarantine(ctx, c.Of)
	}
	panic("nothing to clear")
}
