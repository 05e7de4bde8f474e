package planner

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

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
		if why != nil && !slices.ContainsFunc(known, func(d Drift) bool { return d.Instance == i.ID }) {
			out = append(out, Drift{i.ID, reason.Of(why)})
		}
	}
	return out
}

func (in *planning) whyDisallowed(f fleet.ManagedFleet, i snapshot.Instance) reason.Detail {
	p, region := f.Placement, in.markets[f.ID].regionOf(i.Zone)
	switch {
	case f.Market && i.Zone != "" && len(p.Zones) > 0 && !slices.Contains(p.Zones, i.Zone):
		return reason.ZoneDisallowed{Zone: i.Zone}
	case f.Market && region != "" && len(p.Regions) > 0 && !slices.Contains(p.Regions, region):
		return reason.RegionDisallowed{Region: region}
	case i.State == fleet.Healthy && i.Scheduling.Told() && i.Scheduling.Hostile && !in.Policy.RunsHostile(f.Class):
		return reason.HostileDisallowed{}
	case i.State == fleet.Healthy && i.Scheduling.Ref != "" && i.Scheduling.Told() && !f.Scheduler.AdmitsOnce() &&
		!i.Scheduling.Hostile && in.Policy.RunsHostile(f.Class):
		return reason.HostileAllowed{}
	}
	return nil
}

// regionOf is the region of a zone, as the market has it; "": it isn't known.
func (m *fleetOffers) regionOf(zone string) string {
	if m == nil {
		return ""
	}
	n := slices.IndexFunc(m.list.Offers, func(o fleet.Offer) bool { return zone != "" && o.Zone == zone })
	if n < 0 {
		return ""
	}
	return m.list.Offers[n].Region
}
