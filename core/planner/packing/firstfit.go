package packing

import (
	"cmp"
	"slices"
)

// fitByClass serves one class after the other, each on the first machines that have
// room, the existing ones before those that are made. What a class gets doesn't
// depend on the classes after it, nor the place of a job on how many of its class
// come after it: that is why one more job leaves no one before it uncovered.
func (w *work) fitByClass() *plan {
	p := w.existingPiles()
	order := make([]int, len(w.Classes))
	for c := range order {
		order[c] = c
	}
	w.firstFit(p, order, perJob)
	return p
}

// existingPiles is a plan with the existing machines, and nothing on them.
func (w *work) existingPiles() *plan {
	p := &plan{uncovered: make([]int, len(w.Classes))}
	for _, t := range w.existing {
		if w.Types[t].Limit > 0 {
			p.piles = append(p.piles, pile{kind: t, number: w.Types[t].Limit, free: w.Types[t].Capacity})
		}
	}
	return p
}

// openingRule says how much speaks against opening a machine of a type for a job.
type openingRule func(w *work, kind, class int) float64

// openingRules are the ways in which first fit chooses the type that it opens: the
// cheapest that takes the job, the one that is cheapest for jobs of its class
// alone, and the one that is cheapest for what it has.
var openingRules = []openingRule{cheapest, perJob, perUnit}

func cheapest(w *work, kind, _ int) float64 { return float64(w.cost[kind]) }

func perJob(w *work, kind, class int) float64 {
	return float64(w.cost[kind]) / float64(howMany(w.Types[kind].Capacity, w.Classes[class].Requirement, NoLimit))
}

func perUnit(w *work, kind, _ int) float64 { return 1 / w.promise[kind] }

// firstFitDecreasing places the largest jobs first, each on the first machine with
// room.
func (w *work) firstFitDecreasing(rule openingRule) *plan {
	p := w.existingPiles()
	largest := make([]int64, w.Dimensions)
	for _, t := range w.Types {
		for d, n := range t.Capacity {
			largest[d] = max(largest[d], n)
		}
	}
	share := make([]float64, len(w.Classes))
	order := make([]int, len(w.Classes))
	for c, class := range w.Classes {
		order[c] = c
		for d, n := range class.Requirement {
			if largest[d] > 0 {
				share[c] = max(share[c], float64(n)/float64(largest[d]))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(share[b], share[a]) })
	w.firstFit(p, order, rule)
	return p
}

// firstFit places the demand of each class on the plan's machines in their order,
// and opens others where none has room.
func (w *work) firstFit(p *plan, order []int, rule openingRule) {
	used := make([]int, len(w.Types))
	for _, c := range order {
		left := w.fillPiles(p, c, w.demand[c])
		for left > 0 {
			t := w.toOpen(used, c, rule)
			if t < 0 {
				break
			}
			each := howMany(w.Types[t].Capacity, w.Classes[c].Requirement, left)
			number := min(left/each, w.Types[t].Limit-used[t])
			room := slices.Clone(w.Types[t].Capacity)
			take(room, w.Classes[c].Requirement, each)
			p.piles = append(p.piles, pile{t, number, room, []Holding{{c, each}}})
			used[t] += number
			left -= number * each
		}
		p.uncovered[c] = left
	}
}

// fillPiles puts jobs of a class on the machines that there are, and returns how
// many found no room.
func (w *work) fillPiles(p *plan, class, jobs int) (left int) {
	left = jobs
	job := w.Classes[class].Requirement
	for n := 0; n < len(p.piles) && left > 0; n++ {
		if !fits(p.piles[n].free, job, 1) || !w.may(p.piles[n].kind, class) {
			continue
		}
		each := howMany(p.piles[n].free, job, left)
		number := min(p.piles[n].number, left/each)
		left -= number * each
		was := p.piles[n]
		b := pile{was.kind, number, slices.Clone(was.free), with(was.holds, class, each)}
		take(b.free, job, each)
		p.piles[n] = b
		if rest := was.number - number; rest > 0 {
			was.number = rest
			p.piles = slices.Insert(p.piles, n+1, was)
		}
	}
	return left
}

// toOpen is the type of the next machine for a class; -1: none may be opened.
func (w *work) toOpen(used []int, class int, rule openingRule) int {
	best, least := -1, 0.0
	for _, t := range w.fresh {
		if used[t] >= w.Types[t].Limit || !w.may(t, class) {
			continue
		}
		if against := rule(w, t, class); best < 0 || against < least {
			best, least = t, against
		}
	}
	return best
}
