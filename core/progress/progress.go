package progress

import (
	"maps"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Progress is what one step of the loop led to, for people who watch.
type Progress struct {
	At          time.Time                           `json:"at"`
	Transitions []loop.Transition                   `json:"transitions,omitempty"`
	States      map[fleet.CapacityInstanceState]int `json:"states"`
	// Settled: everything was seen and nothing is on its way. Stuck: nothing
	// moves any more, and what is missing needs a person.
	Settled bool `json:"settled"`
	Stuck   bool `json:"stuck"`
	// Serial is of the definition that the step worked with.
	Serial     int64                                   `json:"serial"`
	Unresolved int                                     `json:"unresolved"`
	Holds      map[fleet.RunnerFleetID]snapshot.Hold   `json:"holds,omitempty"`
	Blocked    map[fleet.ProviderAddress]string        `json:"blocked,omitempty"`
	Unobserved map[fleet.ProviderAddress]reason.Reason `json:"unobserved,omitempty"`
	// Faults are what went wrong with providers last.
	Faults map[fleet.ProviderAddress]reason.Reason `json:"faults,omitempty"`
	// Unrecorded is what providers have that no live instance accounts for.
	Unrecorded map[fleet.ProviderAddress]fleet.Unrecorded `json:"unrecorded,omitempty"`
	// Silent are the instances whose agents have missed their heartbeats, with
	// their fleets.
	Silent map[fleet.CapacityInstanceID]fleet.FleetAddress `json:"silent,omitempty"`
	// Observed says of each provider when its last complete inspection began.
	Observed map[fleet.ProviderAddress]time.Time `json:"observed,omitempty"`
	// Schedulers are those that can't be seen, with the reason, and Unplaced the
	// waiting work that nothing covers.
	Schedulers map[fleet.SchedulerAddress]reason.Reason `json:"schedulers,omitempty"`
	Unplaced   []planner.UnplacedDemand                 `json:"unplaced,omitempty"`
	// Rollouts are those that are under way.
	Rollouts map[fleet.FleetAddress]planner.RolloutPlan `json:"rollouts,omitempty"`
	// Waits are what else keeps fleets from what they should have.
	Waits map[fleet.FleetAddress][]reason.Reason `json:"waits,omitempty"`
	// Following counts the fleets that follow the demand of a scheduler.
	Following int `json:"following,omitempty"`
	// Fleets are the addresses of the fleets in Holds.
	Fleets map[fleet.RunnerFleetID]fleet.FleetAddress `json:"fleets,omitempty"`
}

// VisibleTo leaves out what is about fleets that aren't the caller's.
func (p Progress) VisibleTo(caller access.Caller) Progress {
	if len(caller.Fleets) == 0 {
		return p
	}
	p.Silent, p.Holds, p.Fleets = maps.Clone(p.Silent), maps.Clone(p.Holds), maps.Clone(p.Fleets)
	maps.DeleteFunc(p.Silent, func(_ fleet.CapacityInstanceID, a fleet.FleetAddress) bool { return !caller.MayTouch(a) })
	maps.DeleteFunc(p.Fleets, func(_ fleet.RunnerFleetID, a fleet.FleetAddress) bool { return !caller.MayTouch(a) })
	maps.DeleteFunc(p.Holds, func(id fleet.RunnerFleetID, _ snapshot.Hold) bool { _, own := p.Fleets[id]; return !own })
	p.Rollouts = maps.Clone(p.Rollouts)
	maps.DeleteFunc(p.Rollouts, func(a fleet.FleetAddress, _ planner.RolloutPlan) bool { return !caller.MayTouch(a) })
	p.Waits = maps.Clone(p.Waits)
	maps.DeleteFunc(p.Waits, func(a fleet.FleetAddress, _ []reason.Reason) bool { return !caller.MayTouch(a) })
	var own []loop.Transition
	for _, t := range p.Transitions {
		if caller.MayTouch(t.Fleet) {
			own = append(own, t)
		}
	}
	p.Transitions = own
	// Schedulers are the whole installation's; of those of their own fleets they
	// hear where they look at the fleets.
	p.Schedulers, p.Unplaced = nil, caller.Unplaced(p.Unplaced)
	all := p.Unrecorded
	p.Unrecorded = map[fleet.ProviderAddress]fleet.Unrecorded{}
	for address, u := range all {
		if visible := caller.Unrecorded(u); visible.Orphans > 0 {
			p.Unrecorded[address] = visible
		}
	}
	return p
}

// Of is what people may know of a step.
func Of(at time.Time, res loop.Result) Progress {
	seen := res.Observations
	p := Progress{
		At:          at,
		Transitions: res.Transitions,
		States:      map[fleet.CapacityInstanceState]int{},
		Settled:     res.Settled,
		Stuck:       stuck(res),
		Serial:      res.Serial,
		Unresolved:  res.Unresolved,
		Holds:       res.Holds(),
		Blocked:     seen.Blocked,
		Unobserved:  seen.Unobserved,
		Faults:      seen.Faults,
		Unrecorded:  seen.Unrecorded,
		Silent:      map[fleet.CapacityInstanceID]fleet.FleetAddress{},
		Observed:    seen.Inspected,
		Fleets:      map[fleet.RunnerFleetID]fleet.FleetAddress{},
		Schedulers:  seen.Schedulers,
		Unplaced:    res.Plan.Unplaced,
	}
	addresses := make(map[fleet.RunnerFleetID]fleet.FleetAddress, len(res.Plan.Fleets))
	for _, f := range res.Plan.Fleets {
		addresses[f.Fleet] = f.Address
		var hold *snapshot.Hold
		if why, held := p.Holds[f.Fleet]; held {
			p.Fleets[f.Fleet], hold = f.Address, &why
		}
		if f.Follows {
			p.Following++
		}
		for _, wait := range f.Waiting {
			if planner.Expected(wait) || planner.StandsStill(wait) || planner.Repeats(wait, hold) {
				continue // that is told elsewhere
			}
			if p.Waits == nil {
				p.Waits = map[fleet.FleetAddress][]reason.Reason{}
			}
			p.Waits[f.Address] = append(p.Waits[f.Address], wait)
		}
		if f.Rollout != nil {
			if p.Rollouts == nil {
				p.Rollouts = map[fleet.FleetAddress]planner.RolloutPlan{}
			}
			p.Rollouts[f.Address] = *f.Rollout
		}
	}
	silent := make(map[fleet.CapacityInstanceID]bool, len(res.Silent))
	for _, id := range res.Silent {
		silent[id] = true
	}
	for _, i := range res.Instances {
		if i.Live() {
			p.States[i.State]++
		}
		if silent[i.ID] {
			p.Silent[i.ID] = addresses[i.Fleet]
		}
	}
	return p
}
