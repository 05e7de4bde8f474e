package planner

import (
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// HostToJoin is a host of an inventory that waits for a person to join it.
type HostToJoin struct {
	Host string `json:"host"`
	// Until is set where there is a join command that wasn't used yet: it is good
	// until then.
	Until time.Time `json:"until,omitzero"`
	// Ambiguous says that several fleets could take the host, so that the command
	// has to name one.
	Ambiguous bool `json:"ambiguous,omitempty"`
}

// Reached says that the fleet has what it can have without a person: where hosts
// are joined, missing ones are a person's to bring, and outdated ones stay until
// then. One that follows demand may have more for a while: it lets go of it when
// no one has needed it for long enough.
func (p FleetPlan) Reached() bool {
	if p.Halted || p.Joined && p.Counts.Capacity < p.Desired {
		return true
	}
	if p.Rollout != nil && p.Rollout.Stage == RolloutPaused {
		return p.Counts.Capacity >= p.Desired
	}
	if p.Follows {
		return p.Counts.Capacity >= p.Desired && len(p.Drifted) == 0
	}
	return p.Counts.Capacity == p.Desired+p.KeptByPin+p.KeptPaid && len(p.Drifted) == 0
}

// unjoined takes the instances that wait for a person to join their host apart
// from those that are there. The first count for nothing: whether they ever come
// is not the manager's to know.
func unjoined(f fleet.ManagedFleet, instances []snapshot.Instance) (waiting, there []snapshot.Instance) {
	if !f.Joined {
		return nil, instances
	}
	for _, i := range instances {
		if i.Unjoined() {
			waiting = append(waiting, i)
		} else {
			there = append(there, i)
		}
	}
	return waiting, there
}

// joinedDesired is the desired number of a fleet whose hosts a person joins:
// those that are there stay, and min only says that some are missing.
func joinedDesired(in *planning, f fleet.ManagedFleet, capacity int) (int, []fleet.Bound) {
	var bounds []fleet.Bound
	n := 0
	bound := func(name string, after int, why reason.Detail) {
		n = after
		bounds = append(bounds, fleet.Bound{Name: name, After: after, Reason: reason.Of(why)})
	}
	bound("joined", capacity, reason.HostsJoined{Hosts: capacity})
	if f.Operational == fleet.FleetDraining {
		bound("removed", 0, reason.FleetRemoved{})
		return n, bounds
	}
	if n < f.Scaling.Min {
		bound("min", f.Scaling.Min, reason.HostsToJoin{Min: f.Scaling.Min})
	}
	if n > f.Scaling.Max {
		name, why := maxRule(in, f)
		bound(name, f.Scaling.Max, why)
	}
	return n, bounds
}

// joining lists the hosts that could be joined to the fleet now: those with a
// command that wasn't used, and the free ones as long as max has room.
func (p *FleetPlan) joining(in *planning, f fleet.ManagedFleet, waiting, there []snapshot.Instance) {
	p.Counts.Joining = len(waiting)
	if _, barred := in.Overrides.FleetQuarantine(f); barred || f.Operational != fleet.FleetActive {
		return
	}
	taken := map[string]time.Time{}
	for _, i := range in.instances {
		if i.Live() && i.Provider == f.Provider && i.Asset != "" {
			taken[i.Asset] = time.Time{}
		}
	}
	for _, i := range waiting {
		taken[i.Asset] = i.JoinUntil
	}
	room := f.Scaling.Max - len(waiting) - len(there)
	for _, a := range in.assets[f.Provider] {
		until, isTaken := taken[a.ID]
		own := slices.ContainsFunc(waiting, func(i snapshot.Instance) bool { return i.Asset == a.ID })
		if !f.Unsuitable(a).IsZero() || isTaken && !own || !isTaken && room <= 0 {
			continue
		}
		p.ToJoin = append(p.ToJoin, HostToJoin{Host: a.ID, Until: until, Ambiguous: !isTaken && ambiguous(in, f, a)})
	}
}

// ambiguous says that another fleet could take the host, too.
func ambiguous(in *planning, f fleet.ManagedFleet, a fleet.Asset) bool {
	return slices.ContainsFunc(in.fleets, func(other fleet.ManagedFleet) bool {
		if other.ID == f.ID || !other.Joined || other.Operational == fleet.FleetDraining {
			return false
		}
		if other.Provider == f.Provider {
			return other.Unsuitable(a).IsZero()
		}
		// Another inventory may have a host of the same name.
		return slices.ContainsFunc(
			in.assets[other.Provider],
			func(b fleet.Asset) bool { return b.ID == a.ID && other.Unsuitable(b).IsZero() },
		)
	})
}

// misplaced are the joined hosts that the file doesn't give the fleet any more.
// Taking a host out of the file is how a person releases it.
func misplaced(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance, known []Drift) []Drift {
	if !f.Joined {
		return nil
	}
	var out []Drift
	for _, i := range instances {
		said := slices.ContainsFunc(known, func(d Drift) bool { return d.Instance == i.ID })
		if why := whyMisplaced(in, f, i); why != nil && !said && lifecycle.Capacity(i.State, false) {
			out = append(out, Drift{i.ID, reason.Of(why)})
		}
	}
	return out
}

func whyMisplaced(in *planning, f fleet.ManagedFleet, i snapshot.Instance) reason.Detail {
	inventory := in.assets[i.Provider]
	n := slices.IndexFunc(inventory, func(a fleet.Asset) bool { return a.ID == i.Asset })
	if n < 0 {
		return reason.AssetMissing{Asset: i.Asset}
	}
	if why := f.Unsuitable(inventory[n]); !why.IsZero() {
		return reason.AssetUnsuitable{Asset: i.Asset, Because: why}
	}
	return nil
}

// withdrawClaims takes back the join commands that would bring the wrong host:
// the fleet is removed, or its file or the agent has changed since.
func (p *FleetPlan) withdrawClaims(in *planning, f fleet.ManagedFleet, waiting []snapshot.Instance) {
	outdated := map[fleet.CapacityInstanceID]reason.Reason{}
	for _, d := range drifted(f, waiting, in.AgentVersion) {
		outdated[d.Instance] = d.Reason
	}
	for _, i := range waiting {
		why := outdated[i.ID]
		if why.IsZero() {
			why = reason.Of(whyMisplaced(in, f, i))
		}
		if f.Operational == fleet.FleetDraining {
			why = reason.Of(reason.FleetRemoved{})
		}
		if !why.IsZero() && i.State == fleet.Bootstrapping {
			p.act(Withdraw, i, lifecycle.Withdrawn, reason.Of(reason.JoinCommandVoid{Because: why}))
		}
	}
}

// release drains the hosts that aren't the fleet's any more, all of them: unlike
// an outdated one, none of them is to come back here.
func (p *FleetPlan) release(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance) {
	if !f.Joined || f.Operational != fleet.FleetActive {
		return
	}
	for _, i := range instances {
		_, unobserved := in.Unobserved[i.Provider]
		if why := whyMisplaced(in, f, i); why != nil && i.State == fleet.Healthy && !unobserved {
			p.act(Drain, i, lifecycle.ForOperator, reason.Of(why))
		}
	}
}
