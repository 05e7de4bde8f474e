package packing

import (
	"cmp"
	"math"
	"slices"
)

// pattern is one machine's contents, and how much of its cost they are worth.
type pattern struct {
	holds []Holding
	free  []int64
	worth float64
	// known says that it was made from what is left now, or from more of it.
	known bool
}

// filler makes patterns from what is left to place.
type filler struct {
	*work
	left []int
	// classes are those of which something may be left, the most valuable first.
	classes []int
	used    []int
	// kinds are the types that may be made.
	kinds []int
	// candidates, taken and weights are fill's own, to be used again.
	candidates, taken []int
	weights           []float64
	// best is the pattern of each type, and tries how many are made again before the
	// best of those that are known is taken.
	best  []pattern
	tries int
	// spare is how much of what the machines cost may be worth nothing, in the unit of
	// value: beyond that the plan is given up.
	spare int64
	// looks is how many times a class was considered for a machine: that is what takes
	// the time.
	looks int
	// byWorth says how weigh does.
	byWorth bool
	// noise blurs the choice of jobs and blur that of types, so that another try
	// gives something else.
	noise, blur float64
	dice        dice
}

// triesPerMachine bounds how many types are looked at for one machine: of hundreds,
// the best of a few of the most promising is good enough.
const triesPerMachine = 6

// byPatterns fills one machine after the other: of all types the one whose best
// contents are worth most of its cost, and as many alike as there are jobs for.
func (w *work) byPatterns(demand []int, byWorth bool) *plan {
	f := w.filler(slices.Clone(demand), w.mostValuableFirst(), make([]int, len(w.Types)))
	f.byWorth = byWorth
	p := &plan{}
	if w.many() {
		f.tries = triesPerMachine / 2
		p = w.existingPiles()
		for _, c := range f.classes {
			f.left[c] = w.fillPiles(p, c, f.left[c])
		}
	} else {
		for _, t := range w.existing {
			f.fillExisting(p, t)
		}
	}
	f.fillFresh(p)
	p.uncovered = f.left
	return p
}

func (w *work) filler(left, classes, used []int) *filler {
	return &filler{
		work:    w,
		left:    left,
		classes: classes,
		used:    used,
		kinds:   w.fresh,
		taken:   make([]int, len(w.Classes)),
		best: make(
			[]pattern,
			len(w.Types),
		),
		tries:   triesPerMachine,
		spare:   math.MaxInt64,
		weights: make([]float64, w.Dimensions),
	}
}

func (w *work) mostValuableFirst() []int {
	classes := make([]int, len(w.Classes))
	for c := range classes {
		classes[c] = c
	}
	slices.SortStableFunc(classes, func(a, b int) int { return cmp.Compare(w.value[b], w.value[a]) })
	return classes
}

// fillExisting uses the existing machines of a type.
func (f *filler) fillExisting(p *plan, kind int) {
	for left := f.Types[kind].Limit; left > 0; {
		one, _ := f.fill(kind)
		if len(one.holds) == 0 {
			return
		}
		left -= f.apply(p, kind, one, left)
	}
}

// fillFresh makes machines until nothing is left, or nothing that has a place. A
// pattern holds until one of its classes has run out, and what it was worth then
// is a good guess of what the next one will be: so few are of no use.
func (f *filler) fillFresh(p *plan) {
	for _, t := range f.kinds {
		f.best[t] = pattern{worth: f.promise[t] * (1 + float64(f.blur*f.dice.fraction()))}
	}
	for tries := 0; ; {
		first, known := f.mostPromising()
		if known >= 0 && (tries >= f.tries || f.best[known].worth >= f.best[first].worth) {
			f.apply(p, known, f.best[known], f.Types[known].Limit-f.used[known])
			if f.spare != math.MaxInt64 && !f.worthGoingOn(p) {
				return
			}
			for _, t := range f.kinds {
				f.best[t].known = f.best[t].known && f.enough(f.best[t])
			}
			tries = 0
			continue
		}
		if first < 0 {
			return
		}
		one, value := f.fill(first)
		for _, t := range f.same[first] {
			one.worth = float64(value) / float64(max(1, f.cost[t]))
			f.best[t] = one
		}
		tries++
	}
}

// worthGoingOn gives the last machines the cheapest type, takes what they waste from
// what is to spare, and says whether there is enough of it.
func (f *filler) worthGoingOn(p *plan) bool {
	b := &p.piles[len(p.piles)-1]
	f.downsize(b, f.used)
	f.spare -= f.waste(b) * int64(b.number)
	return f.spare >= 0
}

// waste is how much of what one machine of a pile costs is worth nothing.
func (w *work) waste(b *pile) int64 {
	waste := w.cost[b.kind] * valueOfOne
	for _, h := range b.holds {
		waste -= w.value[h.Class] * int64(h.Count)
	}
	return waste
}

// mostPromising is the type whose pattern is or was worth most, and the first of
// those whose pattern is known; -1: there is none.
func (f *filler) mostPromising() (first, known int) {
	first, known = -1, -1
	for _, t := range f.kinds {
		one := &f.best[t]
		if one.worth <= 0 || f.used[t] >= f.Types[t].Limit {
			continue
		}
		if first < 0 || one.worth > f.best[first].worth {
			first = t
		}
		if one.known && (known < 0 || one.worth > f.best[known].worth) {
			known = t
		}
	}
	return first, known
}

// enough says whether what is left makes the pattern once more.
func (f *filler) enough(one pattern) bool {
	for _, h := range one.holds {
		if f.left[h.Class] < h.Count {
			return false
		}
	}
	return true
}

// apply makes as many machines of the pattern as there are jobs for, and returns
// how many.
func (f *filler) apply(p *plan, kind int, one pattern, most int) int {
	for _, h := range one.holds {
		most = min(most, f.left[h.Class]/h.Count)
	}
	for _, h := range one.holds {
		f.left[h.Class] -= h.Count * most
	}
	f.used[kind] += most
	p.piles = append(p.piles, pile{kind, most, slices.Clone(one.free), one.holds})
	return most
}

// fill is one machine's contents, and what they are worth: again and again the job that leaves the least
// room, all dimensions together, so that none runs out long before the others.
func (f *filler) fill(kind int) (one pattern, value int64) {
	capacity := f.Types[kind].Capacity
	free := slices.Clone(capacity)
	one = pattern{known: true, free: free}
	open := f.candidates[:0]
	for _, c := range f.classes {
		if f.left[c] > 0 && f.may(kind, c) {
			open = append(open, c)
		}
	}
	f.candidates = open
	f.weigh(kind)
	for spent := -1; ; {
		var c int
		if c, open = f.tightest(free, open, spent); c < 0 {
			break
		}
		if f.taken[c] == 0 {
			one.holds = append(one.holds, Holding{Class: c})
		}
		// Of what fits very often some go at once: thousands of small jobs on a large
		// machine take no thousands of choices.
		n := max(1, howMany(free, f.Classes[c].Requirement, f.left[c]-f.taken[c])/32)
		take(free, f.Classes[c].Requirement, n)
		f.taken[c] += n
		value += f.value[c] * int64(n)
		if f.taken[c] == f.left[c] {
			spent = c
		}
	}
	for n := range one.holds {
		h := &one.holds[n]
		h.Count, f.taken[h.Class] = f.taken[h.Class], 0
	}
	return one, value
}

// weigh says how much room in each dimension matters: as a share of the machine,
// or also by what that resource is worth. Neither is better for every demand.
func (f *filler) weigh(kind int) {
	for d, n := range f.Types[kind].Capacity {
		f.weights[d] = 0
		if n == 0 {
			continue
		}
		f.weights[d] = 1 / float64(n)
		if f.byWorth {
			ofCost := float64(f.work.worth[d]*float64(n)) / float64(f.cost[kind]+1)
			f.weights[d] = (0.2 + ofCost) / float64(n)
		}
	}
}

// tightest is the class whose job leaves the least room, -1 where none fits; what
// doesn't fit any more leaves the candidates, and so does the class that is spent.
func (f *filler) tightest(free []int64, open []int, spent int) (int, []int) {
	f.looks += len(open)
	best, least, kept := -1, math.Inf(1), 0
candidates:
	for _, c := range open {
		if c == spent {
			continue
		}
		at := c * f.Dimensions
		sum := 0.0
		for d, n := range f.need[at : at+f.Dimensions] {
			rest := free[d] - n
			if rest < 0 {
				continue candidates
			}
			share := float64(float64(rest) * f.weights[d])
			sum += float64(share * share)
		}
		open[kept] = c
		kept++
		if sum >= least { // and noise makes it no less
			continue
		}
		if f.noise > 0 {
			sum *= 1 + float64(f.noise*f.dice.fraction())
		}
		if sum < least {
			best, least = c, sum
		}
	}
	return best, open[:kept]
}
