package planner

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/packing"
)

// placement is the hosts that are to be made by a packing. What it covers is
// settled: hosts are only moved, with all that they hold, to other fleets that may
// have them and have room. So what is merely preferred takes no one's place.
type placement struct {
	problem  *problem
	groups   []*group
	supplies []*supply
	hosts    []freshHost
	// moves says that something is preferred of which hosts are made.
	moves bool
}

// freshHost is one host to be made, with how many jobs of each group it is for.
type freshHost struct {
	at    *supply
	holds []packing.Holding
}

func newPlacement(p *problem, groups []*group, supplies []*supply) *placement {
	spreads := slices.ContainsFunc(supplies, func(s *supply) bool { return s.over != nil })
	return &placement{
		problem:  p,
		groups:   groups,
		supplies: supplies,
		moves:    spreads || slices.ContainsFunc(groups, (*group).prefersStable),
	}
}

func (p *placement) add(s *supply, number int, holds []packing.Holding) {
	s.take(holds, number)
	if !p.moves {
		return // there may be many
	}
	for range number {
		p.hosts = append(p.hosts, freshHost{s, holds})
	}
}

// take counts hosts of the fleet with the jobs that they are for; times is -1 for
// one that is made elsewhere after all.
func (s *supply) take(holds []packing.Holding, times int) {
	s.fresh += times
	for _, h := range holds {
		s.jobs += times * h.Count
	}
}

func (p *placement) move(h *freshHost, to *supply) {
	h.at.take(h.holds, -1)
	to.take(h.holds, 1)
	h.at = to
}

// may says that a fleet can run all that a host is for: its hosts have the room,
// and meet every requirement.
func (p *placement) may(holds []packing.Holding, s *supply) bool {
	r := roomOf(s.fleet.Class)
	free := p.problem.vector(r.free, r.slots)
	for _, h := range holds {
		if !slices.Contains(p.groups[h.Class].can, s) {
			return false
		}
		for d, n := range p.problem.Classes[h.Class].Requirement {
			if n > 0 && free[d]/n < int64(h.Count) {
				return false
			}
			free[d] -= n * int64(h.Count)
		}
	}
	return true
}

// prefersStable says that jobs which may run where the host can be taken away are
// too important to be begun again for it (spec §38): those of a priority above 0.
func (g *group) prefersStable() bool { return g.Priority > 0 && g.PreemptibleAllowed }

// preferStable moves the hosts of such jobs to stable fleets, whatever these cost:
// where one has room, or makes a host for others that may be taken away.
func (p *placement) preferStable() {
	for n := range p.hosts {
		h := &p.hosts[n]
		if h.at.fleet.Lifetime != fleet.LifetimePreemptible || !p.important(h.holds) {
			continue
		}
		to := slices.IndexFunc(p.supplies, func(s *supply) bool {
			return s.fleet.Lifetime != fleet.LifetimePreemptible && s.fresh < s.budget && p.may(h.holds, s)
		})
		if to >= 0 {
			p.move(h, p.supplies[to])
			continue
		}
		other := slices.IndexFunc(p.hosts, func(o freshHost) bool {
			return o.at.fleet.Lifetime != fleet.LifetimePreemptible && !p.important(o.holds) && p.may(h.holds, o.at) &&
				p.may(o.holds, h.at)
		})
		if other >= 0 {
			o := &p.hosts[other]
			stable, preemptible := o.at, h.at
			p.move(o, preemptible)
			p.move(h, stable)
		}
	}
}

func (p *placement) important(holds []packing.Holding) bool {
	return slices.ContainsFunc(holds, func(h packing.Holding) bool { return p.groups[h.Class].prefersStable() })
}
