package orders

import (
	"context"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// MostInstances bounds min and max as the file's are: a slip of the keyboard should
// not become a bill.
const MostInstances = 100_000

// ScaleRequest replaces a fleet's min, max or both for a time (spec §177-180).
type ScaleRequest struct {
	// Fleet is an address or a name.
	Fleet string
	// Min and Max are nil where the file's holds.
	Min, Max *int
	For      time.Duration
	Reason   string
}

// ScaleFleet replaces a fleet's min, max or both for a time. They may go beyond
// the file's max (spec §177); scale to zero stays the file's to allow (spec §17), and a
// protected fleet has the size of its file (spec §18).
func (h Handler) ScaleFleet(ctx context.Context, r ScaleRequest) (OverrideReceipt, error) {
	return h.set(ctx, "fleet scale", r.Reason, func(v *validation) (override, error) { return v.scale(r) })
}

// ClearScale lets the min and max of a fleet's file hold again.
func (h Handler) ClearScale(ctx context.Context, fleetName string) (OverrideReceipt, error) {
	return h.clear(ctx, "fleet scale", func(v *validation) (override, error) {
		f, err := v.fleet(fleetName)
		return override{
			stored:  fleet.FleetScaleOverride{Fleet: f.ID},
			subject: string(f.Address),
			done:    "cleared: the file's min and max apply again",
		}, err
	})
}

func (v *validation) scale(r ScaleRequest) (override, error) {
	f, err := v.fleet(r.Fleet)
	if err != nil {
		return override{}, err
	}
	o := fleet.FleetScaleOverride{Fleet: f.ID, Min: r.Min, Max: r.Max, Attribution: v.decided}
	if problem := scaleProblem(f, o); problem != "" {
		return override{}, access.Invalid("invalid scale override for %s: %s", f.Address, problem)
	}
	if o.Until, err = v.until(r.For, LongestOverride); err != nil {
		return override{}, err
	}
	return override{
		stored:  o,
		subject: string(f.Address),
		until:   o.Until,
		done:    scaled(f, o),
	}, nil
}

// scaled says which limits an override sets, and what holds after it.
func scaled(f fleet.ManagedFleet, o fleet.FleetScaleOverride) string {
	until := fleet.TimeText(o.Until)
	switch {
	case o.Max == nil:
		return fmt.Sprintf("min = %d until %s, then the file's %d again", *o.Min, until, f.Scaling.Min)
	case o.Min == nil:
		return fmt.Sprintf("max = %d until %s, then the file's %d again", *o.Max, until, f.Scaling.Max)
	}
	return fmt.Sprintf("min = %d and max = %d until %s, then the file's %d and %d again",
		*o.Min, *o.Max, until, f.Scaling.Min, f.Scaling.Max)
}

// scaleProblem says why an override makes no sense; "": it does.
func scaleProblem(f fleet.ManagedFleet, o fleet.FleetScaleOverride) string {
	least, most := o.Least(f.Scaling.Min), o.Most(f.Scaling.Max)
	switch {
	case o.Min == nil && o.Max == nil:
		return "give a min, a max or both"
	case least < 0 || most < 0 || least > MostInstances || most > MostInstances:
		return fmt.Sprintf("min and max must be from 0 to %d", MostInstances)
	case least > most && o.Min == nil:
		return fmt.Sprintf("max = %d is less than the file's min = %d; give a min, too", most, least)
	case least > most && o.Max == nil:
		return fmt.Sprintf("min = %d is more than the file's max = %d; give a max, too", least, most)
	case least > most:
		return fmt.Sprintf("min = %d is more than max = %d", least, most)
	case o.Min != nil && least == 0 && f.Scaling.Min > 0 && !f.Scaling.ScaleToZero:
		return "min = 0 requires scale_to_zero = true in its file; else use at least 1"
	case f.Protected:
		return "it is protected; only its file changes its size"
	case f.Joined:
		return "its instances are joined manually; min and max start none"
	case f.Operational == fleet.FleetDraining:
		return "it is being removed"
	}
	return ""
}
