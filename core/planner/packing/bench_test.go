package packing

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// instance is a problem in the form of a file, with what is known of it: types
// with prices per hour, jobs by shape, and without launch charges a lower bound on
// the cost and, where it is planted, the optimum.
type instance struct {
	Name  string   `json:"name"`
	Dims  []string `json:"dims"`
	Types []struct {
		Name  string  `json:"name"`
		Cap   []int64 `json:"cap"`
		Price float64 `json:"price"`
	} `json:"types"`
	Items []struct {
		Req   []int64 `json:"req"`
		Count int     `json:"count"`
	} `json:"items"`
	Opt         float64 `json:"opt"`
	Bound       float64 `json:"lb"`
	PlantedBins int     `json:"planted_bins"`
}

// launchCharge is 0.01 in micros, for each machine.
const launchCharge = 10_000

func (i instance) problem() Problem {
	p := Problem{Dimensions: len(i.Dims)}
	for _, t := range i.Types {
		p.Types = append(
			p.Types,
			Type{Capacity: t.Cap, Price: int64(math.Round(t.Price * 1e6)), Charge: launchCharge, Limit: NoLimit},
		)
	}
	for _, item := range i.Items {
		p.Classes = append(p.Classes, Class{Requirement: item.Req, Count: item.Count})
	}
	return p
}

// reference is what a plan's score is divided by: the optimum of a planted
// instance with the planted plan's charges, otherwise the bound.
func (i instance) reference() int64 {
	if i.Opt > 0 {
		return int64(math.Round(i.Opt*1e6)) + int64(i.PlantedBins)*launchCharge
	}
	return LowerBound(i.problem())
}

func load(t testing.TB, path string) instance {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var i instance
	if err := json.Unmarshal(raw, &i); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return i
}

// beside are the folders where more instances may be: beside the repository, or
// beside a working tree of it.
var beside = []string{"../../../shared/bench", "../../../../shared/bench"}

// instances are those of testdata, and those beside the repository.
func instances(t testing.TB) (all []instance) {
	t.Helper()
	seen := map[string]bool{}
	for _, folder := range append([]string{"testdata"}, beside...) {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if i := load(t, file); !seen[i.Name] {
				seen[i.Name] = true
				all = append(all, i)
			}
		}
	}
	return all
}

func TestInstancesBesideTheRepositoryAreTried(t *testing.T) {
	const all = 4
	if n := len(instances(t)); n < all {
		t.Skipf("%d instances of testdata are tried; those of %v aren't here", n, beside)
	}
}

func TestAPlanIsWithinOneAndAHalfPercentOfThePlantedOptimum(t *testing.T) {
	for _, i := range instances(t) {
		t.Run(i.Name, func(t *testing.T) {
			p := i.problem()
			s := Pack(p, DefaultImprovementSteps)
			if what := wrong(p, s); what != "" {
				t.Fatal(what)
			}
			ratio := float64(s.Cost) / float64(i.reference())
			t.Logf("%.4f", ratio)
			if most := i.atMost(); ratio > most {
				t.Errorf("it costs %.4f of the reference, more than %g", ratio, most)
			}
			if without := float64(LowerBound(withoutCharge(p))) / 1e6; math.Abs(without-i.Bound) > 1e-4*i.Bound {
				t.Errorf("the bound without charges is %f, and the file says %f", without, i.Bound)
			}
		})
	}
}

// atMost is what a plan may cost of the reference: the bound of an instance that
// isn't planted is below what anything can cost.
func (i instance) atMost() float64 {
	if i.Opt > 0 {
		return 1.015
	}
	return 1.02
}

func withoutCharge(p Problem) Problem {
	types := append([]Type{}, p.Types...)
	for n := range types {
		types[n].Charge = 0
	}
	p.Types = types
	return p
}

// recipes are the kinds of instances that are generated, with three seeds each,
// and what the mean and the worst plan of a kind may cost at most.
var recipes = []struct {
	recipe
	mean, worst float64
}{
	{recipe{name: "500 near-unique, 18 types", jobs: 500, dims: 2, types: 18, step: 250, parts: 5}, 1.01, 1.015},
	{recipe{name: "500 unique, 18 types", jobs: 500, dims: 2, types: 18, step: 1, parts: 5}, 1.01, 1.015},
	{recipe{name: "2000 near-unique, 18 types", jobs: 2000, dims: 2, types: 18, step: 512, parts: 5}, 1.01, 1.015},
	{recipe{name: "2000 unique, 18 types", jobs: 2000, dims: 2, types: 18, step: 1, parts: 5}, 1.01, 1.015},
	{
		recipe{name: "2000 unique, 18 types, half dearer", jobs: 2000, dims: 2, types: 18, dear: 50, step: 1, parts: 5},
		1.01,
		1.015,
	},
	{
		recipe{name: "2000 unique, 500 types, most dearer", jobs: 2000, dims: 2, types: 500, dear: 80, step: 1, parts: 5},
		1.01,
		1.015,
	},
	{
		recipe{name: "500 unique, 1 type", jobs: 500, dims: 2, types: 1, step: 1, parts: 5},
		1.01,
		1.019,
	}, // one machine more than 53
	{recipe{name: "2000 unique, 6 types", jobs: 2000, dims: 2, types: 6, step: 1, parts: 5}, 1.01, 1.015},
	{recipe{name: "2000 unique, gpus, 18 types", jobs: 2000, dims: 3, types: 18, step: 1, parts: 5}, 1.01, 1.015},
	{recipe{name: "2000 small, gpus, 18 types", jobs: 2000, dims: 3, types: 18, step: 1, parts: 10}, 1.01, 1.015},
	{
		recipe{name: "2000 unique, gpus and named, 18 types", jobs: 2000, dims: 4, types: 18, step: 1, parts: 5},
		1.01,
		1.015,
	},
	{
		recipe{
			name:  "2000 unique, gpus and named, 500 types, half dearer",
			jobs:  2000,
			dims:  4,
			types: 500,
			dear:  50,
			step:  1,
			parts: 5,
		},
		1.01,
		1.015,
	},
}

const seedsOfRecipe = 3

func TestAPlanOfOtherPlantedInstancesIsNearTheOptimum(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds of packing")
	}
	for _, r := range recipes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			mean, worst := r.ratios(t)
			t.Logf("%s: mean %.5f, worst %.5f", r.name, mean, worst)
			if mean > r.mean || worst > r.worst {
				t.Errorf("the mean is %.4f and the worst %.4f of the optimum: at most %g and %g", mean, worst, r.mean, r.worst)
			}
		})
	}
}

func (r recipe) ratios(t testing.TB) (mean, worst float64) {
	t.Helper()
	for seed := range uint64(seedsOfRecipe) {
		r.seed = seed + 1
		p, optimum := r.planted()
		s := Pack(p, DefaultImprovementSteps)
		if what := wrong(p, s); what != "" {
			t.Fatal(what)
		}
		ratio := float64(s.Cost) / float64(optimum)
		mean += ratio / seedsOfRecipe
		worst = max(worst, ratio)
	}
	return mean, worst
}

// BenchmarkPack prints for every instance what its plan costs as a ratio: of the
// optimum where it is known, otherwise of the lower bound.
func BenchmarkPack(b *testing.B) {
	for _, i := range instances(b) {
		b.Run(i.Name, func(b *testing.B) { measure(b, i.problem(), i.reference()) })
	}
	for _, r := range recipes {
		for seed := range uint64(seedsOfRecipe) {
			r.seed = seed + 1
			b.Run(fmt.Sprintf("%s, seed %d", r.name, r.seed), func(b *testing.B) {
				p, optimum := r.planted()
				measure(b, p, optimum)
			})
		}
	}
}

func measure(b *testing.B, p Problem, reference int64) {
	b.ReportAllocs()
	var s Solution
	for b.Loop() {
		s = Pack(p, DefaultImprovementSteps)
	}
	b.ReportMetric(float64(s.Cost)/float64(reference), "ratio")
}

// BenchmarkPackByJobs is the same 13 shapes with more and more jobs: the time
// stays what it is.
func BenchmarkPackByJobs(b *testing.B) {
	for _, jobs := range []int{1, 10, 100, 1000} {
		p := load(b, "testdata/ci-mix-n1000-s1.json").problem()
		for c := range p.Classes {
			p.Classes[c].Count *= jobs
		}
		b.Run(fmt.Sprintf("%d000 jobs", jobs), func(b *testing.B) { measure(b, p, LowerBound(p)) })
	}
}
