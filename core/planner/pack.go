package planner

import (
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/packing"
)

// DefaultImprovementSteps is a number of ImprovementSteps that is worth its time.
const DefaultImprovementSteps = packing.DefaultImprovementSteps

// launchCharge is what starting an instance counts for beside its price, in
// micros of any currency: a boot isn't free, so many small hosts don't win by
// accident.
const launchCharge = 10_000

// group is waiting jobs of one kind with the fleets that can run them, the
// preferred ones first, and how many of the jobs nothing covers.
type group struct {
	fleet.QueuedDemand
	can  []*supply
	left int
}

// problem is demand and supplies as numbers, and what they stand for.
type problem struct {
	packing.Problem
	// named are the named resources that jobs ask for.
	named []string
	// bins are the hosts of each type that is there, owner the fleet of each type.
	bins  [][]*bin
	owner []*supply
	// types are the types of each supply, of which partly are hosts that have long
	// taken jobs and have one.
	types  map[*supply][]int
	partly map[int]bool
}

// place gives the groups to capacity: to what is there or booting, then to
// draining hosts that can come back, then to new ones. They are packed together,
// so that jobs of different shapes share hosts.
func place(groups []*group, supplies []*supply, improvementSteps int) {
	p := newProblem(groups, supplies)
	solution := packing.Pack(p.Problem, improvementSteps)
	next := make([]int, len(p.Types))
	made := newPlacement(p, groups, supplies)
	for _, m := range solution.Machines {
		s := p.owner[m.Type]
		if !p.Types[m.Type].Existing {
			made.add(s, m.Number, m.Holds)
			continue
		}
		for _, h := range m.Holds {
			s.jobs += h.Count * m.Number
		}
		for _, b := range p.bins[m.Type][next[m.Type] : next[m.Type]+m.Number] {
			b.used = true
		}
		next[m.Type] += m.Number
	}
	made.preferStable()
	made.spreadOverProviders()
	for n, g := range groups {
		g.left = g.Admissible - p.Classes[n].Count + solution.Uncovered[n]
	}
	missing(groups, supplies)
}

// missing counts the hosts that what nothing covers would take. The fleet that
// would have been next carries them, so that its chain of bounds shows what binds.
func missing(groups []*group, supplies []*supply) {
	for _, s := range supplies {
		var left []*group
		for _, g := range groups {
			if g.left > 0 && g.can[0] == s {
				s.unplaced += g.left
				left = append(
					left,
					&group{QueuedDemand: fleet.QueuedDemand{Resources: g.Resources, Admissible: g.left}, can: g.can[:1]},
				)
			}
		}
		if len(left) == 0 {
			continue
		}
		p := newProblem(left, nil)
		p.add(s, roomOf(s.fleet.Class), packing.Type{Limit: packing.NoLimit, Charge: launchCharge}, nil)
		p.addClasses(left)
		for _, m := range packing.Pack(p.Problem, 0).Machines {
			s.short += m.Number
		}
	}
}

func newProblem(groups []*group, supplies []*supply) *problem {
	names := map[string]bool{}
	for _, g := range groups {
		for name := range g.Resources.Named {
			names[name] = true
		}
	}
	p := &problem{
		named:  slices.Sorted(maps.Keys(names)),
		types:  make(map[*supply][]int, len(supplies)),
		partly: map[int]bool{},
	}
	p.Dimensions = fixedDimensions + len(p.named)
	if len(supplies) == 0 {
		return p
	}
	for n, s := range supplies {
		s.number = n
	}
	for _, returns := range []bool{false, true} {
		for _, s := range supplies {
			p.addThere(s, returns)
		}
	}
	prices := comparablePrices(supplies)
	for n, s := range supplies {
		p.add(
			s,
			roomOf(s.fleet.Class),
			packing.Type{Price: prices[n], Charge: launchCharge, Limit: min(s.budget, packing.NoLimit)},
			nil,
		)
	}
	p.addClasses(groups)
	return p
}

// addThere adds a fleet's hosts, those with as many leases together.
func (p *problem) addThere(s *supply, returns bool) {
	for n := 0; n < len(s.there); {
		first := &s.there[n]
		var alike []*bin
		for ; n < len(s.there) && s.there[n].leases == first.leases && s.there[n].returns == first.returns &&
			s.there[n].settled == first.settled; n++ {
			alike = append(alike, &s.there[n])
		}
		if first.returns == returns {
			p.partly[len(p.Types)] = first.settled && first.leases > 0
			p.add(s, roomOf(s.fleet.Class).without(first.leases), packing.Type{Existing: true, Limit: len(alike)}, alike)
		}
	}
}

func (p *problem) add(s *supply, r room, t packing.Type, bins []*bin) {
	t.Capacity = p.vector(r.free, r.slots)
	t.Owner = s.number
	p.types[s] = append(p.types[s], len(p.Types))
	p.Types, p.bins, p.owner = append(p.Types, t), append(p.bins, bins), append(p.owner, s)
}

func (p *problem) addClasses(groups []*group) {
	for _, g := range groups {
		c := packing.Class{Requirement: p.vector(g.Resources, 1), Count: min(g.Admissible, packing.NoLimit), Types: []int{}}
		for _, s := range g.can {
			c.Types = append(c.Types, p.types[s]...)
		}
		if showTaken(g.QueuedDemand) {
			c.Types = slices.DeleteFunc(c.Types, func(t int) bool { return p.partly[t] })
		}
		p.Classes = append(p.Classes, c)
	}
}

// fixedDimensions are cpu, memory, disk, gpu and slots.
const fixedDimensions = 5

// vector is what a host has or a job takes. What is less than nothing is nothing.
func (p *problem) vector(r fleet.ResourceCapacity, slots int64) []int64 {
	v := make([]int64, 0, p.Dimensions)
	v = append(v, r.CPUMilli, r.MemoryBytes, r.DiskBytes, r.GPU, slots)
	for _, name := range p.named {
		v = append(v, r.Named[name])
	}
	for d := range v {
		v[d] = max(0, v[d])
	}
	return v
}

// comparablePrices are the supplies' prices as numbers of one kind. Those of different
// currencies can't be compared: all of one come before all of the next, in the
// order of preferred, and fleets that name no price before all others.
func comparablePrices(supplies []*supply) []int64 {
	dearest := map[string]int64{}
	for _, s := range supplies {
		dearest[s.hourly.Currency] = max(dearest[s.hourly.Currency], s.hourly.Micros)
	}
	base, sum := map[string]int64{}, int64(0)
	for _, currency := range slices.Sorted(maps.Keys(dearest)) {
		base[currency] = sum
		sum += dearest[currency]
	}
	shift := 0
	for sum>>shift > packing.LargestPrice {
		shift++
	}
	prices := make([]int64, len(supplies))
	for n, s := range supplies {
		prices[n] = max(0, base[s.hourly.Currency]+s.hourly.Micros) >> shift
	}
	return prices
}
