package planner

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// mayChoose says whether the planner may take an instance away. A pinned one goes
// only where its whole fleet is removed: that is an operator's drain.
func mayChoose(f fleet.ManagedFleet, i snapshot.Instance) bool {
	return !i.Pinned || f.Operational == fleet.FleetDraining
}

// spare takes pinned instances out of those that are to be replaced.
func (p *FleetPlan) spare(f fleet.ManagedFleet, instances []snapshot.Instance) {
	before := len(p.Drifted)
	p.Drifted = slices.DeleteFunc(p.Drifted, func(d Drift) bool {
		return slices.ContainsFunc(
			instances,
			func(i snapshot.Instance) bool { return i.ID == d.Instance && !mayChoose(f, i) },
		)
	})
	if kept := before - len(p.Drifted); kept > 0 {
		p.wait(reason.Pinned{Outdated: kept})
	}
}

// keepPinned says how much of the excess stays because it is pinned.
func (p *FleetPlan) keepPinned(f fleet.ManagedFleet, instances []snapshot.Instance, excess int) {
	pinned := 0
	for _, i := range instances {
		if lifecycle.Capacity(i.State, i.Silent) && !mayChoose(f, i) {
			pinned++
		}
	}
	p.KeptByPin = max(0, excess-(p.Counts.Capacity-pinned))
	if p.KeptByPin > 0 {
		p.wait(reason.Pinned{Excess: p.KeptByPin, Desired: p.Desired})
	}
}
