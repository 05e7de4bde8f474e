package planner

import (
	"cmp"
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// providerSpread is the fleets of one class and scheduler that say spread =
// "provider": what of them is at each provider. A provider counts while one of its
// fleets may grow at all: what a person froze, quarantined or removes is done
// without. A shortage is not a reason to do without: it passes.
type providerSpread struct {
	class string
	// has is everything that isn't proven gone, by provider.
	has     map[fleet.ProviderAddress]int
	total   int
	members []*spreadMember
	// slack is how many more each provider may have beside what is wanted there, for
	// whichever of its fleets starts one first.
	slack map[fleet.ProviderAddress]int
}

// spreadMember is one of its fleets.
type spreadMember struct {
	fleet fleet.ManagedFleet
	// room is how many more it may have where the spread is required.
	room int
}

// providerSpreads are those that fleets belong to.
type providerSpreads map[fleet.RunnerFleetID]*providerSpread

// spreadKey is what fleets have in common that are spread together.
type spreadKey struct {
	class     fleet.CapacityClassID
	scheduler fleet.SchedulerAddress
}

// providerSpreadsOf counts what is at each provider, and how far each fleet could
// go if all went as far as they may.
func providerSpreadsOf(in *planning) providerSpreads {
	out, byKey, keys := providerSpreads{}, map[spreadKey]*providerSpread{}, map[fleet.RunnerFleetID]spreadKey{}
	for _, f := range in.fleets {
		if f.Placement.Spread != fleet.SpreadProvider || f.Joined {
			continue
		}
		key := spreadKey{f.Class.ID(), f.Scheduler}
		keys[f.ID] = key
		if _, barred := in.Overrides.FleetQuarantine(
			f,
		); barred || f.Operational == fleet.FleetFrozen ||
			f.Operational == fleet.FleetDraining {
			continue
		}
		if byKey[key] == nil {
			byKey[key] = &providerSpread{class: f.Class.Name, has: map[fleet.ProviderAddress]int{}}
		}
		p := byKey[key]
		p.has[f.Provider], p.members, out[f.ID] = 0, append(p.members, &spreadMember{fleet: f}), p
	}
	for _, f := range in.fleets {
		p := byKey[keys[f.ID]]
		if p == nil {
			continue
		}
		if _, counts := p.has[f.Provider]; counts {
			p.has[f.Provider] += len(in.byFleet[f.ID])
			p.total += len(in.byFleet[f.ID])
		}
	}
	for _, p := range byKey {
		p.allow(func(m *spreadMember) int {
			most, _ := budget(in, m.fleet, in.byFleet[m.fleet.ID])
			return most
		})
	}
	return out
}

// with is what a fleet is spread with; nil: it has nothing to spread over.
func (s providerSpreads) with(f fleet.ManagedFleet) *providerSpread {
	if p := s[f.ID]; p != nil && len(p.has) > 1 {
		return p
	}
	return nil
}

// settle says how far each fleet may go with what is wanted of all of them now. Those
// with actions start nothing in this plan, so that no one else may count on it.
func (s providerSpreads) settle(in *planning, supplies map[fleet.RunnerFleetID]*supply, plans []FleetPlan) {
	acts := map[fleet.RunnerFleetID]bool{}
	for n := range plans {
		acts[plans[n].Fleet] = len(plans[n].Actions) > 0
	}
	done := map[*providerSpread]bool{}
	for _, f := range in.fleets {
		p := s.with(f)
		if p == nil || done[p] {
			continue
		}
		done[p] = true
		p.allow(func(m *spreadMember) int {
			if acts[m.fleet.ID] {
				return 0
			}
			c := count(in.byFleet[m.fleet.ID])
			wanted, _ := desired(in, m.fleet, c, supplies[m.fleet.ID])
			most, _ := budget(in, m.fleet, in.byFleet[m.fleet.ID])
			there := c.Capacity
			for _, i := range in.byFleet[m.fleet.ID] {
				if in.Demand[m.fleet.Scheduler].Uncordons && canReturn(i) {
					there++ // it is had back before one is made, and it is counted already
				}
			}
			return min(max(0, wanted-there), most)
		})
	}
}

// allow gives each fleet what it wants as far as no provider gets more than its
// even share, and what each provider could have beyond that by itself to all of its
// fleets together.
func (p *providerSpread) allow(wanted func(*spreadMember) int) {
	for _, m := range p.members {
		m.room = anyNumber // also for what is wanted, which nothing earlier may limit
	}
	required := slices.ContainsFunc(p.members, func(m *spreadMember) bool { return m.fleet.Placement.Required })
	if !required || len(p.has) < 2 {
		return
	}
	left := make([]int, len(p.members))
	for n, m := range p.members {
		left[n] = wanted(m)
	}
	has, total := p.handOut(left)
	p.slack = make(map[fleet.ProviderAddress]int, len(has))
	for provider, own := range has {
		// With so many elsewhere, one provider may have up to this.
		most := (total - own + len(has) - 1) / (len(has) - 1)
		p.slack[provider] = max(0, most-own)
	}
}

// handOut gives the fleets one after the other, each at the provider that has least,
// and returns what the providers have then.
func (p *providerSpread) handOut(left []int) (has map[fleet.ProviderAddress]int, total int) {
	given := make([]int, len(left))
	has, total = maps.Clone(p.has), p.total
	for {
		next := -1
		for n, m := range p.members {
			allowed := !m.fleet.Placement.Required || has[m.fleet.Provider] < evenShare(total+1, len(has))
			if left[n] > 0 && allowed && (next < 0 || has[m.fleet.Provider] < has[p.members[next].fleet.Provider]) {
				next = n
			}
		}
		if next < 0 {
			break
		}
		left[next]--
		given[next]++
		has[p.members[next].fleet.Provider]++
		total++
	}
	for n, m := range p.members {
		if m.fleet.Placement.Required {
			m.room = given[n]
		}
	}
	return has, total
}

// evenShare is the most that one of so many providers may have of a total.
func evenShare(total, providers int) int { return (total + providers - 1) / providers }

// of is how many more instances a fleet may have without its provider having more
// than its share, where that is a rule.
func (s providerSpreads) of(f fleet.ManagedFleet) (int, limit) {
	p := s.with(f)
	if p == nil {
		return anyNumber, nil
	}
	m := p.member(f)
	if m.room == anyNumber {
		return anyNumber, nil
	}
	return m.room + p.slack[f.Provider], func(missing int) reason.Detail {
		return reason.SpreadLimit{Missing: missing, Class: p.class, Providers: p.shares()}
	}
}

// note takes what a fleet starts from what its provider may have.
func (s providerSpreads) note(f fleet.ManagedFleet, starts int) {
	if p := s.with(f); p != nil {
		m := p.member(f)
		if m.room == anyNumber {
			return
		}
		own := min(m.room, starts)
		m.room -= own
		p.slack[f.Provider] -= starts - own
	}
}

func (p *providerSpread) member(f fleet.ManagedFleet) *spreadMember {
	return p.members[slices.IndexFunc(p.members, func(m *spreadMember) bool { return m.fleet.ID == f.ID })]
}

// shares are what each provider has.
func (p *providerSpread) shares() reason.List[reason.ProviderCount] {
	var all []reason.ProviderCount
	for _, provider := range slices.Sorted(maps.Keys(p.has)) {
		all = append(all, reason.ProviderCount{Provider: string(provider), Instances: p.has[provider]})
	}
	return reason.ListOf(all...)
}

// spreadOverProviders makes hosts where fewer of their class are, among the fleets
// that are spread over providers and may run all that the host is for, until none
// is better off elsewhere. Where there are equally many the packing's choice stays,
// which is the cheaper one.
func (p *placement) spreadOverProviders() {
	has, before := map[*providerSpread]map[fleet.ProviderAddress]int{}, map[*supply]int{}
	for _, s := range p.supplies {
		if s.over != nil {
			if has[s.over] == nil {
				has[s.over] = maps.Clone(s.over.has)
			}
			has[s.over][s.fleet.Provider] += s.fresh
			before[s] = s.fresh
		}
	}
	for again := len(has) > 0; again; {
		again = false
		for n := range p.hosts {
			h := &p.hosts[n]
			if h.at.over == nil {
				continue
			}
			there := has[h.at.over]
			if to := p.scarcest(h, there); to != nil {
				there[h.at.fleet.Provider]--
				p.move(h, to)
				there[to.fleet.Provider]++
				again = true
			}
		}
	}
	for s, n := range before {
		s.spread = spreadChange(s, s.fresh-n)
	}
}

// scarcest is the fleet for a host at a provider that would still have no more than
// the host's own without it; nil: there is none.
func (p *placement) scarcest(h *freshHost, there map[fleet.ProviderAddress]int) (to *supply) {
	least := there[h.at.fleet.Provider] - 1
	for _, s := range p.supplies {
		if s.over == h.at.over && there[s.fleet.Provider] < least && s.fresh < s.budget &&
			lifetimeOf(s) == lifetimeOf(h.at) &&
			p.may(h.holds, s) {
			to, least = s, there[s.fleet.Provider]
		}
	}
	return to
}

func lifetimeOf(s *supply) fleet.LifetimeClass {
	return cmp.Or(s.fleet.Lifetime, fleet.LifetimeStable)
}

// spreadChange says what the spread changed about a fleet's number; nil: nothing.
func spreadChange(s *supply, more int) reason.Detail {
	if more == 0 {
		return nil
	}
	return reason.SpreadOverProviders{
		Class:     s.fleet.Class.Name,
		More:      max(0, more),
		Fewer:     max(0, -more),
		Providers: s.over.shares(),
	}
}
