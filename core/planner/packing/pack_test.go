package packing

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wrong is what a solution does that it mustn't; "": nothing.
func wrong(p Problem, s Solution) string {
	placed, used, cost := make([]int, len(p.Classes)), make([]int, len(p.Types)), int64(0)
	for _, m := range s.Machines {
		used[m.Type] += m.Number
		if t := p.Types[m.Type]; !t.Existing {
			cost += (t.Price + t.Charge) * int64(m.Number)
		}
		room := slices.Clone(p.Types[m.Type].Capacity)
		for _, h := range m.Holds {
			class := p.Classes[h.Class]
			if class.Types != nil && !slices.Contains(class.Types, m.Type) {
				return fmt.Sprintf("class %d is on type %d, which it may not be placed on", h.Class, m.Type)
			}
			if h.Count < 1 || m.Number < 1 {
				return fmt.Sprintf("%d machines hold %d of class %d", m.Number, h.Count, h.Class)
			}
			placed[h.Class] += h.Count * m.Number
			for d, n := range class.Requirement {
				if room[d] -= n * int64(h.Count); room[d] < 0 {
					return fmt.Sprintf("a machine of type %d is over its capacity in dimension %d: %+v", m.Type, d, m)
				}
			}
		}
	}
	for c, class := range p.Classes {
		if placed[c]+s.Uncovered[c] != class.Count {
			return fmt.Sprintf(
				"of class %d %d are placed and %d are not, and it has %d",
				c,
				placed[c],
				s.Uncovered[c],
				class.Count,
			)
		}
	}
	for t, n := range used {
		if n > p.Types[t].Limit {
			return fmt.Sprintf("%d machines of type %d are over its limit %d", n, t, p.Types[t].Limit)
		}
	}
	if cost != s.Cost {
		return fmt.Sprintf("the machines cost %d, and the solution says %d", cost, s.Cost)
	}
	return ""
}

// draw is a small problem of any kind.
func draw(t *rapid.T) Problem {
	p := Problem{Dimensions: rapid.IntRange(1, 5).Draw(t, "dimensions")}
	vector := func(most int64, name string) []int64 {
		return rapid.SliceOfN(rapid.Int64Range(0, most), p.Dimensions, p.Dimensions).Draw(t, name)
	}
	for range rapid.IntRange(0, 6).Draw(t, "types") {
		p.Types = append(
			p.Types,
			Type{
				Capacity: vector(64, "capacity"),
				Price:    rapid.Int64Range(0, 1000).Draw(t, "price"),
				Charge:   rapid.Int64Range(0, 20).Draw(t, "charge"),
				Limit:    rapid.SampledFrom([]int{0, 1, 2, 5, NoLimit, NoLimit}).Draw(t, "limit"),
			},
		)
		if last := &p.Types[len(p.Types)-1]; last.Limit < NoLimit {
			last.Existing = rapid.Bool().Draw(t, "existing")
		}
	}
	for range rapid.IntRange(0, 8).Draw(t, "classes") {
		c := Class{
			Requirement: vector(20, "requirement"),
			Count:       rapid.SampledFrom([]int{0, 1, 2, 3, 10, 200}).Draw(t, "count"),
		}
		if len(p.Types) > 0 && rapid.Bool().Draw(t, "restricted") {
			c.Types = rapid.SliceOfN(rapid.IntRange(0, len(p.Types)-1), 0, 3).Draw(t, "on")
		}
		p.Classes = append(p.Classes, c)
	}
	return p
}

func TestJobsArePlacedOnceWithinCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		if what := wrong(p, Pack(p, 20)); what != "" {
			t.Fatalf("%s\n%+v", what, p)
		}
	})
}

func TestTheSameProblemGivesTheSameSolution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		if a, b := Pack(p, 20), Pack(p, 20); !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v\n%+v", a, b)
		}
	})
}

func TestOneMoreJobLeavesNobodyBeforeItUncovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		if len(p.Classes) == 0 {
			return
		}
		before := Pack(p, 5).Uncovered
		more := p
		more.Classes = slices.Clone(p.Classes)
		k := rapid.IntRange(0, len(p.Classes)-1).Draw(t, "class of the job that comes")
		more.Classes[k].Count++
		if rapid.Bool().Draw(t, "of a class of its own") {
			more.Classes[k].Count--
			k = len(p.Classes)
			more.Classes = append(more.Classes, Class{Requirement: p.Classes[0].Requirement, Count: 1})
			before = append(before, 0)
		}
		after := Pack(more, 5).Uncovered
		for c := range k {
			if after[c] != before[c] {
				t.Fatalf("a job of class %d more, and %d instead of %d of class %d have no place", k, after[c], before[c], c)
			}
		}
		if after[k] > before[k]+1 {
			t.Fatalf("one more job of class %d, and %d instead of %d have no place", k, after[k], before[k])
		}
		for c := k + 1; c < len(more.Classes); c++ {
			endless := slices.IndexFunc(p.Types, func(t Type) bool { return t.Limit < NoLimit }) < 0
			if endless && after[c] != before[c] {
				t.Fatalf("nothing is limited, and one more job of class %d changes what is covered of class %d", k, c)
			}
		}
	})
}

// naiveFirstFit is first fit by decreasing size as textbooks have it, job by job;
// what it opens is the type for which the least speaks against. ok: all found room.
func naiveFirstFit(p Problem, against func(t Type, c Class) float64) (cost int64, ok bool) {
	share := func(c Class) (most float64) {
		for d, n := range c.Requirement {
			largest := int64(0)
			for _, t := range p.Types {
				largest = max(largest, t.Capacity[d])
			}
			if largest > 0 {
				most = max(most, float64(n)/float64(largest))
			}
		}
		return most
	}
	classes := slices.Clone(p.Classes)
	slices.SortStableFunc(classes, func(a, b Class) int { return cmp.Compare(share(b), share(a)) })
	type machine struct {
		kind int
		room []int64
	}
	var machines []machine
	used := make([]int, len(p.Types))
	for t, one := range p.Types {
		for range one.Limit {
			if !one.Existing {
				break
			}
			machines = append(machines, machine{t, slices.Clone(one.Capacity)})
		}
	}
	may := func(c Class, t int) bool { return c.Types == nil || slices.Contains(c.Types, t) }
	for _, c := range classes {
		for range c.Count {
			at := slices.IndexFunc(machines, func(m machine) bool { return may(c, m.kind) && fits(m.room, c.Requirement, 1) })
			if at < 0 {
				best := -1
				for t, one := range p.Types {
					open := !one.Existing && used[t] < one.Limit && may(c, t) && fits(one.Capacity, c.Requirement, 1)
					if open && (best < 0 || against(one, c) < against(p.Types[best], c)) {
						best = t
					}
				}
				if best < 0 {
					return 0, false
				}
				used[best]++
				at, machines = len(machines), append(machines, machine{best, slices.Clone(p.Types[best].Capacity)})
				cost += p.Types[best].Price + p.Types[best].Charge
			}
			take(machines[at].room, c.Requirement, 1)
		}
	}
	return cost, true
}

func TestItIsNeverDearerThanFirstFitByDecreasingSize(t *testing.T) {
	rules := map[string]func(t Type, c Class) float64{
		"the cheapest type": func(t Type, _ Class) float64 { return float64(max(1, t.Price+t.Charge)) },
		"the type that is cheapest for the job's class": func(t Type, c Class) float64 {
			return float64(max(1, t.Price+t.Charge)) / float64(howMany(t.Capacity, c.Requirement, NoLimit))
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		s := Pack(p, 5)
		if slices.Max(append(slices.Clone(s.Uncovered), 0)) > 0 {
			return
		}
		for name, rule := range rules {
			if cost, ok := naiveFirstFit(p, rule); ok && s.Cost > cost {
				t.Fatalf("it costs %d, and first fit that opens %s %d\n%+v", s.Cost, name, cost, p)
			}
		}
	})
}

func TestNoSolutionCostsLessThanTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		s := Pack(p, 5)
		if slices.Max(append(slices.Clone(s.Uncovered), 0)) == 0 && s.Cost < LowerBound(p) {
			t.Fatalf("it costs %d, and nothing does less than %d\n%+v", s.Cost, LowerBound(p), p)
		}
	})
}

func TestExistingMachinesAreUsedBeforeAnyIsMade(t *testing.T) {
	p := Problem{Dimensions: 1, Types: []Type{
		{
			Capacity: []int64{4},
			Price:    1,
			Limit:    NoLimit,
		},
		{Capacity: []int64{3}, Limit: 2, Existing: true},
		{Capacity: []int64{4}, Limit: 1, Existing: true},
	}, Classes: []Class{{Requirement: []int64{1}, Count: 8}}}
	s := Pack(p, 10)
	want := []Machine{{1, 2, []Holding{{0, 3}}}, {2, 1, []Holding{{0, 2}}}}
	if !reflect.DeepEqual(s.Machines, want) || s.Cost != 0 {
		t.Errorf("%+v", s)
	}
}

func TestMachinesThatAreFreeMakeTheBoundNothing(t *testing.T) {
	p := Problem{
		Dimensions: 1,
		Types:      []Type{{Capacity: []int64{2}, Limit: NoLimit}},
		Classes:    []Class{{Requirement: []int64{2}, Count: 2}},
	}
	if bound := LowerBound(p); bound != 0 {
		t.Errorf("two jobs on machines that cost nothing cost at least %d", bound)
	}
}

// What was packed tightly onto machines that were then made is placed on them in
// the next plan, too, and asks for nothing more.
func TestMachinesThatWereMadeTakeWhatTheyWereMadeFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		for n := range p.Types {
			p.Types[n].Existing, p.Types[n].Limit = false, NoLimit
		}
		first := Pack(p, 20)
		made := make([]int, len(p.Types))
		for _, m := range first.Machines {
			made[m.Type] += m.Number
		}
		next := p
		for n, number := range made {
			next.Types = append(next.Types, Type{Capacity: p.Types[n].Capacity, Limit: number, Existing: true})
			for c, class := range p.Classes {
				if slices.Contains(class.Types, n) {
					next.Classes = slices.Clone(next.Classes)
					next.Classes[c].Types = append(slices.Clone(next.Classes[c].Types), len(p.Types)+n)
				}
			}
		}
		if again := Pack(next, 20); again.Cost != 0 {
			t.Fatalf("%+v were made, and then %+v more cost %d", first.Machines, again.Machines, again.Cost)
		}
	})
}

// Jobs that fit nowhere would otherwise say what resources are worth, and the machines
// that were made beside them weren't those of the next plan.
func TestWhatHasNoPlaceChangesNothingAboutTheRest(t *testing.T) {
	p := Problem{Dimensions: 2, Types: []Type{
		{
			Capacity: []int64{0, 3},
			Charge:   2,
			Limit:    NoLimit,
		},
		{Capacity: []int64{9, 0}, Price: 2, Limit: NoLimit},
		{Capacity: []int64{9, 1}, Charge: 2, Limit: NoLimit},
	}, Classes: []Class{{Requirement: []int64{3, 0}, Count: 10}, {Requirement: []int64{1, 1}, Count: 2},
		{Requirement: []int64{0, 4}}}}
	without := Pack(p, 20)
	p.Classes[2].Count = 1
	with := Pack(p, 20)
	if with.Uncovered[2] != 1 || !reflect.DeepEqual(with.Machines, without.Machines) {
		t.Errorf("%+v with a job that has no place, and %+v without", with, without)
	}
}

func TestAMachineIsNoLargerThanWhatItHoldsAsksFor(t *testing.T) {
	p := Problem{Dimensions: 1, Types: []Type{
		{
			Capacity: []int64{16},
			Price:    16,
			Charge:   1,
			Limit:    NoLimit,
		},
		{Capacity: []int64{2}, Price: 2, Charge: 1, Limit: NoLimit},
	}, Classes: []Class{{Requirement: []int64{1}, Count: 18}}}
	if s := Pack(p, 10); s.Cost != 20 {
		t.Errorf("16 + 2 cost 17 + 3: %+v", s)
	}
}

func TestAProblemThatMakesNoSenseIsRefused(t *testing.T) {
	for _, test := range []struct {
		name string
		p    Problem
		want string
	}{
		{"a capacity of other dimensions", Problem{Dimensions: 2, Types: []Type{{Capacity: []int64{1}}}},
			"the capacity of type 0 has 1 numbers"},
		{"a negative requirement", Problem{Dimensions: 1, Classes: []Class{{Requirement: []int64{-1}}}},
			"the requirement of class 0 is -1 in dimension 0"},
		{"a negative price", Problem{Types: []Type{{Price: -1}}}, "type 0 has the price -1"},
		{"a negative limit", Problem{Types: []Type{{Limit: -1}}}, "type 0 has the limit -1"},
		{"a negative count", Problem{Classes: []Class{{Count: -2}}}, "class 0 counts -2 jobs"},
		{"a type that there isn't", Problem{Classes: []Class{{Types: []int{3}}}}, "class 0 may be placed on type 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := test.p.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// FuzzPack reads a problem from bytes: small numbers, and now and then a huge one.
func FuzzPack(f *testing.F) {
	f.Add([]byte{2, 2, 3, 10, 20, 5, 1, 2, 30, 40, 9, 200, 1, 1, 0, 4, 2, 2, 9, 7, 7, 250})
	f.Add([]byte{3, 1, 1, 255, 255, 255, 0, 255, 0, 0, 0, 255})
	f.Fuzz(func(t *testing.T, raw []byte) {
		next := func() int64 {
			if len(raw) == 0 {
				return 0
			}
			n := int64(raw[0])
			raw = raw[1:]
			if n > 240 {
				return 1 << (n - 193) // up to 2^62
			}
			return n
		}
		p := Problem{Dimensions: int(next()%6) + 1}
		types, classes := int(next()%8), int(next()%12)
		vector := func() (v []int64) {
			for range p.Dimensions {
				v = append(v, next())
			}
			return v
		}
		for range types {
			v := vector()
			price := min(next(), LargestPrice)
			limit := int(min(next(), NoLimit))
			p.Types = append(p.Types, Type{Capacity: v, Price: price, Charge: price % 7, Limit: limit, Existing: price%2 == 0})
		}
		for range classes {
			p.Classes = append(p.Classes, Class{Requirement: vector(), Count: int(min(next(), 1<<20))})
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		if what := wrong(p, Pack(p, 5)); what != "" {
			t.Fatalf("%s\n%+v", what, p)
		}
		LowerBound(p)
	})
}
