package packing

import "math"

// LowerBound is a cost that no solution that places every job can go below, the
// launch charges included. It takes every machine for divisible: the best prices
// of the resources at which no machine costs less than what it has are worth that
// much for all jobs together.
func LowerBound(p Problem) int64 {
	w := newWork(p)
	for _, t := range w.fresh {
		w.cost[t] = w.Types[t].Price + w.Types[t].Charge // what is free costs nothing here
	}
	w.worth = w.prices(w.fresh)
	total := 0.0
	for d, price := range w.worth {
		total += float64(price * w.demanded(d))
	}
	for _, t := range w.existing {
		gift := 0.0
		for d, price := range w.worth {
			gift += float64(price * float64(w.Types[t].Capacity[d]))
		}
		total -= float64(gift * float64(w.Types[t].Limit))
	}
	return int64(math.Floor(max(0, total*(1-1e-9))))
}

// demanded is the sum of all jobs in one dimension.
func (w *work) demanded(d int) float64 {
	sum := 0.0
	for c, class := range w.Classes {
		sum += float64(float64(class.Requirement[d]) * float64(w.demand[c]))
	}
	return sum
}

// valueOfOne is the value of what costs 1.
const valueOfOne = 1024

// appraise finds what a unit of each resource is worth, and with it each class:
// the prices at which the whole demand is worth most while no machine is worth
// more than it costs.
func (w *work) appraise() {
	w.worth = w.prices(w.fresh)
	w.value = make([]int64, len(w.Classes))
	for c := range w.Classes {
		v := 0.0
		for d, price := range w.worth {
			v += float64(price * float64(w.need[c*w.Dimensions+d]))
		}
		// What is worth nothing must be placed, too.
		w.value[c] = max(1, int64(math.Round(min(v*valueOfOne, 1<<41))))
	}
	w.promise = make([]float64, len(w.Types))
	for _, t := range w.fresh {
		full := 0.0
		for d, n := range w.Types[t].Capacity {
			full += float64(w.worth[d] * float64(n))
		}
		w.promise[t] = max(full*valueOfOne/float64(w.cost[t]), 1e-9)
	}
}

// prices solves the linear program for some types: maximise demand × price over
// all prices at which none of the types is worth more than its cost. Whenever it
// stops, the prices are allowed ones.
//
// Products are converted before they are added: the compiler may otherwise fuse
// the two on some machines, and round differently there.
func (w *work) prices(types []int) []float64 {
	scale := make([]float64, w.Dimensions)
	for _, t := range types {
		for d, n := range w.Types[t].Capacity {
			scale[d] = max(scale[d], float64(n))
		}
	}
	s := simplex{
		columns: w.Dimensions,
		gain:    make([]float64, w.Dimensions),
		basis:   make([]int, len(types)),
		free:    make([]int, w.Dimensions),
	}
	for d := range s.gain {
		s.free[d] = d
		if scale[d] > 0 {
			s.gain[d] = w.demanded(d) / scale[d]
		}
	}
	for n, t := range types {
		row := make([]float64, w.Dimensions+1)
		for d, has := range w.Types[t].Capacity {
			if scale[d] > 0 {
				row[d] = float64(has) / scale[d]
			}
		}
		row[w.Dimensions] = float64(w.cost[t])
		s.rows = append(s.rows, row)
		s.basis[n] = w.Dimensions + n
	}
	s.solve()
	prices := make([]float64, w.Dimensions)
	for n, variable := range s.basis {
		if variable < w.Dimensions && scale[variable] > 0 {
			prices[variable] = max(0, s.rows[n][w.Dimensions]) / scale[variable]
		}
	}
	return prices
}

// simplex is a linear program in dictionary form: each row says what its basic
// variable is, the last column its value while all others are 0.
type simplex struct {
	columns int
	rows    [][]float64
	gain    []float64
	// basis is the variable of each row, free that of each column.
	basis, free []int
}

// tolerance is what counts as nothing, where numbers are around 1.
const tolerance = 1e-9

// solve pivots until nothing is gained. The count bounds a cycle among equals.
func (s *simplex) solve() {
	for range 20 * (s.columns + 1) {
		enter := -1
		for d, g := range s.gain {
			if g > tolerance && (enter < 0 || g > s.gain[enter]) {
				enter = d
			}
		}
		if enter < 0 {
			return
		}
		leave, least := -1, 0.0
		for n, row := range s.rows {
			if row[enter] <= tolerance {
				continue
			}
			if ratio := row[s.columns] / row[enter]; leave < 0 || ratio < least {
				leave, least = n, ratio
			}
		}
		if leave < 0 {
			s.gain[enter] = 0 // no one has it: no price is too high, and none is of use
			continue
		}
		s.pivot(leave, enter)
	}
}

func (s *simplex) pivot(leave, enter int) {
	row := s.rows[leave]
	by := row[enter]
	for d := range row {
		row[d] /= by
	}
	row[enter] = 1 / by
	for n, other := range s.rows {
		if n != leave {
			eliminate(other, row, enter)
		}
	}
	factor := s.gain[enter]
	for d := range s.gain {
		if d != enter {
			s.gain[d] -= float64(factor * row[d])
		}
	}
	s.gain[enter] = -float64(factor * row[enter])
	s.basis[leave], s.free[enter] = s.free[enter], s.basis[leave]
}

func eliminate(other, row []float64, enter int) {
	factor := other[enter]
	if factor == 0 {
		return
	}
	for d := range other {
		if d != enter {
			other[d] -= float64(factor * row[d])
		}
	}
	other[enter] = -float64(factor * row[enter])
}
