package planner

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// disallowed lists the instances that the definition no longer allows: they are
// where the fleet may not be any more, or were told to their scheduler as what they
// aren't now. Like all drift it ends no job: they are replaced after theirs.
func disallowed(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance, known []Drift) (out []Drift) {
	for _, i := range instances {
		if !lifecycle.Capacity(i.State, false) {
			continue
		}
		why := in.whyDisallowed(f, i)
		if why != "" && !slices.ContainsFunc(known, func(d Drift) bool { return d.Instance == i.ID }) {
			out = append(out, Drift{i.ID, why})
		}
	}
	return out
}

func (in *planning) whyDisallowed(f fleet.ManagedFleet, i snapshot.Instance) string {
	p, region := f.Placement, in.markets[f.ID].regionOf(i.Zone)
	switch {
	case f.Market && i.Zone != "" && len(p.Zones) > 0 && !slices.Contains(p.Zones, i.Zone):
		return sentence("It is in the zone %.60q, where the fleet may not be any more", i.Zone)
	case f.Market && region != "" && len(p.Regions) > 0 && !slices.Contains(p.Regions, region):
		return sentence("It is in the region %.60q, where the fleet may not be any more", region)
	case i.State == fleet.Healthy && i.Scheduling.Told() && i.Scheduling.Hostile && !in.Policy.RunsHostile(f.Class):
		return "Its scheduler was told that it may run hostile jobs, and by the policy it may not any more"
	case i.State == fleet.Healthy && i.Scheduling.Ref != "" && i.Scheduling.Told() && !f.Scheduler.AdmitsOnce() && !i.Scheduling.Hostile && in.Policy.RunsHostile(f.Class):
		return "Its scheduler was told that it may not run hostile jobs, and by the policy it may now"
	}
	return ""
}

// regionOf is the region of a zone, as the market has it; "": it isn't known.
func (m *market) regionOf(zone string) string {
	if m == nil {
		return ""
	}
	n := slices.IndexFunc(m.list.Offers, func(o fleet.Offer) bool { return zone != "" && o.Zone == zone })
	if n < 0 {
		return ""
	}
	return m.list.Offers[n].Region
}
