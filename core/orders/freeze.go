package orders

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// FreezeFleetRequest stops what the loop does about a fleet (spec §133, §137).
type FreezeFleetRequest struct {
	// Fleet is an address or a name.
	Fleet string
	// ScaleUpOnly lets instances start, and none leave.
	ScaleUpOnly bool
	Reason      string
}

// FreezeProviderRequest stops what the loop does about all fleets and instances of
// a provider (spec §134).
type FreezeProviderRequest struct {
	Provider    fleet.ProviderAddress
	ScaleUpOnly bool
	Reason      string
}

const (
	freezeUseCase = "freeze"
	frozen        = "frozen: nothing starts, drains or ends; inspections continue, and provider calls already sent " +
		"are completed"
	frozenDown = "instances start, and none is removed for lack of jobs, age or a newer definition"
	notFrozen  = "the freeze is cleared: pending operations resume"
)

func frozenText(scaleUpOnly bool) string {
	if scaleUpOnly {
		return frozenDown
	}
	return frozen
}

// FreezeFleet stops what the loop does about a fleet until the freeze is cleared.
func (h Handler) FreezeFleet(ctx context.Context, r FreezeFleetRequest) (OverrideReceipt, error) {
	return h.set(ctx, freezeUseCase, r.Reason, func(v *validation) (override, error) {
		f, err := v.fleet(r.Fleet)
		return override{stored: fleet.Freeze{Fleet: f.ID, ScaleUpOnly: r.ScaleUpOnly, Attribution: v.decided},
			subject: string(f.Address), done: frozenText(r.ScaleUpOnly)}, err
	})
}

// ClearFleetFreeze lets the loop go on with a fleet.
func (h Handler) ClearFleetFreeze(ctx context.Context, fleetName string) (OverrideReceipt, error) {
	return h.clear(ctx, freezeUseCase, func(v *validation) (override, error) {
		f, err := v.fleet(fleetName)
		return override{stored: fleet.Freeze{Fleet: f.ID}, subject: string(f.Address), done: notFrozen}, err
	})
}

// FreezeProvider stops what the loop does about all of a provider until the freeze
// is cleared.
func (h Handler) FreezeProvider(ctx context.Context, r FreezeProviderRequest) (OverrideReceipt, error) {
	return h.set(ctx, freezeUseCase, r.Reason, func(v *validation) (override, error) {
		return override{stored: fleet.Freeze{Provider: r.Provider, ScaleUpOnly: r.ScaleUpOnly, Attribution: v.decided},
			subject: "provider " + string(r.Provider), done: frozenText(r.ScaleUpOnly)}, v.provider(r.Provider)
	})
}

// ClearProviderFreeze lets the loop go on with a provider, which may be gone from
// what was applied.
func (h Handler) ClearProviderFreeze(ctx context.Context, address fleet.ProviderAddress) (OverrideReceipt, error) {
	return h.clear(ctx, freezeUseCase, func(v *validation) (override, error) {
		return override{stored: fleet.Freeze{Provider: address}, subject: "provider " + string(address), done: notFrozen},
			v.unlimited("provider." + string(address))
	})
}
