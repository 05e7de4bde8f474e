package orders

import (
	"context"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// PinRequest keeps the planner's hands off an instance for a time (spec §131).
type PinRequest struct {
	Instance fleet.CapacityInstanceID
	For      time.Duration
	Reason   string
}

// PinInstance keeps an instance out of scale-downs, max_age and rollouts for a time.
// It must be, or soon become, a runner.
func (h Handler) PinInstance(ctx context.Context, r PinRequest) (OverrideReceipt, error) {
	return h.set(ctx, "instance pin", r.Reason, func(v *validation) (override, error) { return v.pin(r) })
}

// ClearPin ends a pin.
func (h Handler) ClearPin(ctx context.Context, id fleet.CapacityInstanceID) (OverrideReceipt, error) {
	return h.clear(ctx, "instance pin", func(v *validation) (override, error) {
		i, address, err := v.instance(id)
		return override{
			stored:  fleet.RunnerPin{Instance: i.ID, Fleet: i.Fleet},
			subject: ofFleet(i, address),
			done:    "cleared: no longer pinned",
		}, err
	})
}

func (v *validation) pin(r PinRequest) (override, error) {
	i, address, err := v.instance(r.Instance)
	if err != nil {
		return override{}, err
	}
	p := fleet.RunnerPin{Instance: i.ID, Fleet: i.Fleet, Attribution: v.decided}
	stays := i.State == fleet.Bootstrapping || i.State == fleet.Enrolling || i.State == fleet.Healthy
	if !stays || i.Unjoined() {
		return override{}, access.Conflict(
			"%s is %s; only a booting, enrolling or healthy instance can be pinned",
			ofFleet(i, address),
			i.State,
		)
	}
	if p.Until, err = v.until(r.For, LongestOverride); err != nil {
		return override{}, err
	}
	return override{
		stored:  p,
		subject: ofFleet(i, address),
		until:   p.Until,
		done: fmt.Sprintf(
			"pinned until %s: a scale-down, max_age and a rollout leave it; drain, a quarantine and its provider "+
				"still remove it",
			fleet.TimeText(p.Until),
		),
	}, nil
}
