package packing

import (
	"cmp"
	"slices"
)

// work is a problem in the form that is quick to compute with.
type work struct {
	Problem
	// demand is how many jobs of each class are to be placed.
	demand []int
	// cost is price and charge of each type, at least 1: a machine is never free,
	// so that fewer are better. Existing ones cost 0.
	cost []int64
	// allowed has one bit per class for each type.
	allowed [][]uint64
	// fresh are the types that aren't existing, and existing those that are; byCost are
	// the fresh ones, the cheapest first.
	fresh, existing, byCost []int
	// same are, for each type that isn't existing, those that have as much and take the
	// same classes, and so have the same contents.
	same [][]int
	// promise is, for each type, what a machine that is full would be worth of its
	// cost.
	promise []float64
	// need are the requirements, one class after the other: they are read often.
	need []int64
	// value is what each class is worth, and worth the same per resource, once they are
	// appraised.
	value []int64
	worth []float64
}

// plan is a solution in the making.
type plan struct {
	piles []pile
	// uncovered is how many jobs of each class found no place.
	uncovered []int
	cost      int64
}

// pile is a number of machines that hold the same.
type pile struct {
	kind   int
	number int
	free   []int64
	holds  []Holding
}

func newWork(p Problem) *work {
	p = asked(p)
	w := &work{Problem: p, demand: make([]int, len(p.Classes)), cost: make([]int64, len(p.Types))}
	for t, one := range p.Types {
		if one.Existing {
			w.existing = append(w.existing, t)
			continue
		}
		w.fresh = append(w.fresh, t)
		w.cost[t] = max(1, one.Price+one.Charge)
	}
	w.byCost = slices.Clone(w.fresh)
	slices.SortStableFunc(w.byCost, func(a, b int) int { return cmp.Compare(w.cost[a], w.cost[b]) })
	words := (len(p.Classes) + 63) / 64
	w.allowed = make([][]uint64, len(p.Types))
	bits := make([]uint64, words*len(p.Types))
	for t := range w.allowed {
		w.allowed[t] = bits[t*words : (t+1)*words]
	}
	for c, class := range p.Classes {
		w.demand[c] = class.Count
		if class.Types == nil {
			for t := range p.Types {
				w.allow(t, c)
			}
		}
		for _, t := range class.Types {
			w.allow(t, c)
		}
	}
	w.need = make([]int64, 0, len(p.Classes)*p.Dimensions)
	for _, class := range p.Classes {
		w.need = append(w.need, class.Requirement...)
	}
	w.compare()
	return w
}

// compare finds the types that are the same but for what they cost.
func (w *work) compare() {
	w.same = make([][]int, len(w.Types))
	var firsts []int
	for _, t := range w.fresh {
		n := slices.IndexFunc(firsts, func(first int) bool {
			return slices.Equal(w.Types[first].Capacity, w.Types[t].Capacity) && slices.Equal(w.allowed[first], w.allowed[t])
		})
		if n < 0 {
			firsts = append(firsts, t)
			w.same[t] = []int{t}
			continue
		}
		w.same[firsts[n]] = append(w.same[firsts[n]], t)
	}
	for _, first := range firsts {
		for _, t := range w.same[first] {
			w.same[t] = w.same[first]
		}
	}
}

// asked is the problem without the dimensions that no job asks for.
func asked(p Problem) Problem {
	var kept []int
	for d := range p.Dimensions {
		if slices.ContainsFunc(p.Classes, func(c Class) bool { return c.Requirement[d] > 0 }) {
			kept = append(kept, d)
		}
	}
	if len(kept) == p.Dimensions {
		return p
	}
	shorter := func(v []int64) []int64 {
		out := make([]int64, len(kept))
		for n, d := range kept {
			out[n] = v[d]
		}
		return out
	}
	p.Dimensions = len(kept)
	p.Types, p.Classes = slices.Clone(p.Types), slices.Clone(p.Classes)
	for t := range p.Types {
		p.Types[t].Capacity = shorter(p.Types[t].Capacity)
	}
	for c := range p.Classes {
		p.Classes[c].Requirement = shorter(p.Classes[c].Requirement)
	}
	return p
}

// allow notes that a class may be placed on a type, if one job of it fits there.
func (w *work) allow(kind, class int) {
	if fits(w.Types[kind].Capacity, w.Classes[class].Requirement, 1) {
		w.allowed[kind][class/64] |= 1 << (class % 64)
	}
}

func (w *work) may(kind, class int) bool {
	return w.allowed[kind][class/64]&(1<<(class%64)) != 0
}

// fits says whether n jobs find room. n is 1, or is known to be harmless.
func fits(room, job []int64, n int64) bool {
	for d, one := range job {
		if one*n > room[d] {
			return false
		}
	}
	return true
}

// howMany is how many jobs find room, at most n.
func howMany(room, job []int64, n int) int {
	most := int64(n)
	for d, one := range job {
		if one > 0 {
			most = min(most, room[d]/one)
		}
	}
	return int(most)
}

func take(room, job []int64, n int) {
	for d, one := range job {
		room[d] -= one * int64(n)
	}
}

// with is the pile's holds with n more of a class, as a copy.
func with(holds []Holding, class, n int) []Holding {
	out := append(make([]Holding, 0, len(holds)+1), holds...)
	if last := len(out) - 1; last >= 0 && out[last].Class == class {
		out[last].Count += n
		return out
	}
	return append(out, Holding{class, n})
}

func (p *plan) complete() bool {
	return !slices.ContainsFunc(p.uncovered, func(n int) bool { return n > 0 })
}

// settle gives every machine the cheapest type that takes what it holds, and
// returns what the plan costs then.
func (w *work) settle(p *plan) int64 {
	used := w.used(p)
	p.cost = 0
	for n := range p.piles {
		b := &p.piles[n]
		if !w.Types[b.kind].Existing {
			w.downsize(b, used)
		}
		p.cost += w.cost[b.kind] * int64(b.number)
	}
	return p.cost
}

// used is how many machines of each type there are.
func (w *work) used(p *plan) []int {
	used := make([]int, len(w.Types))
	for _, b := range p.piles {
		used[b.kind] += b.number
	}
	return used
}

// downsize gives a pile's machines the cheapest type that takes what they hold.
func (w *work) downsize(b *pile, used []int) {
	best := b.kind
	for _, t := range w.byCost {
		if w.cost[t] >= w.cost[b.kind] {
			break
		}
		if used[t]+b.number <= w.Types[t].Limit && w.holdsAll(t, b) {
			best = t
			break
		}
	}
	if best == b.kind {
		return
	}
	used[b.kind] -= b.number
	used[best] += b.number
	for d := range b.free {
		b.free[d] += w.Types[best].Capacity[d] - w.Types[b.kind].Capacity[d]
	}
	b.kind = best
}

// holdsAll says whether a machine of another type could hold what a pile's do.
func (w *work) holdsAll(kind int, b *pile) bool {
	has, had := w.Types[kind].Capacity, w.Types[b.kind].Capacity
	for d := range has {
		if had[d]-b.free[d] > has[d] {
			return false
		}
	}
	for _, h := range b.holds {
		if !w.may(kind, h.Class) {
			return false
		}
	}
	return true
}

// solution is the plan for the caller: equal machines together, in a fixed
// order.
func (w *work) solution(p *plan) Solution {
	s := Solution{Uncovered: p.uncovered}
	for _, b := range p.piles {
		if len(b.holds) == 0 || b.number == 0 {
			continue
		}
		s.Machines = append(s.Machines, Machine{b.kind, b.number, merged(b.holds)})
		if t := w.Types[b.kind]; !t.Existing {
			s.Cost += (t.Price + t.Charge) * int64(b.number)
		}
	}
	slices.SortFunc(s.Machines, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), slices.CompareFunc(a.Holds, b.Holds, func(a, b Holding) int {
			return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Count, b.Count))
		}))
	})
	kept := 0
	for n, m := range s.Machines {
		if n > 0 && s.Machines[kept-1].Type == m.Type && slices.Equal(s.Machines[kept-1].Holds, m.Holds) {
			s.Machines[kept-1].Number += m.Number
			continue
		}
		s.Machines[kept] = m
		kept++
	}
	s.Machines = s.Machines[:kept]
	return s
}

// merged are holds by class, each class once.
func merged(holds []Holding) []Holding {
	out := slices.Clone(holds)
	slices.SortFunc(out, func(a, b Holding) int { return cmp.Compare(a.Class, b.Class) })
	kept := 0
	for _, h := range out {
		if kept > 0 && out[kept-1].Class == h.Class {
			out[kept-1].Count += h.Count
			continue
		}
		out[kept] = h
		kept++
	}
	return out[:kept]
}
