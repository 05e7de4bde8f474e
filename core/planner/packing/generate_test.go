package packing

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// recipe says how an instance is made whose optimum is known: machines are drawn
// from the types with a price that is the sum of their resources' prices, and each
// is cut completely into jobs. Every other type costs more than its resources, so
// no plan can be cheaper than the planted one, the launch charge aside.
type recipe struct {
	name string
	seed uint64
	jobs int
	// dims are cpu in milli and memory in MiB, then gpus, and then anything named.
	dims int
	// types is how many types there are.
	types int
	// dear is the share of types whose price isn't linear, in percent.
	dear int
	// step is what the jobs' resources are a multiple of, in the first two
	// dimensions; 1: almost no two are equal.
	step int64
	// parts is into how many jobs a machine is cut on average.
	parts int
}

// unitPrices are micros per hour of 1 cpu, 1 GiB, 1 gpu and 1 of a named resource.
var unitPrices = []float64{35_500, 3_400, 400_000, 50_000, 20_000}

// planted makes the instance, with its optimum as its score: the cost of the
// planted plan with its launch charges.
func (r recipe) planted() (p Problem, optimum int64) {
	rng := rand.New(rand.NewPCG(r.seed, 43))
	p = Problem{Dimensions: r.dims}
	var linear []int
	for n := range r.types {
		t := r.drawType(rng, n)
		if n > 0 && rng.IntN(100) < r.dear {
			t.Price += t.Price * int64(5+rng.IntN(60)) / 100
		} else {
			linear = append(linear, n)
		}
		p.Types = append(p.Types, t)
	}
	counts := map[string]int{}
	for jobs := 0; jobs < r.jobs; {
		t := p.Types[linear[rng.IntN(len(linear))]]
		optimum += t.Price + t.Charge
		for _, job := range r.cut(rng, t.Capacity) {
			jobs++
			key := fmt.Sprint(job)
			at, known := counts[key]
			if !known {
				at = len(p.Classes)
				counts[key] = at
				p.Classes = append(p.Classes, Class{Requirement: job})
			}
			p.Classes[at].Count++
		}
	}
	return p, optimum
}

// drawType is one type, with a linear price: 2 to 64 cpu, 2 to 8 GiB for each, and
// some of the rest.
func (r recipe) drawType(rng *rand.Rand, n int) Type {
	cpu := int64(2) << (n % 6)
	if r.types > 36 {
		cpu = int64(2 + 2*rng.IntN(32))
	}
	memory := cpu * (int64(2) << (n / 6 % 3))
	if r.types > 36 {
		memory = cpu * int64(2+rng.IntN(7))
	}
	capacity := []int64{cpu * 1000, memory * 1024}
	price := float64(cpu)*unitPrices[0] + float64(memory)*unitPrices[1]
	for d := 2; d < r.dims; d++ {
		has := int64(0)
		if n%3 == 0 {
			has = int64(1) << rng.IntN(4)
		}
		capacity = append(capacity, has)
		price += float64(has) * unitPrices[d]
	}
	return Type{Capacity: capacity, Price: int64(math.Round(price)), Charge: launchCharge, Limit: NoLimit}
}

// cut divides a machine into jobs that fill it.
func (r recipe) cut(rng *rand.Rand, capacity []int64) [][]int64 {
	parts := 1 + rng.IntN(2*r.parts-1)
	if r.step > 1 {
		parts = int(min(int64(parts), capacity[0]/r.step, capacity[1]/r.step))
	}
	jobs := make([][]int64, parts)
	for n := range jobs {
		jobs[n] = make([]int64, r.dims)
	}
	for d, total := range capacity {
		step := int64(1)
		if d < 2 {
			step = r.step
		}
		for n, k := range divide(rng, total/step, parts, d < 2) {
			jobs[n][d] = k * step
		}
	}
	return jobs
}

// divide splits a total into parts; where each must have something, none is 0.
func divide(rng *rand.Rand, total int64, parts int, each bool) []int64 {
	out := make([]int64, parts)
	least := int64(0)
	if each && total >= int64(parts) {
		least = 1
	}
	weights, sum := make([]float64, parts), 0.0
	for n := range weights {
		weights[n] = 0.2 + rng.ExpFloat64()
		sum += weights[n]
	}
	rest := total - least*int64(parts)
	left := rest
	for n := range out {
		k := int64(float64(rest) * weights[n] / sum)
		out[n] = least + k
		left -= k
	}
	out[rng.IntN(parts)] += left
	return out
}
