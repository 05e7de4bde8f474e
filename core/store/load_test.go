package store

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func terminatedAreNotLoaded(t *testing.T, location string) {
	s := applied(t, open(t, location))
	must(t, s.Commit(t.Context(), change(1, 3)))
	must(t, s.Enroll(t.Context(), enrolled(2), ""))
	before, err := s.Load(t.Context())
	must(t, err)
	if len(before.Instances) != 3 || len(before.Operations) != 3 || len(before.Runners) != 1 {
		t.Fatalf("before: %v", before)
	}
	gone := change(2, 2)
	gone.Instances[0].State, gone.Operations = fleet.Terminated, nil
	must(t, s.Commit(t.Context(), gone))
	for name, s := range map[string]*Store{"which loaded before": s, "which loads first": open(t, location)} {
		state, err := s.Load(t.Context())
		must(t, err)
		if len(state.Instances) != 2 || len(state.Operations) != 2 || len(state.Runners) != 0 {
			t.Errorf("a store %s: %v", name, state)
		}
	}
}

// One writer stamps all rows with the same number, again and again; a load
// meanwhile must never see two numbers.
func loadSeesOneMoment(t *testing.T, location string) {
	writer := applied(t, open(t, location))
	stamp := func(n int) error {
		c := change(1, batch+6)
		for i := range c.Instances {
			c.Instances[i].Reason, c.Operations[i].Reason = reason.Plain(fmt.Sprint(n)), reason.Plain(fmt.Sprint(n))
		}
		return writer.Commit(t.Context(), c)
	}
	must(t, stamp(0))
	load := func(reader *Store) {
		state, err := reader.Load(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		first := state.Instances[0].Reason
		for i := range state.Instances {
			if state.Instances[i].Reason != first || state.Operations[i].Reason != first {
				t.Errorf("one load saw the stamps %s, %s and %s", first, state.Instances[i].Reason, state.Operations[i].Reason)
				return
			}
		}
	}
	var readers sync.WaitGroup
	defer readers.Wait()
	changes, all := writer, open(t, location)
	readers.Go(func() {
		for range 40 {
			load(changes)
		}
	})
	readers.Go(func() {
		for range 40 {
			all.loaded.Store(nil)
			load(all)
		}
	})
	done := make(chan struct{})
	go func() { readers.Wait(); close(done) }()
	for n := 1; ; n++ {
		must(t, stamp(n))
		select {
		case <-done:
			return
		default:
		}
	}
}

// A snapshot is kept between loads; a caller that changes what it got must not
// change the next one's state.
func loadedStateIsOwn(t *testing.T, location string) {
	s := claim(t, open(t, location), "a")
	definition, managed, c, runner := filledRecords(t)
	_, err := s.ApplyDefinition(t.Context(), Apply{Definition: definition, Fleets: []fleet.ManagedFleet{managed}})
	must(t, err)
	must(t, s.Commit(t.Context(), c))
	must(t, s.Enroll(t.Context(), runner, hashOf(c, runner.Operation)))
	first, err := s.Load(t.Context())
	must(t, err)
	second, err := s.Load(t.Context())
	must(t, err)
	mustShareNothing(t, "State", reflect.ValueOf(first), reflect.ValueOf(second))
}

// mustShareNothing fails where two equal values point to the same memory.
func mustShareNothing(t *testing.T, path string, a, b reflect.Value) {
	if _, ok := a.Interface().(time.Time); ok {
		return // holds a pointer to a location, which never changes
	}
	switch a.Kind() {
	case reflect.Slice, reflect.Map:
		if a.Len() > 0 && a.Pointer() == b.Pointer() {
			t.Errorf("two loads share %s", path)
		}
	case reflect.Pointer:
		if !a.IsNil() && a.Pointer() == b.Pointer() {
			t.Errorf("two loads share %s", path)
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() {
			mustShareNothing(t, path, a.Elem(), b.Elem())
		}
	case reflect.Slice:
		for i := range a.Len() {
			mustShareNothing(t, fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))
		}
	case reflect.Map:
		for _, key := range a.MapKeys() {
			mustShareNothing(t, path+"[]", a.MapIndex(key), b.MapIndex(key))
		}
	case reflect.Struct:
		for i := range a.NumField() {
			mustShareNothing(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	}
}

func loadAfterChangesEqualsFirstLoad(t *testing.T, location string) {
	s, fresh := applied(t, open(t, location)), open(t, location)
	states := rapid.SampledFrom(fleet.CapacityInstanceStates())
	number := rapid.IntRange(1, 12)
	rapid.Check(t, func(rt *rapid.T) {
		for _, table := range []string{"runner", "operation", "instance"} {
			_, err := s.writer.ExecContext(t.Context(), `DELETE FROM `+table)
			must(t, err)
		}
		s.loaded.Store(nil)
		rt.Repeat(map[string]func(*rapid.T){
			"commit": func(rt *rapid.T) {
				var c Change
				for range rapid.IntRange(1, 4).Draw(rt, "rows") {
					instance, operation := provisioned(number.Draw(rt, "n"))
					instance.State = states.Draw(rt, "state")
					if instance.ProviderInstance = "p"; rapid.Bool().Draw(rt, "priced") {
						instance.Cost = fleet.InstanceCost{Hourly: fleet.Money{Micros: 1, Currency: "USD"}, Minimum: time.Minute}
					}
					operation.Attempts = rapid.IntRange(0, 9).Draw(rt, "attempts")
					c.Instances, c.Operations = append(c.Instances, instance), append(c.Operations, operation)
				}
				must(t, s.Commit(t.Context(), c))
			},
			"commit one instance": func(rt *rapid.T) {
				instance, _ := provisioned(number.Draw(rt, "n"))
				if _, found, err := s.Instance(t.Context(), instance.ID); err != nil || !found {
					rt.Skip("it isn't there")
				}
				instance.State = states.Draw(rt, "state")
				must(t, s.Commit(t.Context(), Change{Instances: []fleet.CapacityInstance{instance}}))
			},
			"enroll": func(rt *rapid.T) {
				runner := enrolled(number.Draw(rt, "n"))
				subject, found, err := s.EnrollmentSubject(t.Context(), runner.Operation)
				must(t, err)
				if !found || subject.Runner != nil {
					rt.Skip("no token, or spent")
				}
				must(t, s.Enroll(t.Context(), runner, ""))
			},
			"beat": func(rt *rapid.T) {
				runner := enrolled(number.Draw(rt, "n"))
				runner.Beats = rapid.Int64Range(0, 99).Draw(rt, "beats")
				must(t, s.RecordRunners(t.Context(), []fleet.Runner{runner}))
			},
			"prune": func(rt *rapid.T) {
				_, err := s.Prune(t.Context(), now.Add(time.Second))
				must(t, err)
			},
			"": func(rt *rapid.T) {
				got, err := s.Load(t.Context())
				must(t, err)
				fresh.loaded.Store(nil)
				want, err := fresh.Load(t.Context())
				must(t, err)
				if !reflect.DeepEqual(want, got) {
					rt.Fatalf("a first load sees more or less (-) than one after changes (+):\n%s", cmp.Diff(want, got))
				}
			},
		})
	})
}
