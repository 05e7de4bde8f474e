package simulation

import (
	"math/rand/v2"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// rules are what limits a world's fleets beside their own blocks: some worlds have
// tenants of whom one is entitled, some a second fleet for jobs at another provider
// with which the first is spread, softly or by rule.
type rules struct {
	policy   fleet.InstallationPolicy
	required bool
	random   *rand.Rand
}

// premium is the capacity class of the fleets for jobs, by name.
const premium = "premium"

// The tenants. Only acme is entitled where the class is limited.
const (
	entitledTenant = "acme"
	otherTenant    = "globex"
)

// drawRules draws them, and the second fleet.
func (w *world) drawRules(random *rand.Rand) {
	w.rules = rules{random: random}
	jobs := &w.store.fleets[0]
	switch random.IntN(4) {
	case 0:
		w.rules.policy.Entitlements = []fleet.Entitlement{
			{Name: "gold", Class: premium, Tenants: []string{entitledTenant}, Max: 1 + random.IntN(jobs.Scaling.Max)},
		}
	case 1, 2:
		w.rules.required = random.IntN(2) == 0
		jobs.Placement = fleet.PlacementPolicy{Spread: fleet.SpreadProvider, Required: w.rules.required}
		more := *jobs
		more.ID, more.Address, more.Provider, more.Market = "f4", "fleet.more", w.store.fleets[1].Provider, false
		more.Scaling.Min, more.Scaling.Max = 0, 1+random.IntN(4)
		w.store.fleets = append(w.store.fleets, more)
	}
	w.store.policy = w.rules.policy
}

// owner draws whose job one is.
func (r rules) owner() string {
	switch {
	case len(r.policy.Entitlements) == 0:
		return ""
	case r.random.IntN(3) == 0:
		return otherTenant
	}
	return entitledTenant
}

// bars says that no host may be made for a tenant's jobs; nor does the scheduler
// give it any.
func (r rules) bars(tenant string) bool {
	return len(r.policy.Entitlements) > 0 && !r.policy.Entitlements[0].Names(tenant, "")
}

// most is how many instances a fleet may have while nothing else of its class is
// there.
func (r rules) most(f fleet.ManagedFleet) int {
	switch {
	case f.Scheduler == "":
	case len(r.policy.Entitlements) > 0:
		return min(f.Scaling.Max, r.policy.Entitlements[0].Max)
	case r.required:
		return min(f.Scaling.Max, 1)
	}
	return f.Scaling.Max
}

// roomFor says that one of the fleets for jobs may have one more instance beside
// what each has.
func (w *world) roomFor(has map[fleet.RunnerFleetID]int) bool {
	least, total := anyNumber, 0
	for _, f := range w.store.fleets {
		if f.Scheduler != "" {
			least, total = min(least, has[f.ID]), total+has[f.ID]
		}
	}
	if e := w.rules.policy.Entitlements; len(e) > 0 && total >= e[0].Max {
		return false
	}
	return slices.ContainsFunc(w.store.fleets, func(f fleet.ManagedFleet) bool {
		return f.Scheduler != "" && has[f.ID] < f.Scaling.Max && (!w.rules.required || has[f.ID] == least)
	})
}

// anyNumber is more than any fleet has.
const anyNumber = 1 << 30

// machinesOf counts the machines that exist for a fleet.
func (w *world) machinesOf(f fleet.ManagedFleet) (n int) {
	for _, c := range w.clouds {
		for _, r := range c.resources {
			if !r.foreign && !r.copied && !r.part && r.Tags["forgeyard-fleet"] == string(f.ID) {
				n++
			}
		}
	}
	return n
}

// entitlementsHold: a limited class never has more instances than its entitlements
// allow, whatever asks for them, and none for whom they don't name.
func (w *world) entitlementsHold() {
	if len(w.rules.policy.Entitlements) == 0 {
		return
	}
	rows, most := 0, w.rules.policy.Entitlements[0].Max
	for _, i := range w.store.live() {
		if w.store.fleet(i.ID).Class.Name == premium && i.Adopted == "" {
			rows++
		}
	}
	if rows > most {
		w.fail("entitlements hold", "%d instances of the class %q are there, and %d are allowed", rows, premium, most)
	}
}

// nothingIsMadeForTheUnentitled: where no other jobs wait, the demand of the
// fleets for jobs is that of what runs. Schedules, forecasts and rollouts make hosts
// for other reasons.
func (w *world) nothingIsMadeForTheUnentitled(res loop.Result) {
	d := res.Observations.Demand[w.ci.address]
	if len(w.rules.policy.Entitlements) == 0 || !d.Unobserved.IsZero() {
		return
	}
	for _, q := range d.Snapshot.Queued {
		if q.Admissible > 0 && !w.rules.bars(q.Requirement.Tenant) {
			return
		}
	}
	for _, t := range res.Transitions {
		f := w.store.fleet(t.Instance)
		if len(f.Scaling.Schedules) > 0 || f.Forecast != (fleet.Forecast{}) || w.rollsOut(res, f.ID) {
			continue
		}
		capacity := 0
		for _, i := range w.store.live() {
			if i.Fleet == f.ID && lifecycle.Capacity(i.State, slices.Contains(res.Silent, i.ID)) {
				capacity++
			}
		}
		if t.To == fleet.Requested && w.scheduled(t.Instance) && capacity > f.Scaling.Min {
			w.fail(
				"entitlements hold",
				"%s is made, %d are there, min is %d, and only jobs of the unentitled wait",
				t.Instance,
				capacity,
				f.Scaling.Min,
			)
		}
	}
}

// rollsOut says that a fleet's hosts are being replaced.
func (w *world) rollsOut(res loop.Result, id fleet.RunnerFleetID) bool {
	return slices.ContainsFunc(
		res.Plan.Fleets,
		func(p planner.FleetPlan) bool { return p.Fleet == id && p.Rollout != nil },
	)
}

// requiredSpreadStaysEven: no provider gets more of the fleets for jobs than its even
// share, where that is a rule, by what is made now.
func (w *world) requiredSpreadStaysEven(res loop.Result) {
	if !w.rules.required {
		return
	}
	for _, p := range res.Plan.Fleets {
		// What one may not pay for or has no room for in the end, another has counted on
		// for a moment.
		if p.Follows && (w.limited(p.Fleet) || len(p.Waiting) > 0 || p.Constrained != nil) {
			return
		}
	}
	has, ended, made := map[fleet.ProviderAddress]int{}, map[fleet.ProviderAddress]int{}, map[fleet.ProviderAddress]bool{}
	for _, i := range w.store.live() {
		if w.scheduled(i.ID) {
			has[i.Provider]++
		}
	}
	for _, t := range res.Transitions {
		i := w.store.instances[t.Instance]
		switch {
		case !w.scheduled(t.Instance):
		case t.To == fleet.Requested:
			made[i.Provider] = true
		case t.To == fleet.Terminated:
			ended[i.Provider]++
		}
	}
	for provider := range made {
		elsewhere := 0
		for _, f := range w.store.fleets {
			if f.Scheduler != "" && f.Provider != provider {
				// What ended just now may have been there when the rest was decided.
				elsewhere += has[f.Provider] + ended[f.Provider]
			}
		}
		if has[provider] > elsewhere+1 {
			w.fail(
				"a required spread stays even",
				"%s gets one more and has %d, and elsewhere there are %d",
				provider,
				has[provider],
				elsewhere,
			)
		}
	}
}
