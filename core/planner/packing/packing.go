package packing

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// Problem is what has to be placed, and what it can be placed on.
type Problem struct {
	// Dimensions is how many resources there are: the length of every Capacity and
	// Requirement.
	Dimensions int
	Types      []Type
	// Classes are served in their order where there isn't enough for all.
	Classes []Class
}

// Type is one kind of machine.
type Type struct {
	// Capacity is what one machine has, or has left.
	Capacity []int64
	// Price is what it costs, and Charge what it costs to launch it, which is added
	// once: both in the same unit.
	Price, Charge int64
	// Limit is how many there may be.
	Limit int
	// Existing machines are there already: they cost nothing, and are used before
	// any other, in the order of their types.
	Existing bool
	// Owner numbers whose machines these are: a existing one counts as one of the
	// same owner's, if it is the same.
	Owner int
}

// NoLimit is the Limit of a type of which there may be any number.
const NoLimit = math.MaxInt32

// Class is a number of equal jobs.
type Class struct {
	// Requirement is what one job takes.
	Requirement []int64
	Count       int
	// Types are the only ones that the jobs may be placed on, by index; nil: all.
	Types []int
}

// Solution is where everything goes.
type Solution struct {
	Machines []Machine
	// Uncovered is how many jobs of each class found no place.
	Uncovered []int
	// Cost is the sum of prices and charges.
	Cost int64
}

// Machine is a number of machines that hold the same.
type Machine struct {
	Type   int
	Number int
	// Holds is what each of them holds, by class.
	Holds []Holding
}

// Holding is how many jobs of a class one machine holds.
type Holding struct{ Class, Count int }

// DefaultImprovementSteps is a number of steps that is worth its time: up to
// some tens of milliseconds.
const DefaultImprovementSteps = 2400

// Check says what is wrong with a problem; Pack takes one that is right.
func (p Problem) Check() error {
	if p.Dimensions < 0 {
		return fmt.Errorf("a problem has %d dimensions: it takes 0 or more", p.Dimensions)
	}
	for n, t := range p.Types {
		if err := checkVector(t.Capacity, p.Dimensions); err != nil {
			return fmt.Errorf("the capacity of type %d %w", n, err)
		}
		if t.Price < 0 || t.Charge < 0 || t.Price > LargestPrice || t.Charge > LargestPrice {
			return fmt.Errorf(
				"type %d has the price %d and the charge %d: each is between 0 and %d",
				n,
				t.Price,
				t.Charge,
				int64(LargestPrice),
			)
		}
		if t.Limit < 0 || t.Limit > NoLimit {
			return fmt.Errorf("type %d has the limit %d: it is between 0 and NoLimit = %d", n, t.Limit, NoLimit)
		}
	}
	for n, c := range p.Classes {
		if err := checkVector(c.Requirement, p.Dimensions); err != nil {
			return fmt.Errorf("the requirement of class %d %w", n, err)
		}
		if c.Count < 0 || c.Count > NoLimit {
			return fmt.Errorf("class %d counts %d jobs: it takes 0 to %d", n, c.Count, NoLimit)
		}
		for _, t := range c.Types {
			if t < 0 || t >= len(p.Types) {
				return fmt.Errorf("class %d may be placed on type %d, and there are %d types, from 0 on", n, t, len(p.Types))
			}
		}
	}
	return nil
}

// LargestPrice keeps the cost of any number of machines within an int64.
const LargestPrice = 1 << 30

func checkVector(v []int64, dimensions int) error {
	if len(v) != dimensions {
		return fmt.Errorf("has %d numbers, and the problem %d dimensions", len(v), dimensions)
	}
	for d, n := range v {
		if n < 0 {
			return fmt.Errorf("is %d in dimension %d: it takes 0 or more", n, d)
		}
	}
	return nil
}

// Pack covers as many jobs as it can, the first classes first, at a low cost.
// improvementSteps bounds the search for a lower one: it is a count and not a
// time, so that the result doesn't depend on the machine.
//
// The result costs no more than first fit by decreasing size, whichever type that
// opens (see firstFitDecreasing). With one more job anywhere, the jobs of the
// classes before its own stay covered, and of its own as many as before. A problem
// whose machines have been made, so that they stand there now, needs no more.
func Pack(p Problem, improvementSteps int) Solution {
	w := newWork(p)
	best := w.covers()
	uncovered := best.uncovered
	for c := range w.demand {
		w.demand[c] -= uncovered[c]
	}
	best.uncovered = make([]int, len(uncovered))
	w.appraise() // by what has a place: what hasn't must change nothing about the rest
	if w.settle(best) > 0 {
		best = w.search(best, improvementSteps)
	}
	best.uncovered = uncovered
	return w.solution(best)
}

// covers is who is covered, and one way of it. Of two ways to decide that, each of
// which leaves no one uncovered for one that comes after, the better one counts: the
// one by which the first class that they differ in has more.
func (w *work) covers() *plan {
	best := w.fitByClass()
	if best.complete() {
		return best
	}
	like := w.alike()
	if like == nil {
		return best
	}
	other := w.asIfNew(like, func(before Problem) Solution {
		earlier := newWork(before)
		return earlier.solution(earlier.fitByClass())
	})
	if slices.Compare(other.uncovered, best.uncovered) < 0 {
		return other
	}
	return best
}

// search is the plan, or a cheaper one.
func (w *work) search(best *plan, improvementSteps int) *plan {
	var ways []func() *plan
	for _, rule := range openingRules {
		ways = append(ways, func() *plan { return w.firstFitDecreasing(rule) })
	}
	if like := w.alike(); like != nil {
		return w.cheapest(best, append(ways, func() *plan {
			return w.asIfNew(like, func(before Problem) Solution { return Pack(before, improvementSteps) })
		}))
	}
	ways = append(ways, func() *plan { return w.byPatterns(w.demand, false) })
	if !w.many() {
		ways = append(ways, func() *plan { return w.byPatterns(w.demand, true) })
	}
	if best = w.cheapest(best, ways); best.cost > 0 {
		w.improve(best, improvementSteps)
	}
	return best
}

// cheapest is the best of a plan and of those that are made in some ways, all at the
// same time; the first where they are alike.
func (w *work) cheapest(best *plan, ways []func() *plan) *plan {
	plans := make([]*plan, len(ways))
	var made sync.WaitGroup
	for n, way := range ways {
		made.Go(func() { plans[n] = way() })
	}
	made.Wait()
	for _, p := range plans {
		best = w.cheaper(best, p)
	}
	return best
}

// many says that there are so many pairs of a class and a type that a part of the
// search must do.
func (w *work) many() bool { return len(w.Classes)*len(w.Types) > 60_000 }

// cheaper is the better one of two plans, the first where they are alike. A plan
// that leaves out what the first covers is none.
func (w *work) cheaper(best, other *plan) *plan {
	if other.complete() && w.settle(other) < w.settle(best) {
		return other
	}
	return best
}
