package planner

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// upgrade is a fleet on its way to a new image, plan after plan, with hosts that
// boot, jobs that end, and whatever else the draw brings.
type upgrade struct {
	in   input
	made int
	// healthySince is since when each instance is healthy.
	healthySince map[fleet.CapacityInstanceID]time.Time
	frail        bool // new ones may go wrong
}

func drawUpgrade(t *rapid.T) *upgrade {
	f := rolled(
		0,
		0,
		fleet.RolloutPolicy{
			Canary:      rapid.IntRange(0, 3).Draw(t, "canary"),
			Soak:        time.Duration(rapid.IntRange(0, 4).Draw(t, "soak")) * time.Minute,
			Surge:       rapid.IntRange(0, 3).Draw(t, "surge"),
			Unavailable: rapid.IntRange(0, 2).Draw(t, "unavailable"),
		},
	)
	f.Scaling.Max = rapid.IntRange(1, 8).Draw(t, "max")
	f.Scaling.Min = rapid.IntRange(0, f.Scaling.Max).Draw(t, "min")
	u := &upgrade{healthySince: map[fleet.CapacityInstanceID]time.Time{}, frail: rapid.Bool().Draw(t, "frail")}
	u.in = input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{with(f, oldImage)}}
	// What was before: the old image ran, and maybe for long enough to be known good.
	for range rapid.IntRange(0, 3).Draw(t, "plans before") {
		u.plan(t)
		u.pass(t, false)
	}
	u.in.Fleets[0] = f
	return u
}

// plan plans once, holds the plan against the policy, and carries it out.
func (u *upgrade) plan(t *rapid.T) FleetPlan {
	f := u.in.Fleets[0]
	first, _ := json.Marshal(planInput(u.in))
	p := remembered(&u.in, planInput(u.in).Fleets[0])
	if again, _ := json.Marshal(planInput(u.in)); p.Remember == nil && string(first) != string(again) {
		t.Fatalf("the same input gave another plan:\n%s\n%s", first, again)
	}
	u.hold(t, f, p)
	u.carryOut(p)
	return p
}

// carryOut does what a plan says.
func (u *upgrade) carryOut(p FleetPlan) {
	f := u.in.Fleets[0]
	for n := range p.Create {
		of := f
		if n < len(p.Requests) && p.Requests[n].Make != nil {
			of = f.From(*p.Requests[n].Make)
		}
		i := instance(of, u.made, fleet.Requested)
		i.Created, i.Since = u.in.Now, u.in.Now
		u.made++
		u.in.Instances = append(u.in.Instances, i)
	}
	to := map[ActionKind]fleet.CapacityInstanceState{
		Cancel:   fleet.Terminated,
		Withdraw: fleet.Terminating,
		Drain:    fleet.Draining,
	}
	for _, a := range p.Actions {
		for n := range u.in.Instances {
			if i := &u.in.Instances[n]; i.ID == a.Instance {
				i.State, i.Cause, i.Since = to[a.Kind], string(a.Cause), u.in.Now
			}
		}
	}
}

// hold checks what no plan may do.
func (u *upgrade) hold(t *rapid.T, f fleet.ManagedFleet, p FleetPlan) {
	all := u.in.planning()
	r := all.rollouts[f.ID]
	surge, unavailable := all.latitude(f, p.Desired, p.Counts.Capacity)
	if p.Create > 0 && p.Counts.Footprint+p.Create > f.Scaling.Max {
		t.Fatalf("footprint %d and %d new are more than max = %d", p.Counts.Footprint, p.Create, f.Scaling.Max)
	}
	more := p.Counts.Capacity+p.Create > p.Desired
	if p.Create > 0 && more &&
		(p.Counts.Capacity+p.Create > p.Desired+surge || p.Counts.Capacity+r.leaving+p.Create > p.Desired+surge+unavailable) {
		t.Fatalf(
			"%d there, %d leaving and %d new; %d are wanted, %d may be more, and %d fewer",
			p.Counts.Capacity,
			r.leaving,
			p.Create,
			p.Desired,
			surge,
			unavailable,
		)
	}
	drains := 0
	for _, a := range p.Actions {
		if a.Cause == lifecycle.ForRollout {
			drains++
		}
	}
	if drains > 0 && r.leaving+drains > surge+unavailable {
		t.Fatalf("%d leave and %d more, with surge = %d and unavailable = %d", r.leaving, drains, surge, unavailable)
	}
	if drains > 0 && p.Counts.Ready-drains < p.Desired-unavailable {
		t.Fatalf("%d of %d ready ones leave, and %d of %d may be missing", drains, p.Counts.Ready, unavailable, p.Desired)
	}
	if r.limited() && r.halted() && drains > 0 {
		t.Fatalf("a halted rollout drains %d", drains)
	}
	if fresh := p.Create - based(p); r.limited() && fresh > 0 && r.fresh+fresh > max(1, r.canary) {
		t.Fatalf("%d of the new make and %d more before its soak is over, with %d canaries", r.fresh, fresh, r.canary)
	}
	if r.limited() && r.halted() && r.base != nil && p.Create > based(p) {
		t.Fatalf("a halted rollout makes %d of what it was halted for", p.Create-based(p))
	}
}

// pass lets a minute pass.
func (u *upgrade) pass(t *rapid.T, calm bool) {
	u.in.Now = u.in.Now.Add(time.Minute)
	alive := u.in.Instances[:0]
	target := u.in.Fleets[0].Make()
	for _, i := range u.in.Instances {
		i.Failure = reason.Reason{}
		slow := !calm && rapid.IntRange(0, 3).Draw(t, "slow") == 0
		switch i.State {
		case fleet.Terminated:
			continue
		case fleet.Requested, fleet.Provisioning, fleet.Bootstrapping, fleet.Enrolling:
			if !slow {
				i.State, i.Since = fleet.Healthy, u.in.Now
			}
			if u.frail && !calm && target.Made(i.CapacityInstance, agentVersion) && rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
				i.State, i.Failure = fleet.Failed, reason.Plain("it failed")
			}
		case fleet.Healthy:
			i.Busy = !calm && rapid.Bool().Draw(t, "busy")
		case fleet.Draining:
			if !slow && !i.Busy {
				i.State, i.Since = fleet.Terminating, u.in.Now
			}
			i.Busy = i.Busy && !calm
		case fleet.Failed:
			i.State, i.Since = fleet.Terminating, u.in.Now
		case fleet.Terminating:
			if !slow {
				continue
			}
		}
		alive = append(alive, i)
	}
	u.in.Instances = alive
}

// Whatever goes wrong, the budgets hold; and once nothing does any more and a
// person takes up what was halted, the whole fleet is of the new make.
func TestARolloutKeepsItsBudgetsAndEndsWhenItsNewOnesAreHealthy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := drawUpgrade(t)
		f := u.in.Fleets[0]
		for range rapid.IntRange(0, 25).Draw(t, "plans") {
			u.plan(t)
			u.pass(t, false)
		}
		u.plan(t) // what went wrong last was before the order
		u.pass(t, true)
		u.in.Overrides.Rollouts = []fleet.RolloutOrder{{Fleet: f.ID, Action: fleet.ResumeRollout, Attribution: ada}}
		var p FleetPlan
		for range 80 {
			p = u.plan(t)
			u.pass(t, true)
		}
		if p.Rollout != nil || len(p.Drifted) > 0 || !p.Reached() || p.Counts.Ready != p.Desired {
			story := ""
			for _, i := range u.in.Instances {
				story += fmt.Sprintf(" %s %s %t", i.ID, i.State, f.Make().Made(i.CapacityInstance, agentVersion))
			}
			t.Fatalf("it isn't done after 80 calm minutes: %+v, %+v, waits %v;%s", p.Counts, p.Rollout, p.Waiting, story)
		}
	})
}
