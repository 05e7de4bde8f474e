package planner

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// policyChecks are what the installation's policy has to say about jobs on a fleet
// that meets all that they require (spec §173-175). They only ever refuse.
var policyChecks = []func(p *fleet.InstallationPolicy, d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail{
	// Hostile jobs get a machine of their own kind, or none (spec §216).
	func(p *fleet.InstallationPolicy, d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		switch has := f.Class.Isolation; {
		case !d.Requirement.Hostile || p.RunsHostile(f.Class):
			return nil
		default:
			return reason.HostileIsolation{Required: p.IsolationForHostile(), Has: has}
		}
	},
	func(p *fleet.InstallationPolicy, d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		return unentitled(p, d.Requirement.Tenant, d.Requirement.Project, f.Class.Name)
	},
}

// unentitled says that jobs of a tenant and project may not use a class; nil: they
// may.
func unentitled(p *fleet.InstallationPolicy, tenant, project, class string) reason.Detail {
	entitlements := p.EntitlementsTo(class)
	if len(entitlements) == 0 ||
		slices.ContainsFunc(entitlements, func(e fleet.Entitlement) bool { return e.Names(tenant, project) }) {
		return nil
	}
	return reason.NotEntitled{Tenant: tenant, Project: project, Class: class}
}

// unentitledScope says that a reservation is for somebody who may not use a class.
// One that is for no one in particular is for everyone who may.
func unentitledScope(p fleet.InstallationPolicy, s fleet.FleetScope, class string) bool {
	entitlements := p.EntitlementsTo(class)
	return s != (fleet.FleetScope{}) && len(entitlements) > 0 &&
		!slices.ContainsFunc(entitlements, func(e fleet.Entitlement) bool { return e.Serves(s) })
}

// beyondPolicy says what of a fleet the policy doesn't allow. Such a fleet can only
// be one that the files don't mention any more: it keeps its last definition until
// the next apply that does, or removes it, and nothing of it is ended meanwhile.
func beyondPolicy(p fleet.InstallationPolicy, f fleet.ManagedFleet) (said []reason.Reason) {
	if f.Operational == fleet.FleetDraining {
		return nil
	}
	for _, r := range p.Refusals(f.RunnerFleet) {
		said = append(said, reason.Of(reason.BeyondPolicy{Refused: r.What}))
	}
	return said
}

// entitledRoom is what the entitlements to classes leave room for. Everything that
// isn't proven gone counts, as it does against max.
type entitledRoom map[string]*entitledClass

// entitledClass is a class that is limited to those who are entitled to it.
type entitledClass struct {
	// names and room are what each entitlement allows.
	names []string
	room  []int
	// fleets are those of the class, with what each has, and which entitlements
	// that can be for.
	fleets []fleet.RunnerFleetID
	has    []want
}

// entitledRoomOf counts the instances of the limited classes.
func entitledRoomOf(in *planning) entitledRoom {
	out := entitledRoom{}
	for _, f := range in.fleets {
		entitlements := in.Policy.EntitlementsTo(f.Class.Name)
		limited := slices.ContainsFunc(entitlements, func(e fleet.Entitlement) bool { return e.Max > 0 })
		if !limited {
			continue
		}
		c := out[f.Class.Name]
		if c == nil {
			c = &entitledClass{}
			for _, e := range entitlements {
				if e.Max == 0 {
					e.Max = anyNumber
				}
				c.names, c.room = append(c.names, e.Name), append(c.room, e.Max)
			}
			out[f.Class.Name] = c
		}
		w := want{}
		for n, e := range entitlements {
			if e.Serves(f.Scope) {
				w.fleets = append(w.fleets, n)
			}
		}
		for _, i := range in.byFleet[f.ID] {
			if lifecycle.Footprint(i.State) && !i.Unjoined() {
				w.quantity++
			}
		}
		c.fleets, c.has = append(c.fleets, f.ID), append(c.has, w)
	}
	return out
}

// anyNumber stands for no limit.
const anyNumber = 1 << 30

// of is how many more instances a fleet may have by the entitlements to its class.
func (r entitledRoom) of(f fleet.ManagedFleet) (int, limit) {
	c := r[f.Class.Name]
	if c == nil {
		return anyNumber, nil
	}
	n := slices.Index(c.fleets, f.ID)
	more := c.has[n]
	more.quantity = max(0, f.Scaling.Max) // it can't use more
	_, missing := allot(append(slices.Clone(c.has), more), c.room)
	// What there is too much of, since more was allowed before, leaves less for all.
	free := 0
	for _, n := range c.room {
		free += n
	}
	for _, w := range c.has {
		free -= w.quantity
	}
	return max(0, min(more.quantity-missing[len(missing)-1], free)), c.limit(more, f.Class.Name)
}

// limit is what the entitlements that a fleet's instances can be for allow, and what
// there is.
func (c *entitledClass) limit(of want, class string) limit {
	return func(missing int) reason.Detail {
		var names []string
		allowed, there := 0, 0
		for _, e := range of.fleets {
			names, allowed = append(names, c.names[e]), allowed+c.room[e]
		}
		for _, w := range c.has {
			if slices.ContainsFunc(w.fleets, func(e int) bool { return slices.Contains(of.fleets, e) }) {
				there += w.quantity
			}
		}
		return reason.EntitlementLimit{
			Missing:      missing,
			Entitlements: reason.ListOf(names...),
			Class:        class,
			Allowed:      allowed,
			Instances:    there,
		}
	}
}

// note counts what a fleet starts now.
func (r entitledRoom) note(f fleet.ManagedFleet, created int) {
	if c := r[f.Class.Name]; c != nil {
		c.has[slices.Index(c.fleets, f.ID)].quantity += created
	}
}
