package packing

import "slices"

// improve takes a few machines apart, packs what was on them again, a little
// differently, and keeps what isn't dearer: so many times. Existing machines stay
// as they are.
func (w *work) improve(p *plan, steps int) {
	w.settle(p)
	var kept []pile
	p.piles = slices.DeleteFunc(p.piles, func(b pile) bool {
		if w.Types[b.kind].Existing {
			kept = append(kept, b)
		}
		return w.Types[b.kind].Existing
	})
	f := w.filler(make([]int, len(w.Classes)), nil, w.used(p))
	steps = min(steps, worthTrying(p.piles))
	if w.many() {
		steps /= 4 // each takes longer there
	}
	f.noise, f.blur = 0.3, 0.02
	most := steps * w.looksPerStep()
	for n := range steps {
		if len(p.piles) == 0 || f.looks > most {
			break
		}
		f.dice = dice(n)
		f.byWorth = f.dice.below(2) == 0
		w.improveOnce(p, f)
	}
	p.piles = append(p.piles, kept...)
}

// looksPerStep is how much a step takes at most on average, by looks at a class for a
// machine: so small jobs, of which a machine holds many, don't take several times as
// long as large ones, and where there are few classes the search ends sooner.
func (w *work) looksPerStep() int { return 40 + len(w.Classes)/2 }

// worthTrying is how many steps a plan is worth: a few machines with little on
// them have few other ways to be packed.
func worthTrying(piles []pile) int {
	machines, classes := 0, map[int]bool{}
	for _, b := range piles {
		machines = min(machines+b.number, NoLimit)
		for _, h := range b.holds {
			classes[h.Class] = true
		}
	}
	return 8 * max(0, machines-1) * len(classes)
}

// improveOnce is one step. What is to spare at its end is what it saved.
func (w *work) improveOnce(p *plan, f *filler) {
	apart := w.takeApart(p, f)
	f.sampleKinds(p, apart)
	var again plan
	f.fillFresh(&again)
	complete := true
	for _, c := range f.classes {
		complete = complete && f.left[c] == 0
		f.left[c] = 0
	}
	if !complete || f.spare < 0 {
		for _, b := range again.piles {
			f.used[b.kind] -= b.number
		}
		for _, n := range apart {
			f.used[p.piles[n].kind]++
		}
		return
	}
	p.cost -= f.spare / valueOfOne
	for _, n := range apart {
		p.piles[n].number--
	}
	p.piles = slices.DeleteFunc(p.piles, func(b pile) bool { return b.number == 0 })
	p.piles = append(p.piles, again.piles...)
}

// mostApart is how many machines are taken apart at most, and candidates from how
// many each is chosen: more find more at once, and take longer.
const mostApart, candidates = 7, 7

// takeApart chooses a few piles, the poor ones rather than others, and takes what
// one machine of each holds for what is left to place, and what it wastes for what
// there is to spare.
func (w *work) takeApart(p *plan, f *filler) (apart []int) {
	f.classes, f.spare = f.classes[:0], 0
	for range 2 + f.dice.below(mostApart-1) {
		n := w.poorest(p, f)
		if slices.Contains(apart, n) {
			continue
		}
		apart = append(apart, n)
		f.spare += w.waste(&p.piles[n])
		f.used[p.piles[n].kind]--
		for _, h := range p.piles[n].holds {
			if f.left[h.Class] == 0 {
				f.classes = append(f.classes, h.Class)
			}
			f.left[h.Class] += h.Count
		}
	}
	return apart
}

// sampledKinds is how many types one step considers.
const sampledKinds = 32

// sampleKinds chooses the types that a step considers: those that it took apart,
// so that everything has a place, and where there are many a few of the others.
func (f *filler) sampleKinds(p *plan, apart []int) {
	if len(f.fresh) <= sampledKinds {
		return
	}
	f.kinds = make([]int, 0, sampledKinds)
	for _, n := range apart {
		f.kinds = append(f.kinds, p.piles[n].kind)
	}
	for len(f.kinds) < sampledKinds {
		f.kinds = append(f.kinds, f.fresh[f.dice.below(len(f.fresh))])
	}
}

// poorest is of a few piles the one whose machines waste the largest part of their
// cost.
func (w *work) poorest(p *plan, f *filler) int {
	best, most := -1, 0.0
	for range candidates {
		n := f.dice.below(len(p.piles))
		if share := float64(w.waste(&p.piles[n])) / float64(max(1, w.cost[p.piles[n].kind])); best < 0 || share > most {
			best, most = n, share
		}
	}
	return best
}

// dice are numbers that look random and are the same everywhere (splitmix64).
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

// fraction is between 0 and 1.
func (d *dice) fraction() float64 { return float64(d.next()>>11) / (1 << 53) }
