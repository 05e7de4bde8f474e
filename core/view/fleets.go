package view

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Fleet is one fleet as status shows it (spec §182).
type Fleet struct {
	Address     fleet.FleetAddress          `json:"address"`
	ID          fleet.RunnerFleetID         `json:"id"`
	Provider    fleet.ProviderAddress       `json:"provider"`
	Class       string                      `json:"capacity_class"`
	Operational fleet.FleetOperationalState `json:"operational"`
	Min         int                         `json:"min"`
	Max         int                         `json:"max"`
	// Warm is with the schedules' effect, NextWarm when that changes.
	Warm     int                 `json:"warm"`
	NextWarm *planner.WarmChange `json:"next_warm,omitempty"`
	// Forecast is what the fleet's model says of what it will need.
	Forecast   *forecast.Prediction `json:"forecast,omitempty"`
	Desired    int                  `json:"desired"`
	Counts     planner.Counts       `json:"counts"`
	Bounds     []fleet.Bound        `json:"bounds"`
	Outdated   int                  `json:"outdated"`
	Unresolved int                  `json:"unresolved"`
	Health     Health               `json:"health"`
	// Reasons say why the fleet isn't healthy, and what else a person should know.
	Reasons []reason.Reason `json:"reasons,omitempty"`
	// Seen is when the last complete inspection of its provider began, as far as a
	// running manager knows; Heard is the newest heartbeat of its runners.
	Seen  time.Time `json:"seen,omitzero"`
	Heard time.Time `json:"heard,omitzero"`
	// Scheduler is whose jobs run here, Unseen why nothing is known of its demand
	// now; a running manager's knowledge.
	Scheduler fleet.SchedulerAddress `json:"scheduler,omitempty"`
	Unseen    reason.Reason          `json:"scheduler_unseen,omitzero"`
	// Unplaced is the waiting work of its scheduler that nothing covers and that
	// came close to this fleet.
	Unplaced []planner.UnplacedDemand `json:"unplaced,omitempty"`
	// Concerns are what is amiss with its runners at its scheduler.
	Concerns []fleet.DemandConcern `json:"concerns,omitempty"`
	// Waiting is what keeps the fleet from its desired number, and Next when its
	// numbers change by time alone.
	Waiting []reason.Reason `json:"waiting,omitempty"`
	Next    time.Time       `json:"next,omitzero"`
	// Hold keeps the fleet from starting instances.
	Hold *snapshot.Hold `json:"hold,omitempty"`
	// Offers are what its next instances could be made of, where a running manager
	// knows; those of a fleet without a market are its own block.
	Offers *planner.OfferReport `json:"offers,omitempty"`
	// Interruptions say which instances their provider announced something about.
	Interruptions []reason.Reason `json:"interruptions,omitempty"`
	// ToJoin are the hosts that wait for a person to join them.
	ToJoin []planner.HostToJoin `json:"to_join,omitempty"`
	// Cost is what it costs, as far as prices are known: an estimate and no bill.
	Cost *planner.CostReport `json:"cost,omitempty"`
	// Overrides is what people decided about the fleet beside its file. Min, Max and
	// Operational are with its effect.
	Overrides []reason.Reason `json:"overrides,omitempty"`
	// Rollout is the one that is under way.
	Rollout *planner.RolloutPlan `json:"rollout,omitempty"`
	// Override is in the place of the file's min or max for a time.
	Override *fleet.FleetScaleOverride `json:"override,omitempty"`
	// Decisions are the newest ones, where a single fleet is looked at.
	Decisions []LastDecision `json:"decisions,omitempty"`
}

// Fleets lists every fleet by address.
func Fleets(s snapshot.Snapshot) []Fleet {
	fleets := make(map[fleet.RunnerFleetID]fleet.ManagedFleet, len(s.Fleets))
	for _, f := range s.Governed() {
		fleets[f.ID] = f
	}
	unresolved := map[fleet.RunnerFleetID]int{}
	for _, op := range s.Operations {
		if op.State == fleet.OperationUnknown {
			unresolved[op.Fleet]++
		}
	}
	members := membersByFleet(s)
	out := make([]Fleet, 0, len(s.Fleets))
	preview := planner.Plan(s)
	for _, p := range preview.Fleets {
		f := fleets[p.Fleet]
		v := Fleet{
			Address:     f.Address,
			ID:          f.ID,
			Provider:    f.Provider,
			Class:       f.Class.Name,
			Operational: f.Operational,
			Min:         f.Scaling.Min,
			Max:         f.Scaling.Max,
			Warm:        p.Warm,
			NextWarm:    p.NextWarm,
			Forecast:    p.Forecast,
			Desired:     p.Desired,
			Counts:      p.Counts,
			Bounds:      p.Bounds,
			Outdated:    len(p.Drifted),
			Unresolved:  unresolved[f.ID],
			ToJoin:      p.ToJoin,
			Scheduler:   f.Scheduler,
			Unplaced:    unplacedNear(preview.Unplaced, f),
			Waiting:     p.Waiting,
			Next:        p.Next,
			Concerns:    concernsOf(s.Demand[f.Scheduler], f),
		}
		v.Overrides, v.Cost, v.Rollout = p.Overrides, p.Cost, p.Rollout
		v.Unseen = p.Unseen
		if why := s.Demand[f.Scheduler].Unobserved; !why.IsZero() {
			v.Unseen = reason.Of(reason.SchedulerUnreachable{Scheduler: string(f.Scheduler), Because: why})
		}
		if o, holds := s.Overrides.ScaleOverride(f, s.Now); holds {
			v.Min, v.Max, v.Override = o.Least(v.Min), o.Most(v.Max), &o
		}
		if hold, held := s.Holds[f.ID]; held && !hold.Constrained {
			v.Hold = &hold
		} else {
			v.Hold = p.Constrained
		}
		if p.Offers.Worth() {
			v.Offers = p.Offers
		}
		v.Interruptions = interruptions(members[f.ID])
		v.Seen, v.Heard = s.Inspected[f.Provider], heard(members[f.ID])
		v.Health, v.Reasons = health(members[f.ID], s, f, p, v)
		out = append(out, v)
	}
	return out
}

// member is an instance of a fleet with its runner and its termination, which may be
// nil.
type member struct {
	*fleet.CapacityInstance
	runner    *fleet.Runner
	terminate *fleet.Operation
}

// membersByFleet sorts the instances by fleet once, so that a thousand fleets
// don't each look through the instances of all.
func membersByFleet(s snapshot.Snapshot) map[fleet.RunnerFleetID][]member {
	runners := s.RunnersByInstance()
	terminations := map[fleet.CapacityInstanceID]*fleet.Operation{}
	for n := range s.Operations {
		if op := &s.Operations[n]; op.Kind == fleet.TerminateOperation {
			terminations[op.Instance] = op
		}
	}
	out := make(map[fleet.RunnerFleetID][]member, len(s.Fleets))
	for n := range s.Instances {
		i := &s.Instances[n]
		out[i.Fleet] = append(out[i.Fleet], member{i, runners[i.ID], terminations[i.ID]})
	}
	return out
}

// heard is the newest heartbeat of a fleet's runners.
func heard(members []member) (newest time.Time) {
	for _, i := range members {
		if i.runner != nil && i.runner.LastBeat.After(newest) {
			newest = i.runner.LastBeat
		}
	}
	return newest
}
