package packing

import "slices"

// asIfNew packs as if the standing machines that nothing is on weren't there yet,
// and then takes them for as many of the new ones. Whoever asks again after the
// machines of a plan were made so gets that plan again. Nil: there are none, or
// there is no such plan.
func (w *work) asIfNew(improvementSteps int) *plan {
	like := w.alike()
	before := w.Problem
	before.Types = slices.Clone(w.Types)
	found := false
	for s, t := range like {
		if t >= 0 && w.Types[s].Limit > 0 {
			found = true
			before.Types[t].Limit = min(before.Types[t].Limit+w.Types[s].Limit, NoLimit)
			before.Types[s].Limit = 0
		}
	}
	if !found {
		return nil
	}
	before.Classes = slices.Clone(w.Classes)
	for c := range before.Classes {
		before.Classes[c].Count = w.demand[c]
	}
	solution := Pack(before, improvementSteps)
	p := &plan{uncovered: solution.Uncovered}
	there := make([]int, len(w.Types))
	for s := range like {
		there[s] = w.Types[s].Limit
	}
	for _, m := range solution.Machines {
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

// alike is for each standing type the cheapest of the others whose machines are
// the same; -1: none, or it isn't a standing one.
func (w *work) alike() []int {
	like := make([]int, len(w.Types))
	for s, one := range w.Types {
		like[s] = -1
		if !one.Standing {
			continue
		}
		for _, t := range w.fresh {
			same := slices.Equal(w.Types[t].Capacity, one.Capacity) && slices.Equal(w.allowed[t], w.allowed[s])
			if same && (like[s] < 0 || w.cost[t] < w.cost[like[s]]) {
				like[s] = t
			}
		}
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
