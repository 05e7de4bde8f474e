package packing

import "slices"

// asIfNew solves the problem as if the existing machines that are like new ones, and
// so have nothing on them, weren't there yet, and then takes them for as many of the
// new ones. Anyone who asks again after the machines of a plan were made so gets that
// plan again.
func (w *work) asIfNew(like []int, solve func(Problem) Solution) *plan {
	before, kept := w.before(like)
	return w.existingFor(solve(before), like, kept)
}

// existingFor is a solution from before, with existing machines in the place of as
// many of its new ones as there are.
func (w *work) existingFor(solution Solution, like, kept []int) *plan {
	p := &plan{uncovered: solution.Uncovered}
	there := make([]int, len(w.Types))
	for s := range like {
		there[s] = w.Types[s].Limit
	}
	for _, m := range solution.Machines {
		m.Type = kept[m.Type]
		for s, t := range like {
			if number := min(m.Number, there[s]); t == m.Type && number > 0 {
				there[s] -= number
				m.Number -= number
				p.piles = append(p.piles, w.pileOf(Machine{s, number, m.Holds}))
			}
		}
		if m.Number > 0 {
			p.piles = append(p.piles, w.pileOf(m))
		}
	}
	return p
}

// before is the problem from before the machines were made that are like others,
// and kept which types of this one its types are. Those machines' types aren't in it
// at all: the search for a lower cost goes through the types, and with one more it
// would go another way.
func (w *work) before(like []int) (before Problem, kept []int) {
	before = w.Problem
	before.Types = nil
	at := make([]int, len(w.Types))
	for t, one := range w.Types {
		at[t] = -1
		if like[t] >= 0 {
			continue
		}
		for s, same := range like {
			if same == t {
				one.Limit = min(one.Limit+w.Types[s].Limit, NoLimit)
			}
		}
		at[t] = len(before.Types)
		before.Types, kept = append(before.Types, one), append(kept, t)
	}
	before.Classes = slices.Clone(w.Classes)
	for c := range before.Classes {
		class := &before.Classes[c]
		class.Count = w.demand[c]
		if class.Types == nil {
			continue
		}
		types := make([]int, 0, len(class.Types))
		for _, t := range class.Types {
			if at[t] >= 0 {
				types = append(types, at[t])
			}
		}
		class.Types = types
	}
	return before, kept
}

// alike is for each existing type with machines the cheapest of the others whose
// machines are the same, of its owner's if there is one; -1: none, or it isn't a
// existing one. Nil: there is none for any.
func (w *work) alike() []int {
	like, found := make([]int, len(w.Types)), false
	for s, one := range w.Types {
		like[s] = -1
		if !one.Existing || one.Limit <= 0 {
			continue
		}
		for _, t := range w.fresh {
			same := slices.Equal(w.Types[t].Capacity, one.Capacity) && slices.Equal(w.allowed[t], w.allowed[s])
			switch own := w.Types[t].Owner == one.Owner; {
			case !same:
			case like[s] < 0,
				own && w.Types[like[s]].Owner != one.Owner,
				own == (w.Types[like[s]].Owner == one.Owner) && w.cost[t] < w.cost[like[s]]:
				like[s], found = t, true
			}
		}
	}
	if !found {
		return nil
	}
	return like
}

func (w *work) pileOf(m Machine) pile {
	room := slices.Clone(w.Types[m.Type].Capacity)
	for _, h := range m.Holds {
		take(room, w.Classes[h.Class].Requirement, h.Count)
	}
	return pile{m.Type, m.Number, room, m.Holds}
}
