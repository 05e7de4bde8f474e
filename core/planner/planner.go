package planner

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/breaker"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/forecast"
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
	// Demand is what the schedulers say. A scheduler that is missing here hasn't
	// been asked yet, which is no different from one that can't be seen.
	Demand map[fleet.SchedulerAddress]Demand
	// Scaled is when fleets last changed their size, for the cooldown.
	Scaled map[fleet.RunnerFleetID]time.Time
	// ImprovementSteps bounds the search for cheaper hosts: a count, so that the same
	// input gives the same plan however fast the machine is.
	ImprovementSteps int
	// Holds names the fleets that may not start instances now.
	Holds map[fleet.RunnerFleetID]Hold
	// AgentVersion is the version of the agent that new instances get.
	AgentVersion string
	// Assets are the inventories of providers whose hosts are joined by a person.
	Assets map[fleet.ProviderAddress][]fleet.Asset
	// Offers are what the providers with a market said last. A market that is
	// missing here hasn't answered yet; nil: nobody can ask, as where no manager
	// runs, and it is taken that there will be offers.
	Offers map[fleet.MarketKey]fleet.OfferList
	// Circuits say where there was no room, and when that is tried again.
	Circuits breaker.Circuits

	// Forecasts are what the models of the fleets' forecast blocks say. One that is
	// missing hasn't been made: that is a running manager's task.
	Forecasts map[fleet.RunnerFleetID]forecast.Prediction

	// markets are the judged offers of each fleet, and book who probes, while Plan
	// works.
	markets map[fleet.RunnerFleetID]*market
	book    probeBook

	// Reservations are those of the file, and Standing is what people decided beside
	// it. Fleets and Instances may be given with or without its effect.
	Reservations []fleet.CapacityReservation
	Standing     fleet.StandingOrders

	// Policy is what the current definition allows [175].
	Policy fleet.InstallationPolicy
	// entitled counts who may have more of the classes that are limited, and spreads
	// what fleets that are spread over providers have where.
	entitled entitledRoom
	spreads  providerSpreads

	// waits is what the schedulers' demand waits for hosts to show.
	waits map[fleet.SchedulerAddress]waitsFor

	// allotted is what the reservations come to.
	allotted allotted
	// warm is how many idle runners fleets keep now.
	warm map[fleet.RunnerFleetID]warmth

	// Leases are what ended instances are paid for, as far as that may be of today
	// or later. purses are what the cost guardrails leave to each fleet.
	Leases []fleet.Lease
	purses map[fleet.RunnerFleetID]*purse

	// Rollouts are what is remembered of those of the fleets, rollouts how far they
	// are.
	Rollouts map[fleet.RunnerFleetID]fleet.Rollout
	rollouts map[fleet.RunnerFleetID]*rollout
}

// Instance is a live capacity instance with what was observed of it.
type Instance struct {
	fleet.CapacityInstance
	// Busy says that the agent's last word was that a job runs, or that its
	// scheduler shows a lease.
	Busy bool
	// Leases is what its scheduler last showed; 0 where there is none.
	Leases int
	// IdleSince is since when its scheduler has shown it without a lease, beyond
	// doubt; zero: it doesn't, or can't be asked. At a scheduler that doesn't list
	// its runners: since when its fleet has had more of them than it needs.
	IdleSince time.Time
	// Silent says that heartbeats are missing.
	Silent bool
	// Left says that its agent has ended by itself.
	Left bool
	// HeadsFor is the zone of the first offer of its request, until it is seen.
	HeadsFor string
	// JoinUntil is how long its host may still be joined, where it waits for that.
	JoinUntil time.Time
	// Spoiled says what went wrong with it in this step: it didn't boot or enroll, was
	// quarantined, or was lost. Empty: nothing.
	Spoiled string
	// Pinned says that a person wants it to stay. Plan sets it.
	Pinned bool
}

// Usage is what a scheduler shows of an instance, as in Instance.
type Usage struct {
	Leases    int       `json:"leases"`
	IdleSince time.Time `json:"idle_since,omitzero"`
}

// Hold keeps a fleet from starting instances.
type Hold struct {
	// Until is when the hold ends by itself; zero: when a person acts.
	Until time.Time `json:"until,omitzero"`
	// Reason says what went wrong, and not when the next try is: whoever shows it
	// knows the time, and whether anybody will try.
	Reason string `json:"reason"`
	// NeedsPerson says that waiting alone won't help.
	NeedsPerson bool `json:"needs_person,omitempty"`
	// Constrained says that the planner holds the fleet itself: none of its offers
	// can be used. Each plan finds that out anew.
	Constrained bool `json:"constrained,omitempty"`
}

// Sentence is the reason with the time until the next try, for where one will be
// made.
func (h Hold) Sentence(now time.Time) string {
	if !h.Until.After(now) {
		return h.Reason
	}
	return sentence("%s. The next try is in %s.", strings.TrimSuffix(h.Reason, "."), max(h.Until.Sub(now).Round(time.Second), time.Second))
}

// Output is the plan, sorted by fleet address.
type Output struct {
	Fleets []FleetPlan `json:"fleets"`
	// Unmet is the waiting work that nothing covers, in order of its schedulers and
	// of their demand.
	Unmet []Unmet `json:"unmet,omitempty"`
	// Reservations are those that haven't ended, the file's first.
	Reservations []ReservationPlan `json:"reservations,omitempty"`
}

// FleetPlan is what should happen to one fleet now.
type FleetPlan struct {
	Fleet   fleet.RunnerFleetID `json:"fleet"`
	Address fleet.FleetAddress  `json:"address"`
	// Follows says that the fleet follows the demand of a scheduler.
	Follows bool `json:"follows,omitempty"`
	// Desired is the number of instances the fleet should have, and Bounds the
	// chain that made it.
	Desired int           `json:"desired"`
	Bounds  []fleet.Bound `json:"bounds"`
	Counts  Counts        `json:"counts"`
	// Warm is how many idle runners it keeps now, and NextWarm when a schedule makes
	// that another number; nil: none does for a long time.
	Warm     int         `json:"warm"`
	NextWarm *WarmChange `json:"next_warm,omitempty"`
	// Needed is how many instances jobs run on or wait for, whatever its bounds; nil:
	// nobody knows, or nobody asks. Forecast is what the fleet's model expects of that.
	Needed   *int                 `json:"needed,omitempty"`
	Forecast *forecast.Prediction `json:"forecast,omitempty"`
	// Create is how many instances start now, with the reason.
	Create       int    `json:"create"`
	CreateReason string `json:"create_reason,omitempty"`
	// Actions are about single instances.
	Actions []Action `json:"actions,omitempty"`
	// Waiting says in one sentence each what keeps the fleet from its desired
	// number or definition.
	Waiting []Wait `json:"waiting,omitempty"`
	// Next is when its numbers change by time alone; zero: they don't.
	Next time.Time `json:"next,omitzero"`
	// Drifted lists the instances made from an older definition or image.
	Drifted []Drift `json:"drifted,omitempty"`
	// Joined says that a person joins the fleet's hosts: nothing is created.
	Joined bool `json:"joined,omitempty"`
	// Offers are what its next instances could be made of; nil: a person brings
	// them, or nobody has asked.
	Offers *OfferReport `json:"offers,omitempty"`
	// Requests are what each of the instances that start may be made of.
	Requests []Request `json:"-"`
	// Constrained is set where none of the offers can be used now.
	Constrained *Hold `json:"constrained,omitempty"`
	// ToJoin are the hosts that could be joined now.
	ToJoin []HostToJoin `json:"to_join,omitempty"`
	// Standing says in a sentence each what people decided about the fleet beside
	// its file.
	Standing []string `json:"standing,omitempty"`
	// Halted says that people keep the fleet from what it would do: it stays as it
	// is until they take that back.
	Halted bool `json:"halted,omitempty"`
	// KeptByPin is how many instances above Desired stay because they are pinned.
	KeptByPin int `json:"kept_by_pin,omitempty"`
	// KeptPaid is how many stay because their minimum is paid for.
	KeptPaid int `json:"kept_paid,omitempty"`
	// Cost is what the fleet costs; nil: nobody says.
	Cost *CostReport `json:"cost,omitempty"`
	// Rollout is the one that is under way; nil: there is none.
	Rollout *RolloutPlan `json:"rollout,omitempty"`
	// Remember is to be stored of it, where that has changed, and Turn says what has,
	// for people.
	Remember *fleet.Rollout `json:"-"`
	Turn     string         `json:"-"`
}

// ActionKind is what happens to one instance.
type ActionKind string

// Cancel ends an instance whose request was never sent, Withdraw removes a host
// that was never admitted, Drain cordons an admitted one, and Reactivate takes a
// drain back that hasn't told the agent to stop.
const (
	Cancel     ActionKind = "cancel"
	Withdraw   ActionKind = "withdraw"
	Drain      ActionKind = "drain"
	Reactivate ActionKind = "reactivate"
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
	StepLimit         WaitCode = "step_limit"           // scale_up.max_step in its window
	IdleGrace         WaitCode = "idle_grace"           // idle for too short a time
	CoolsDown         WaitCode = "cooldown"             // it changed its size just now
	WaitsForPerson    WaitCode = "waits_for_person"     // hosts are joined by hand
	LosesRunners      WaitCode = "runners_lost"         // its scheduler counts more and more lost runners
	NoOffer           WaitCode = "no_offer"             // no offer can be used, or one request tries first
	IsProtected       WaitCode = "protected"            // nothing but the file changes its size
	IsPinned          WaitCode = "pinned"               // a person wants an instance to stay
	IsQuarantined     WaitCode = "quarantined"          // a person lets no new instance come
	EntitlementHeld   WaitCode = "entitlement"          // the entitlements to its class allow no more
	SpreadHeld        WaitCode = "spread"               // its provider would have more than its even share
	CostGuardrail     WaitCode = "cost_guardrail"       // max_hourly or max_daily
	PaidMinimum       WaitCode = "paid_minimum"         // it is paid for, whether it leaves or not
	RolloutWaits      WaitCode = "rollout_waits"        // its rollout leaves no room for one more now
	RolloutStopped    WaitCode = "rollout_halted"       // something went wrong with a new one, or a person paused it
)

// Calm says that a wait is nothing amiss: it is over by itself, or somebody wants it.
func (c WaitCode) Calm() bool {
	return c == IdleGrace || c == CoolsDown || c == IsPinned || c == PaidMinimum || c == RolloutWaits
}

// Drift is one instance that isn't what the definition asks for.
type Drift struct {
	Instance fleet.CapacityInstanceID `json:"instance"`
	Reason   string                   `json:"reason"`
}

// Plan gives the demand of each scheduler to its fleets, and then decides for
// every fleet by itself.
func Plan(in Input) Output {
	in = governed(in)
	byFleet := membersOf(in)
	// In a fixed order, since the first that needs a probe gets it.
	in.Fleets = slices.SortedFunc(slices.Values(in.Fleets), func(a, b fleet.ManagedFleet) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.ID, b.ID))
	})
	in.constrain(byFleet)
	in.rollouts = rolloutsOf(in, byFleet)
	in.warm = warmths(in)
	in.waits = waitsOf(in.Demand)
	in.entitled = entitledRoomOf(in, byFleet)
	in.spreads = providerSpreadsOf(in, byFleet)
	in.openPurses(byFleet)
	supplies, unmet := distribute(in, byFleet)
	in.spreads.settle(in, byFleet, supplies)
	out := Output{Fleets: make([]FleetPlan, 0, len(in.Fleets)), Unmet: unmet, Reservations: in.allotted.plans}
	for _, f := range in.Fleets {
		out.Fleets = append(out.Fleets, planFleet(in, f, byFleet[f.ID], supplies[f.ID]))
	}
	return out
}

// membersOf are the live instances of each fleet, by id: parts of one list, since
// there may be ten thousand.
func membersOf(in Input) map[fleet.RunnerFleetID][]Instance {
	live := make([]*Instance, 0, len(in.Instances))
	for n := range in.Instances {
		if in.Instances[n].Live() {
			live = append(live, &in.Instances[n])
		}
	}
	slices.SortFunc(live, func(a, b *Instance) int {
		return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(a.ID, b.ID))
	})
	all := make([]Instance, len(live))
	for n, i := range live {
		all[n] = *i
	}
	byFleet := make(map[fleet.RunnerFleetID][]Instance, len(in.Fleets))
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(i Instance) bool { return i.Fleet != all[0].Fleet })
		if n < 0 {
			n = len(all)
		}
		byFleet[all[0].Fleet] = all[:n:n]
		all = all[n:]
	}
	return byFleet
}

// distribute gives the demand of every scheduler that can be seen to its fleets.
// A fleet whose scheduler can't be seen has no supply.
func distribute(in Input, byFleet map[fleet.RunnerFleetID][]Instance) (map[fleet.RunnerFleetID]*supply, []Unmet) {
	byScheduler := map[fleet.SchedulerAddress][]*supply{}
	for _, f := range in.Fleets {
		if d, asked := in.Demand[f.Scheduler]; f.Scheduler != "" && asked && d.Blind == "" {
			_, there := unjoined(f, byFleet[f.ID])
			byScheduler[f.Scheduler] = append(byScheduler[f.Scheduler], supplyOf(in, f, there, d))
		}
	}
	supplies := map[fleet.RunnerFleetID]*supply{}
	var unmet []Unmet
	for _, address := range slices.Sorted(maps.Keys(in.Demand)) {
		if in.Demand[address].Blind != "" {
			continue
		}
		slices.SortFunc(byScheduler[address], preferred)
		a := assign(address, in.Demand[address], eligibility{policy: &in.Policy, supplies: byScheduler[address]}, in.ImprovementSteps)
		unmet = append(unmet, a.unmet...)
		maps.Copy(supplies, a.supplies)
	}
	return supplies, unmet
}

func planFleet(in Input, f fleet.ManagedFleet, instances []Instance, s *supply) FleetPlan {
	p := FleetPlan{Fleet: f.ID, Address: f.Address, Joined: f.Joined, Follows: f.Scheduler != "" && f.Operational == fleet.FleetActive}
	waiting, instances := unjoined(f, instances)
	p.Counts = count(instances)
	p.Desired, p.Bounds = desired(in, f, p.Counts, s)
	if f.Joined {
		p.Desired, p.Bounds = joinedDesired(in, f, p.Counts.Capacity)
		p.joining(in, f, waiting, instances)
	}
	p.guardCost(in, f, s)
	p.Drifted = drifted(f, instances, in.AgentVersion)
	p.Drifted = append(p.Drifted, misplaced(in, f, instances, p.Drifted)...)
	p.Drifted = append(p.Drifted, disallowed(in, f, instances, p.Drifted)...)
	r := in.rollouts[f.ID]
	p.tell(in, f, r)
	p.Next = nextChange(in, f, instances)
	p.scheduled(in, f)
	p.foreseen(in, f, s)
	p.Offers = in.markets[f.ID].report(in.Now)
	if hold, held := in.Holds[f.ID]; held && hold.Constrained {
		p.Constrained = &hold
	}

	p.Standing = stands(in, f, instances)
	if f.Operational == fleet.FleetFrozen {
		p.Halted = true
		p.wait(IsFrozen, "The fleet is frozen: nothing starts, drains or ends.")
		return p
	}
	_, barred := in.Standing.Bars(f)
	p.Halted = barred || f.Operational == fleet.FleetScaleUpOnly && p.Counts.Capacity >= p.Desired
	p.spare(f, instances)
	r.leaveFirst(in, f, p.Drifted, instances)
	p.withdrawClaims(in, f, waiting)
	p.release(in, f, instances)
	if f.Operational != fleet.FleetScaleUpOnly {
		p.refresh(in, instances, r)
	}
	if len(p.Actions) > 0 {
		return p // the numbers are judged once these are on their way
	}
	there := p.Counts.Capacity - p.retire(in, f, instances)
	there += p.reactivate(f, s, p.Desired-there)
	switch missing, more, excess := p.gap(in, f, r, there); {
	case missing > 0 && f.Joined: // a person makes it up
	case missing+more > 0:
		p.grow(in, f, instances, missing, more)
	case excess > 0 && f.Operational != fleet.FleetScaleUpOnly:
		p.keepPinned(f, instances, excess)
		p.keepPaid(in, f, instances, excess)
		if f.Scheduler != "" && f.Operational == fleet.FleetActive {
			p.shrinkIdle(in, f, instances, s, excess)
		} else {
			p.shrink(in, f, instances, excess)
		}
	}
	if f.Operational == fleet.FleetActive {
		p.replace(in, f, instances, r)
	}
	return p
}

// grow starts missing instances as far as the fleet's budget allows, and more for
// its rollout.
func (p *FleetPlan) grow(in Input, f fleet.ManagedFleet, instances []Instance, missing, more int) {
	allowed, limit := budget(in, f, instances)
	create := min(missing+more, allowed)
	switch {
	case create < missing:
		p.waitOnce(limit.code, sentence(limit.format, instancesAre(missing-create)))
	case create < missing+more:
		p.wait(RolloutWaits, sentence("The rollout would start %s now, but %s.", plural(missing+more-create, "instance"), limit.brief))
	}
	if create == 0 {
		return
	}
	p.Requests = in.requests(f, create)
	bound := p.payFor(in, f, create)
	p.divide(in.rollouts[f.ID])
	if p.Create = len(p.Requests); p.Create == 0 && bound {
		return
	}
	if p.Create == 0 {
		p.waitOnce(NoOffer, sentence("%s missing, and a request of another fleet tries first whether there is room again.", instancesAre(create)))
		return
	}
	in.entitled.note(f, p.Create)
	p.CreateReason = sentence("%d wanted, %d there or on the way: %s.%s", p.Desired, p.Counts.Capacity, p.why(), in.rollouts[f.ID].creates(p.Requests, p.Create-missing))
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
