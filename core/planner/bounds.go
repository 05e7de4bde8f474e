package planner

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// desired is the number of instances that a fleet should have, with the chain
// of bounds that made it.
func desired(in *planning, f fleet.ManagedFleet, c Counts, s *supply) (int, []fleet.Bound) {
	var bounds []fleet.Bound
	n := 0
	bound := func(name string, after int, why reason.Detail) {
		n = after
		bounds = append(bounds, fleet.Bound{Name: name, After: after, Reason: reason.Of(why)})
	}
	switch {
	case f.Scheduler == "":
		bound("demand", 0, reason.NoScheduler{})
	case s == nil && f.Operational != fleet.FleetDraining:
		bound("demand", c.Capacity, reason.DemandUnknown{Because: in.unseen(f)})
	case s != nil:
		bound("demand", s.used()+s.short, s.demand(c))
	}
	if s != nil && s.spread != nil {
		bound("spread", n, s.spread)
	}
	if f.Operational == fleet.FleetDraining {
		bound("removed", 0, reason.FleetRemoved{})
		return n, bounds
	}
	if reserved, whose := reservedFor(in, f); reserved > 0 {
		bound("reservation", max(n, reserved), reason.Reserved{Instances: reserved, Reservations: reason.ListOf(whose...)})
	}
	if s != nil || f.Scheduler == "" {
		in.keepWarm(f, n, bound)
	}
	if s != nil {
		in.expect(f, n, bound)
	}
	if n < f.Scaling.Min {
		name, why := minRule(in, f)
		bound(name, f.Scaling.Min, why)
	}
	if n > f.Scaling.Max {
		name, why := maxRule(in, f)
		bound(name, f.Scaling.Max, why)
	}
	return n, bounds
}

// addBound adds a link to the chain of bounds.
type addBound func(name string, after int, why reason.Detail)

// unseen says why it isn't known how many instances the jobs of a fleet's scheduler
// need; zero: it is, or no job can ask.
func (in *planning) unseen(f fleet.ManagedFleet) reason.Reason {
	switch d, asked := in.Demand[f.Scheduler]; {
	case f.Scheduler == "" || f.Operational == fleet.FleetDraining:
		return reason.Reason{}
	case !asked:
		return reason.Of(reason.SchedulerNotAsked{Scheduler: string(f.Scheduler)})
	case !d.Unobserved.IsZero():
		return reason.Of(reason.SchedulerUnreachable{Scheduler: string(f.Scheduler), Because: d.Unobserved})
	}
	return reason.Reason{}
}

// demand says what the demand of a fleet comes to.
func (s *supply) demand(c Counts) reason.Detail {
	switch jobs := s.jobs + s.unplaced; {
	case jobs > 0:
		return reason.JobsQueued{Jobs: jobs, Runners: s.fresh + s.short}
	case s.occupied > 0:
		return reason.NoJobsQueued{Running: s.occupied}
	default:
		return reason.NoJobsQueued{BusyRunners: c.Busy}
	}
}

// limit is what a budget comes from, given how many instances are missing for it.
type limit func(missing int) reason.Detail

// budget is how many instances of a fleet may start now: the one gate through
// which every new instance goes, whatever it is for. Everything that isn't
// proven gone counts against max, whatever its state.
func budget(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance) (int, limit) {
	c := count(instances)
	hold, held := in.holds[f.ID]
	quarantine, barred := in.Overrides.FleetQuarantine(f)
	switch {
	case f.Operational == fleet.FleetFrozen:
		return 0, func(n int) reason.Detail { return frozen(in, f, n) }
	case f.Operational == fleet.FleetDraining:
		return 0, func(n int) reason.Detail { return reason.FleetRemoved{Missing: n} }
	case barred:
		return 0, func(n int) reason.Detail { return reason.FleetQuarantined{Missing: n, Image: quarantine.Image} }
	case f.Joined:
		return 0, func(n int) reason.Detail { return reason.JoinedByHand{Missing: n} }
	case held && hold.Constrained:
		return 0, func(n int) reason.Detail {
			return reason.NoOffer{Missing: n, Because: hold.Reason, NextTry: reason.At(hold.Until)}
		}
	case held && hold.InForce(in.Now):
		return 0, func(int) reason.Detail { return reason.HeldBack{Because: hold.Reason, NextTry: reason.At(hold.Until)} }
	}
	most := max(0, f.Scaling.Max-c.Footprint)
	because := limit(func(n int) reason.Detail {
		return reason.LimitedByMax{Missing: n, Max: f.Scaling.Max, Unproven: c.Footprint - c.Capacity}
	})
	if room := in.markets[f.ID].room(in.probes); room < most {
		most, because = room, func(n int) reason.Detail { return reason.OneRequestFirst{Missing: n} }
	}
	if f.Protected && f.Scheduler != "" {
		if base := max(0, f.Scaling.Min-c.Capacity); base < most {
			most, because = base, func(n int) reason.Detail { return reason.FleetProtected{Missing: n} }
		}
	}
	if room, why := in.budgets[f.ID].room(); room < most {
		most, because = room, why
	}
	if room, bounded := in.rollouts[f.ID].bound(); bounded && room < most {
		most, because = room, func(n int) reason.Detail { return reason.CanariesFirst{Missing: n} }
	}
	if step := f.Scaling.ScaleUp; step.MaxStep > 0 {
		started := 0
		for _, i := range instances {
			if in.Now.Sub(i.Created) < step.Window {
				started++
			}
		}
		if now := max(0, step.MaxStep-started); now < most {
			most, because = now, func(n int) reason.Detail {
				return reason.StepLimit{Missing: n, MaxStep: step.MaxStep, Window: reason.Duration(step.Window), Started: started}
			}
		}
	}
	for _, gate := range []func(fleet.ManagedFleet) (int, limit){in.entitled.of, in.spreads.of} {
		if room, why := gate(f); room < most {
			most, because = room, why
		}
	}
	return most, because
}

// Counts is a fleet's live instances by what they count for. Footprint and
// Capacity are never the same variable: the first is held against max, the
// second against what is wanted.
type Counts struct {
	Footprint    int `json:"footprint"`
	Capacity     int `json:"capacity"`
	Ready        int `json:"ready"`
	Busy         int `json:"busy"`
	Idle         int `json:"idle"`
	Silent       int `json:"silent"`
	Provisioning int `json:"provisioning"`
	Draining     int `json:"draining"`
	Failed       int `json:"failed"`
	Quarantined  int `json:"quarantined"`
	Terminating  int `json:"terminating"`
	// Joining counts claimed hosts that no agent has come from: neither footprint
	// nor capacity.
	Joining int `json:"joining,omitempty"`
}

func count(instances []snapshot.Instance) Counts {
	var c Counts
	for _, i := range instances {
		if lifecycle.Footprint(i.State) {
			c.Footprint++
		}
		if lifecycle.Capacity(i.State, i.Silent) {
			c.Capacity++
		}
		switch i.State {
		case fleet.Requested, fleet.Provisioning, fleet.Bootstrapping, fleet.Enrolling:
			c.Provisioning++
		case fleet.Healthy:
			c.countHealthy(i)
		case fleet.Draining:
			c.Draining++
		case fleet.Failed:
			c.Failed++
		case fleet.Quarantined:
			c.Quarantined++
		case fleet.Terminating:
			c.Terminating++
		}
	}
	return c
}

func (c *Counts) countHealthy(i snapshot.Instance) {
	switch {
	case i.Silent:
		c.Silent++
		return
	case i.Busy:
		c.Busy++
	default:
		c.Idle++
	}
	c.Ready++
}
