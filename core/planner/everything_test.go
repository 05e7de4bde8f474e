package planner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// drawEverything is an input in which every feature of the planner may have a part,
// since what holds for each by itself may fail where two meet. Each is in few enough
// inputs that something happens in many.
func drawEverything(t *rapid.T) input {
	in := drawDemand(t)
	on := func(feature string, oneIn int) bool { return rapid.IntRange(1, oneIn).Draw(t, feature) == oneIn }
	quiet := on("quiet", 2) // hosts that no one needs, for a scale-down
	if !on("holds", 3) {
		in.Holds = nil
	}
	for n := range in.Fleets {
		if f := &in.Fleets[n]; !on("operational state", 3) {
			f.Operational = fleet.FleetActive
		}
	}
	if on("owners and policy", 3) {
		in, in.Policy = drawOwners(t, in), drawPolicy(t)
	}
	in.ImprovementSteps = rapid.IntRange(0, 50).Draw(t, "improvement steps")
	in.Scaled = map[fleet.RunnerFleetID]time.Time{}
	for n := range in.Fleets {
		drawKind(t, &in.Fleets[n])
		if f := &in.Fleets[n]; quiet {
			f.Scaling.Min, f.Scaling.Warm, f.Scaling.Schedules, f.Forecast = 0, 0, nil, fleet.Forecast{}
		}
	}
	if d := in.Demand[ci]; quiet {
		d.Snapshot.Queued = d.Snapshot.Queued[:min(1, len(d.Snapshot.Queued))]
		in.Demand[ci] = d
	}
	if on("costs", 3) {
		in = drawCosts(t, in)
	}
	if on("people", 3) {
		in = drawOverrides(t, in)
	}
	in.Forecasts, in.Rollouts, in.Circuits = map[fleet.RunnerFleetID]forecast.Prediction{},
		map[fleet.RunnerFleetID]fleet.Rollout{}, market.Circuits{}
	for n := range in.Fleets {
		drawMemory(t, &in, &in.Fleets[n])
	}
	for n := range in.Instances {
		drawHistory(t, in, &in.Instances[n])
	}
	for n := range in.Demand[ci].Snapshot.Queued {
		drawScheduler(t, &in.Demand[ci].Snapshot.Queued[n])
	}
	for _, place := range []string{"a", "b"} {
		if on("no room", 6) {
			maps.Copy(in.Circuits, without(time.Duration(rapid.IntRange(1, 90).Draw(t, "since"))*time.Second, place))
		}
	}
	if on("unobserved", 3) {
		in.Unobserved["local.here"] = reason.Of(reason.InspectionFailed{Message: "timeout"})
	}
	if on("a frozen provider", 8) {
		in.Overrides.Freezes = append(
			in.Overrides.Freezes,
			fleet.Freeze{Provider: "local.here", ScaleUpOnly: rapid.Bool().Draw(t, "up only"), Attribution: ada},
		)
	}
	return in
}

// drawKind is what the file says of a fleet beside its numbers.
func drawKind(t *rapid.T, f *fleet.ManagedFleet) {
	f.Provider = rapid.SampledFrom([]fleet.ProviderAddress{"local.here", "local.here", "cloud.there"}).Draw(t, "provider")
	f.Placement = fleet.PlacementPolicy{
		Spread:   rapid.SampledFrom([]string{fleet.SpreadNone, fleet.SpreadZone, fleet.SpreadProvider}).Draw(t, "spread"),
		Required: rapid.Bool().Draw(t, "required"),
	}
	f.Rollout = fleet.RolloutPolicy{
		Canary:      rapid.IntRange(0, 2).Draw(t, "canary"),
		Soak:        time.Duration(rapid.IntRange(0, 4).Draw(t, "soak")) * time.Minute,
		Surge:       rapid.IntRange(0, 2).Draw(t, "surge"),
		Unavailable: rapid.IntRange(0, 2).Draw(t, "unavailable"),
	}
	f.Image = newImage
	f.Scaling.ScaleDown.IdleGrace = time.Duration(rapid.IntRange(0, 5).Draw(t, "idle grace")) * time.Minute
	f.Timeouts.Terminate = time.Duration(rapid.IntRange(1, 60).Draw(t, "terminate")) * time.Minute
	if rapid.IntRange(0, 7).Draw(t, "without a scheduler") == 0 {
		f.Scheduler = ""
	}
	if rapid.IntRange(0, 3).Draw(t, "old age") == 0 {
		f.Runner.MaxAge = time.Duration(rapid.IntRange(1, 60).Draw(t, "max age")) * time.Minute
	}
	f.Protected = rapid.IntRange(0, 7).Draw(t, "protected") == 0
	if rapid.IntRange(0, 7).Draw(t, "removed") == 0 {
		f.Operational = fleet.FleetDraining
	}
	if !f.Protected && rapid.IntRange(0, 3).Draw(t, "forecast") == 0 {
		f.Forecast = naive
	}
	if rapid.IntRange(0, 3).Draw(t, "schedule") == 0 {
		f.Scaling.Schedules = append(
			f.Scaling.Schedules,
			window(
				"s",
				fmt.Sprintf("%d 12 * * *", rapid.IntRange(0, 59).Draw(t, "minute")),
				time.Duration(
					rapid.IntRange(1, 90).Draw(t, "duration"),
				)*time.Minute,
				"UTC",
				rapid.IntRange(0, 3).Draw(t, "scheduled"),
			),
		)
	}
}

// drawMemory is what is remembered and forecast of a fleet.
func drawMemory(t *rapid.T, in *input, f *fleet.ManagedFleet) {
	if p := expecting(rapid.IntRange(0, 6).Draw(t, "expected")); rapid.Bool().Draw(t, "forecast") {
		in.Forecasts[f.ID] = p
	}
	if rapid.IntRange(0, 3).Draw(t, "scaled") == 0 {
		in.Scaled[f.ID] = now.Add(-time.Duration(rapid.IntRange(0, 10).Draw(t, "scaled ago")) * time.Minute)
	}
	change := rapid.SampledFrom([]func(*fleet.Rollout){nil, soaking(time.Minute), passed, haltedFor("it failed")}).
		Draw(t, "rollout")
	if rapid.IntRange(0, 5).Draw(t, "a rollout is remembered") == 0 {
		in.Rollouts[f.ID] = recorded(*f, change)[f.ID]
	}
	switch rapid.IntRange(0, 15).Draw(t, "order") {
	case 0:
		in.Overrides.Rollouts = append(
			in.Overrides.Rollouts,
			fleet.RolloutOrder{Fleet: f.ID, Action: fleet.PauseRollout, Attribution: ada},
		)
	case 1:
		in.Overrides.Rollouts = append(
			in.Overrides.Rollouts,
			fleet.RolloutOrder{Fleet: f.ID, Action: fleet.RollBack, From: newImage, To: oldImage, Attribution: ada},
		)
	case 2:
		in.Overrides.Quarantines = append(
			in.Overrides.Quarantines,
			fleet.Quarantine{Image: newImage.Digest, Attribution: ada},
		)
	}
}

// drawScheduler is what schedulers of some kinds alone say of jobs.
func drawScheduler(t *rapid.T, d *fleet.QueuedDemand) {
	d.OldestWait = time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds waited")) * time.Second
	if rapid.Bool().Draw(t, "no quota") {
		d.Admissible = d.Count
	}
	d.PreemptibleAllowed = rapid.Bool().Draw(t, "interruptible")
	if rapid.IntRange(0, 4).Draw(t, "unlisted") == 0 {
		d.Unlisted = &fleet.UnlistedUsage{
			Jobs:   rapid.IntRange(0, 4).Draw(t, "run"),
			Usable: rapid.IntRange(0, 4).Draw(t, "usable"),
		}
	}
}

// drawHistory is what an instance was made from, and since when it is what it is.
func drawHistory(t *rapid.T, in input, i *snapshot.Instance) {
	f := in.Fleets[slices.IndexFunc(in.Fleets, func(f fleet.ManagedFleet) bool { return f.ID == i.Fleet })]
	i.Provider, i.Class, i.InstanceDigest = f.Provider, f.Class.ID(), f.InstanceDigest()
	i.Image, i.ImageDigest = newImage.ID(agentVersion), newImage.Digest
	if rapid.IntRange(0, 5).Draw(t, "old image") == 0 {
		i.Image, i.ImageDigest = oldImage.ID(agentVersion), oldImage.Digest
	}
	if rapid.Bool().Draw(t, "works") {
		i.State, i.Cause, i.Drain, i.IdleSince = fleet.Healthy, "", "", time.Time{}
		i.Leases = rapid.IntRange(0, 2).Draw(t, "leases")
		i.Busy = i.Leases > 0
	}
	if rapid.IntRange(0, 3).Draw(t, "long there") > 0 {
		i.Created = now.Add(-time.Duration(rapid.IntRange(2, 90).Draw(t, "minutes")) * time.Minute)
	}
	lately := min(
		now.Sub(i.Created),
		time.Duration(rapid.SampledFrom([]int{20, 150, 9999, 9999}).Draw(t, "lately"))*time.Second,
	)
	i.Since = now.Add(-time.Duration(rapid.Int64Range(0, int64(lately)).Draw(t, "since")))
	if i.State == fleet.Healthy && !i.Busy {
		i.IdleSince = now.Add(-time.Duration(rapid.Int64Range(0, int64(now.Sub(i.Since))).Draw(t, "idle since")))
	}
	i.Left = i.State == fleet.Draining && rapid.IntRange(0, 5).Draw(t, "left") == 0
	i.Zone = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone")
	if rapid.IntRange(0, 29).Draw(t, "failed") == 0 {
		i.Failure = reason.Plain("it failed")
	}
	if f.Scheduler == "" && i.State == fleet.Healthy {
		i.Leases, i.IdleSince = 0, time.Time{}
	}
}

func fleetOf(in input, p FleetPlan) fleet.ManagedFleet {
	return in.Fleets[slices.IndexFunc(in.Fleets, func(f fleet.ManagedFleet) bool { return f.ID == p.Fleet })]
}

// checkEverything holds some hundreds of inputs against what is true of each: so many
// that what needs three things to meet is met.
func checkEverything(t *testing.T, holds func(t *rapid.T, in input)) {
	rapid.Check(t, func(t *rapid.T) {
		for range 8 {
			holds(t, drawEverything(t))
		}
	})
}

// properties are what holds for every input: each says what is wrong with one
// fleet's plan, or "".
var properties = map[string]func(in input, f fleet.ManagedFleet, p FleetPlan) string{
	"desired is within min and max unless a stated bound says otherwise": func(in input, f fleet.ManagedFleet,
		p FleetPlan) string {
		least, most := limitsAt(&planning{Snapshot: in.snapshot()}, f, now)
		stated := func(name string) bool {
			return slices.ContainsFunc(p.Bounds, func(b fleet.Bound) bool { return b.Name == name })
		}
		switch {
		case p.Desired > most:
			return fmt.Sprintf("%d are wanted, and at most %d may be", p.Desired, most)
		case p.Desired < min(least, most) && !stated("removed") && !stated("cost_guardrail"):
			return fmt.Sprintf("%d are wanted, and at least %d must be", p.Desired, least)
		}
		return ""
	},
	"what isn't proven gone and what starts are within max together": func(in input, f fleet.ManagedFleet,
		p FleetPlan) string {
		if _, most := limitsAt(
			&planning{Snapshot: in.snapshot()},
			f,
			now,
		); p.Create > 0 &&
			p.Counts.Footprint+p.Create > most {
			return fmt.Sprintf("%d there and %d new, and at most %d may be", p.Counts.Footprint, p.Create, most)
		}
		return ""
	},
	"a frozen fleet decides nothing": func(in input, f fleet.ManagedFleet, p FleetPlan) string {
		if f.Operational == fleet.FleetFrozen && p.Create+len(p.Actions)+len(p.Requests) > 0 {
			return story(p)
		}
		return ""
	},
	"nothing is taken down while an observation is missing": func(in input, f fleet.ManagedFleet, p FleetPlan) string {
		for _, a := range p.Actions {
			i := instanceOf(in, a)
			_, unobserved := in.Unobserved[i.Provider]
			unobservable := f.Scheduler != "" && f.Operational != fleet.FleetDraining &&
				!in.Demand[f.Scheduler].Unobserved.IsZero()
			if a.Kind != Reactivate && (unobserved && i.State != fleet.Requested || unobservable && a.Kind == Drain) {
				return fmt.Sprintf("%s of %s, which is %s: %s", a.Kind, i.ID, i.State, a.Reason)
			}
		}
		return ""
	},
	"a busy instance is not considered for a scale-down": func(in input, f fleet.ManagedFleet, p FleetPlan) string {
		for _, a := range p.Actions {
			if i := instanceOf(in, a); a.Cause == lifecycle.ForScaleDown && (i.Busy || i.Leases > 0) {
				return fmt.Sprintf("%s of %s with %d leases: %s", a.Kind, i.ID, i.Leases, a.Reason)
			}
		}
		return ""
	},
	"nothing but the file changes the size of a protected fleet": func(in input, f fleet.ManagedFleet,
		p FleetPlan) string {
		down := slices.ContainsFunc(
			p.Actions,
			func(a Action) bool { return a.Cause == lifecycle.ForScaleDown && f.Scheduler != "" },
		)
		if f.Protected && (down || f.Scheduler != "" && p.Create > max(0, f.Scaling.Min-p.Counts.Capacity)+1) {
			return story(p)
		}
		return ""
	},
	"every act is in the lifecycle, and each instance has one": func(in input, f fleet.ManagedFleet, p FleetPlan) string {
		to := map[ActionKind]fleet.CapacityInstanceState{
			Cancel:     fleet.Terminated,
			Withdraw:   fleet.Terminating,
			Drain:      fleet.Draining,
			Reactivate: fleet.Healthy,
		}
		acted := map[fleet.CapacityInstanceID]bool{}
		for _, a := range p.Actions {
			i := instanceOf(in, a)
			if acted[i.ID] || a.Reason.IsZero() || !lifecycle.Allowed(i.State, to[a.Kind], a.Cause) {
				return fmt.Sprintf("%s of %s in state %s because of %q (%s)", a.Kind, i.ID, i.State, a.Reason, a.Cause)
			}
			acted[i.ID] = true
		}
		return ""
	},
}

func instanceOf(in input, a Action) snapshot.Instance {
	return in.Instances[slices.IndexFunc(in.Instances, func(i snapshot.Instance) bool { return i.ID == a.Instance })]
}

func TestWithEveryFeatureAtOnceThePropertiesHold(t *testing.T) {
	checkEverything(t, func(t *rapid.T, in input) {
		out := planInput(in)
		for _, p := range out.Fleets {
			f := in.Overrides.Apply(fleetOf(in, p))
			for name, wrong := range properties {
				if what := wrong(in, f, p); what != "" {
					t.Fatalf("%s: but of %s %s\n%s", name, p.Address, what, chain(p))
				}
			}
		}
		first, _ := json.Marshal(out)
		other := shuffled(t, in)
		other.Overrides.Reservations = rapid.Permutation(in.Overrides.Reservations).Draw(t, "reservations in another order")
		if again, _ := json.Marshal(planInput(other)); string(first) != string(again) {
			t.Fatalf("the same input in another order gives another plan:\n%s", diff.Diff(out, planInput(other)))
		}
	})
}

// A job more of the least urgent kind: what was covered stays so, whatever else
// keeps fleets from growing.
func TestOneMoreJobKeepsOthersPlaced(t *testing.T) {
	uncovered := func(in input) (n int) {
		for _, u := range planInput(in).Unplaced {
			n += u.Count
		}
		return n
	}
	checkEverything(t, func(t *rapid.T, in input) {
		d := in.Demand[ci]
		order := inOrder(d.Snapshot.Queued)
		if len(order) == 0 {
			return
		}
		was := uncovered(in)
		least := slices.IndexFunc(
			d.Snapshot.Queued,
			func(g fleet.QueuedDemand) bool { return diff.Equal(g, order[len(order)-1]) },
		)
		d.Snapshot.Queued = slices.Clone(d.Snapshot.Queued) // with those of which none may run: what runs of them takes room
		d.Snapshot.Queued[least].Count++
		d.Snapshot.Queued[least].Admissible++
		in.Demand = map[fleet.SchedulerAddress]snapshot.Demand{ci: d}
		if is := uncovered(in); is > was+1 {
			t.Fatalf("one more job of the least urgent kind, and %d instead of %d have no host", is, was)
		}
	})
}

// gist is a plan's story without names: which of two goes first may change with the
// time that each is paid for, and nothing waits for that.
func gist(p FleetPlan) string {
	p.Actions = slices.Clone(p.Actions)
	for n := range p.Actions {
		p.Actions[n].Instance = ""
	}
	slices.SortFunc(p.Actions, func(a, b Action) int {
		return cmp.Compare(string(a.Kind+ActionKind(a.Cause)), string(b.Kind+ActionKind(b.Cause)))
	})
	return story(p)
}

// Whatever a plan depends on, the time at which it changes by itself is told: until
// then the loop may sleep.
func TestNothingChangesByTimeAloneBeforeTheTimeThatThePlanNames(t *testing.T) {
	checkEverything(t, func(t *rapid.T, in input) {
		first := planInput(in)
		until := now.Add(6 * time.Hour)
		for _, p := range first.Fleets {
			if p.Remember != nil { // it is stored, and planned again
				in.Rollouts[p.Fleet] = *p.Remember
			}
			if p.Next.After(now) && p.Next.Before(until) {
				until = p.Next
			}
		}
		for _, c := range in.Circuits { // the loop knows of these by itself
			if c.Until.After(now) && c.Until.Before(until) {
				until = c.Until
			}
		}
		first = planInput(in)
		later := in
		later.Now = until.Add(-1)
		if rapid.Bool().Draw(t, "before that") {
			later.Now = now.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(now))-1).Draw(t, "later")))
		}
		for n, p := range planInput(later).Fleets {
			was := first.Fleets[n]
			if p.Desired != was.Desired || gist(p) != gist(was) {
				t.Fatalf(
					"at %s %s: %d, %s\nat %s, and nothing was to change before %s: %d, %s\n%s\n%s",
					now,
					p.Address,
					was.Desired,
					story(was),
					later.Now,
					until,
					p.Desired,
					story(p),
					chain(was),
					chain(p),
				)
			}
		}
	})
}
