package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// limitsAt are the min and max of a fleet as its file has it, at a time.
func limitsAt(in *planning, f fleet.ManagedFleet, at time.Time) (least, most int) {
	least, most = f.Scaling.Min, f.Scaling.Max
	if o, holds := in.Overrides.ScaleOverride(f, at); holds {
		least, most = o.Least(least), o.Most(most)
	}
	return least, most
}

// minRule is the name of the bound that keeps a fleet from being smaller, and its
// reason. Where a person overrides the file it says so.
func minRule(in *planning, f fleet.ManagedFleet) (name string, why reason.Detail) {
	if o, holds := in.Overrides.ScaleOverride(f, in.Now); holds && o.Min != nil {
		return "override", reason.RaisedToMin{Min: *o.Min, Override: until(o.Attribution, o.Until)}
	}
	return "min", reason.RaisedToMin{Min: f.Scaling.Min}
}

// maxRule is minRule's other side. Where the two contradict each other, which an
// apply after the override can bring about, max goes before min.
func maxRule(in *planning, f fleet.ManagedFleet) (name string, why reason.Detail) {
	if o, holds := in.Overrides.ScaleOverride(f, in.Now); holds && o.Max != nil {
		return "override", reason.LimitedByMax{Max: *o.Max, Override: until(o.Attribution, o.Until)}
	}
	return "max", reason.LimitedByMax{Max: f.Scaling.Max}
}

// inForce is what people decided about a fleet beside its file.
func inForce(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance) (said []reason.Reason) {
	name := f.Address.Name()
	said = append(said, beyondPolicy(in.Policy, f)...)
	say := func(d reason.Detail) { said = append(said, reason.Of(d)) }
	if freeze, frozen := in.Overrides.Freeze(f); frozen {
		say(
			reason.FreezeInForce{
				Fleet:       name,
				Provider:    string(freeze.Provider),
				Decided:     decided(freeze.Attribution),
				ScaleUpOnly: freeze.ScaleUpOnly,
			},
		)
	}
	if q, barred := in.Overrides.FleetQuarantine(f); barred {
		say(reason.QuarantineInForce{Fleet: name, Image: q.Image, Decided: decided(q.Attribution)})
	}
	if o, holds := in.Overrides.ScaleOverride(f, in.Now); holds {
		say(
			reason.ScaleInForce{
				Fleet:   name,
				Min:     o.Least(0),
				Max:     o.Most(0),
				HasMin:  o.Min != nil,
				HasMax:  o.Max != nil,
				Decided: until(o.Attribution, o.Until),
			},
		)
	}
	if o, holds := in.Overrides.CostOverride(f, in.Now); holds {
		say(costOverrideOf(f, o))
	}
	if o, ordered := in.Overrides.Rollout(f); ordered && o.Action == fleet.RollBack {
		say(reason.RollbackInForce{Fleet: name, To: imageOf(o.To), From: imageOf(o.From), Decided: decided(o.Attribution)})
	}
	for _, i := range instances {
		if pin, holds := in.Overrides.Pin(i.ID, in.Now); holds {
			say(reason.PinInForce{Instance: string(i.ID), Decided: until(pin.Attribution, pin.Until)})
		}
	}
	return said
}

// frozen is what is frozen: the fleet, or the whole provider that it is of.
func frozen(in *planning, f fleet.ManagedFleet, missing int) reason.FleetFrozen {
	z, _ := in.Overrides.Freeze(f)
	return reason.FleetFrozen{Missing: missing, Provider: string(z.Provider)}
}

// decided is who decided something, as a reason has it.
func decided(d fleet.Attribution) reason.Attribution {
	return reason.Attribution{By: d.By, At: reason.At(d.At), Comment: d.Reason}
}

// until is decided for what ends by itself.
func until(d fleet.Attribution, ends time.Time) reason.Attribution {
	out := decided(d)
	out.Until = reason.At(ends)
	return out
}

// decidedTimes are when what people decided about a fleet begins or ends by
// itself.
func decidedTimes(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance) (times []time.Time) {
	if o, holds := in.Overrides.ScaleOverride(f, in.Now); holds {
		times = append(times, o.Until)
	}
	for _, i := range instances {
		if i.Pinned {
			pin, _ := in.Overrides.Pin(i.ID, in.Now)
			times = append(times, pin.Until)
		}
	}
	for _, r := range in.allotted.reservations {
		if unreservable(in.Policy, r, f) == nil {
			times = append(times, r.Begins(), r.End)
		}
	}
	return times
}
