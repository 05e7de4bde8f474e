package planner

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// Input is everything that a plan depends on.
type Input struct {
	Now       time.Time
	Fleets    []fleet.ManagedFleet
	Instances []Instance
	// Unobserved names the providers whose last inspection failed, was
	// incomplete or never happened, with the reason. Can't see is not zero:
	// nothing is taken away from their fleets.
	Unobserved map[fleet.ProviderAddress]string
	// Holds names the fleets that may not start instances now.
	Holds map[fleet.RunnerFleetID]Hold
	// AgentVersion is the version of the agent that new instances get.
	AgentVersion string
	// Assets are the inventories of providers whose hosts are joined by a person.
	Assets map[fleet.ProviderAddress][]fleet.Asset
}

// Instance is a live capacity instance with what was observed of it.
type Instance struct {
	fleet.CapacityInstance
	// Busy says that the agent's last word was that a job runs.
	Busy bool
	// Silent says that heartbeats are missing.
	Silent bool
	// JoinUntil is how long its host may still be joined, where it waits for that.
	JoinUntil time.Time
}

// Hold keeps a fleet from starting instances.
type Hold struct {
	// Until is when the hold ends by itself; zero: when a person acts.
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason"`
	// NeedsPerson says that waiting alone won't help.
	NeedsPerson bool `json:"needs_person,omitempty"`
}

// Output is the plan, sorted by fleet address.
type Output struct {
	Fleets []FleetPlan `json:"fleets"`
}

// FleetPlan is what should happen to one fleet now.
type FleetPlan struct {
	Fleet   fleet.RunnerFleetID `json:"fleet"`
	Address fleet.FleetAddress  `json:"address"`
	// Desired is the number of instances the fleet should have, and Bounds the
	// chain that made it.
	Desired int           `json:"desired"`
	Bounds  []fleet.Bound `json:"bounds"`
	Counts  Counts        `json:"counts"`
	// Create is how many instances start now, with the reason.
	Create       int    `json:"create"`
	CreateReason string `json:"create_reason,omitempty"`
	// Actions are about single instances.
	Actions []Action `json:"actions,omitempty"`
	// Waiting says in one sentence each what keeps the fleet from its desired
	// number or definition.
	Waiting []Wait `json:"waiting,omitempty"`
	// Drifted lists the instances made from an older definition or image.
	Drifted []Drift `json:"drifted,omitempty"`
	// Joined says that a person joins the fleet's hosts: nothing is created.
	Joined bool `json:"joined,omitempty"`
	// ToJoin are the hosts that could be joined now.
	ToJoin []HostToJoin `json:"to_join,omitempty"`
}

// ActionKind is what happens to one instance.
type ActionKind string

// Cancel ends an instance whose request was never sent, Withdraw removes a host
// that was never admitted, Drain cordons an admitted one.
const (
	Cancel   ActionKind = "cancel"
	Withdraw ActionKind = "withdraw"
	Drain    ActionKind = "drain"
)

// Action is one step for one instance.
type Action struct {
	Kind     ActionKind               `json:"kind"`
	Instance fleet.CapacityInstanceID `json:"instance"`
	Cause    lifecycle.Cause          `json:"cause"`
	Reason   string                   `json:"reason"`
}

// Wait is one reason why a fleet isn't where it should be.
type Wait struct {
	// Code is stable, for metrics and tests.
	Code     WaitCode `json:"code"`
	Sentence string   `json:"sentence"`
}

// WaitCode names a kind of wait.
type WaitCode string

// The kinds of wait.
const (
	MaxHeldByUnproven WaitCode = "max_held_by_unproven" // rows not proven gone fill max
	HeldBack          WaitCode = "held_back"            // back-off or a permanent error
	CannotSee         WaitCode = "cannot_see"           // the provider can't be observed
	IsFrozen          WaitCode = "frozen"               // an operator froze the fleet
	WaitsForProvider  WaitCode = "waits_for_provider"   // a request is under way
)

// Drift is one instance that isn't what the definition asks for.
type Drift struct {
	Instance fleet.CapacityInstanceID `json:"instance"`
	Reason   string                   `json:"reason"`
}

// Plan decides for every fleet by itself.
func Plan(in Input) Output {
	byFleet := make(map[fleet.RunnerFleetID][]Instance, len(in.Fleets))
	for _, i := range in.Instances {
		if i.Live() {
			byFleet[i.Fleet] = append(byFleet[i.Fleet], i)
		}
	}
	out := Output{Fleets: make([]FleetPlan, 0, len(in.Fleets))}
	for _, f := range in.Fleets {
		instances := byFleet[f.ID]
		slices.SortFunc(instances, func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
		out.Fleets = append(out.Fleets, planFleet(in, f, instances))
	}
	slices.SortFunc(out.Fleets, func(a, b FleetPlan) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Fleet, b.Fleet))
	})
	return out
}

func planFleet(in Input, f fleet.ManagedFleet, instances []Instance) FleetPlan {
	p := FleetPlan{Fleet: f.ID, Address: f.Address, Joined: f.Joined}
	waiting, instances := unjoined(f, instances)
	p.Counts = count(instances)
	p.Desired, p.Bounds = desired(f)
	if f.Joined {
		p.Desired, p.Bounds = joinedDesired(f, p.Counts.Capacity)
		p.joining(in, f, waiting, instances)
	}
	p.Drifted = drifted(f, instances, in.AgentVersion)
	p.Drifted = append(p.Drifted, misplaced(in, f, instances, p.Drifted)...)
	if f.Operational == fleet.FleetFrozen {
		p.wait(IsFrozen, "The fleet is frozen: nothing starts, drains or ends.")
		return p
	}
	p.withdrawClaims(in, f, waiting)
	p.release(in, f, instances)
	if p.refresh(in, instances); len(p.Actions) > 0 {
		return p // the numbers are judged once these are on their way
	}
	switch excess := p.Counts.Capacity - p.Desired; {
	case excess < 0 && f.Joined: // a person makes it up
	case excess < 0:
		p.grow(in, f, -excess)
	case excess > 0 && f.Operational != fleet.FleetScaleUpOnly:
		p.shrink(in, f, instances, excess)
	}
	if f.Operational == fleet.FleetActive {
		p.replace(in, f, instances)
	}
	return p
}

// grow starts missing instances as far as max allows for everything that isn't
// proven gone, whatever its state.
func (p *FleetPlan) grow(in Input, f fleet.ManagedFleet, missing int) {
	if hold, held := in.Holds[f.ID]; held && (hold.Until.IsZero() || hold.Until.After(in.Now)) {
		p.wait(HeldBack, hold.Reason)
		return
	}
	create := min(missing, max(0, f.Scaling.Max-p.Counts.Footprint))
	if create < missing {
		p.wait(MaxHeldByUnproven, sentence("%s missing, but max = %d is held by %s that aren't proven gone.",
			instancesAre(missing), f.Scaling.Max, plural(p.Counts.Footprint-p.Counts.Capacity, "instance")))
	}
	if create == 0 {
		return
	}
	p.Create = create
	p.CreateReason = sentence("%d wanted, %d there or on the way: %s.", p.Desired, p.Counts.Capacity, p.why())
}

func (p *FleetPlan) wait(code WaitCode, text string) {
	p.Waiting = append(p.Waiting, Wait{Code: code, Sentence: text})
}

// why is the bound that made the desired number.
func (p *FleetPlan) why() string {
	why := "nothing asks for capacity"
	last := -1
	for _, b := range p.Bounds {
		if b.After != last {
			why, last = b.Name, b.After
		}
	}
	return why
}
